// How much memory is in use, as plain numbers.

#pragma once

#include <cstddef>

namespace tenon::device {

struct MemoryStats {
  size_t live_buffers = 0;
  size_t live_bytes = 0;
  size_t peak_bytes = 0;
  size_t allocations = 0;
};

/// Totals over all devices of this process.
MemoryStats memory_stats();
/// The peak of the process and of every device starts anew.
void reset_peak();

}  // namespace tenon::device
