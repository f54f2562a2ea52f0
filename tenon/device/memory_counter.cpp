// Atomic totals.

#include "tenon/device/memory_counter.h"

namespace tenon::device {

void MemoryCounter::add(size_t bytes) {
  ++buffers_;
  ++allocations_;
  const size_t now = bytes_ += bytes;
  size_t peak = peak_.load();
  while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
  }
}

void MemoryCounter::remove(size_t bytes) {
  --buffers_;
  bytes_ -= bytes;
}

}  // namespace tenon::device
