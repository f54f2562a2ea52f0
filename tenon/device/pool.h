// Keeps released buffers for the next allocation of their size class.
//
// A step that allocates what the step before released would otherwise pay for fresh pages every time: on the CPU that
// costs more than adding 16 million numbers does. Small classes are eighths of powers of two; from 1 MiB on they are
// 64ths, so that large buffers waste less than 2 %. As much is kept as has been in use at once: a step finds again all
// that it gave back, and what was kept longest makes room. Under pressure, when a limit or the device refuses,
// everything that is kept goes first.

#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "tenon/device/device.h"

namespace tenon::device {

class Pool {
 public:
  explicit Pool(Device& device) : device_(device) {}

  Buffer take(size_t bytes);
  /// How many bytes it takes for a request: one of few sizes, so that buffers are used again.
  size_t bytes_taken(size_t bytes) const;
  void give_back(const Buffer& buffer);
  /// Returns everything that is not in use to the device; what was in use before counts no more.
  void trim();
  size_t cached_bytes() const;

  /// Most bytes to be held, in use and kept; 0: as many as there are. Fails where the device has fewer.
  void set_limit(size_t bytes);
  struct Stats {
    size_t in_use = 0, cached = 0, limit = 0;  // bytes
    size_t peak_in_use = 0;                    // since the last trim
    size_t hits = 0, misses = 0;               // requests served from what was kept, and by the device
  };
  Stats stats() const;

 private:
  /// A buffer that is kept, and when it came.
  struct Kept {
    Buffer buffer;
    uint64_t since;
  };

  void release_all();
  void count_use(size_t bytes);
  Buffer take_oldest();
  void require_memory(size_t wanted);
  [[noreturn]] void fail(size_t wanted, const char* reason, std::optional<size_t> available = {}) const;

  static constexpr size_t kAlwaysKept = size_t{4} << 30;
  // Asking costs some 50 us, as much as the pages of a megabyte do when they are first touched.
  static constexpr size_t kAskEvery = size_t{64} << 20;

  Device& device_;
  mutable std::mutex mutex_;
  std::map<size_t, std::vector<Kept>> free_;  // by size, what came last behind
  uint64_t given_back_ = 0;
  std::map<size_t, size_t> used_;  // how many buffers of each size are in use
  Stats stats_;
  size_t granted_ = 0;  // bytes that may be allocated before the device is asked again what it has
};

/// Fails where no buffer of a device with these limits holds so many bytes, however much memory is left.
void require_one_buffer(size_t bytes, const ir::Limits& limits);

/// The least of few sizes that holds so many bytes.
size_t size_class(size_t bytes);

}  // namespace tenon::device
