// Counts the memory that storages hold: one for each device, and one for the process.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "tenon/device/memory_stats.h"
#include "tenon/device/timeline.h"

namespace tenon::device {

class MemoryCounter {
 public:
  void add(size_t bytes);
  void remove(size_t bytes);
  MemoryStats stats() const { return {buffers_, bytes_, peak_, allocations_}; }
  /// The peak starts anew at what is held now.
  void reset_peak() { peak_ = bytes_.load(); }

  /// The same memory by what it holds.
  void hold(Holder holder, size_t bytes) { held_[static_cast<size_t>(holder)] += bytes; }
  void drop(Holder holder, size_t bytes) { held_[static_cast<size_t>(holder)] -= bytes; }
  std::array<uint64_t, kHolders> held() const {
    std::array<uint64_t, kHolders> now{};
    for (size_t i = 0; i < kHolders; ++i) now[i] = held_[i];
    return now;
  }

 private:
  std::array<std::atomic<size_t>, kHolders> held_{};
  std::atomic<size_t> buffers_{0}, bytes_{0}, peak_{0}, allocations_{0};
};

}  // namespace tenon::device
