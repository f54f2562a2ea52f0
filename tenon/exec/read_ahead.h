// Reading that begins now and is waited for later: a device goes on with what is submitted meanwhile. An ordinary read
// is awaited before anything else is submitted, and a GPU that computes a token in half a millisecond stands still for
// a tenth of it.

#pragma once

#include <memory>
#include <vector>

#include "tenon/device/device.h"
#include "tenon/device/storage.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

class ReadAhead {
 public:
  /// For values of this many bytes.
  ReadAhead(ir::DeviceId device, size_t bytes);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  /// Waits for a read that nobody has finished: the device still writes.
  ~ReadAhead();
  /// Whether the device reads while the host goes on.
  bool is_possible() const { return landing_ != nullptr; }
  /// Begins to read a value that is evaluated; finish() must follow before the next. False, and nothing is done, where
  /// that is not possible, or the value does not lie in memory as it is read.
  bool start(const ir::Value& value);
  /// Its bytes, in row-major order. Throws what went wrong with the value.
  std::vector<std::byte> finish();

 private:
  device::Device& device_;
  size_t bytes_;
  std::shared_ptr<std::byte> landing_;
  device::StorageRef read_;
  device::Ticket ticket_;
  bool is_under_way_ = false;
};

}  // namespace tenon::exec
