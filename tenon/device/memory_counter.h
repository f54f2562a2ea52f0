// Counts the memory that storages hold: one for each device, and one for the process.

#pragma once

#include <atomic>
#include <cstddef>

#include "tenon/device/memory_stats.h"

namespace tenon::device {

class MemoryCounter {
 public:
  void add(size_t bytes);
  void remove(size_t bytes);
  MemoryStats stats() const { return {buffers_, bytes_, peak_, allocations_}; }
  /// The peak starts anew at what is held now.
  void reset_peak() { peak_ = bytes_.load(); }

 private:
  std::atomic<size_t> buffers_{0}, bytes_{0}, peak_{0}, allocations_{0};
};

}  // namespace tenon::device
