// Keeps released buffers for the next allocation of their size class.
//
// A step that allocates what the step before released would otherwise pay for fresh pages every time: on the CPU that
// costs more than adding 16 million numbers does. Classes are eighths of powers of two, so a buffer wastes at most 1/8.

#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "tenon/device/device.h"

namespace tenon::device {

class Pool {
 public:
  explicit Pool(Device& device) : device_(device) {}

  Buffer take(size_t bytes);
  void give_back(const Buffer& buffer);
  /// Returns everything that is not in use to the device.
  void trim();
  size_t cached_bytes() const;

 private:
  static constexpr size_t kMaxCached = size_t{4} << 30;

  Device& device_;
  mutable std::mutex mutex_;
  std::map<size_t, std::vector<Buffer>> free_;
  size_t cached_ = 0;
};

/// The bytes really allocated for a request.
size_t size_class(size_t bytes);

}  // namespace tenon::device
