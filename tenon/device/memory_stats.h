// How much memory is in use, as plain numbers.

#pragma once

#include <cstddef>

namespace tenon::device {

/// Memory in use; totals over all devices of this process.
struct MemoryStats {
  size_t live_buffers = 0;  // buffers in use
  size_t live_bytes = 0;    // their bytes
  size_t peak_bytes = 0;    // the most there were at once
  size_t allocations = 0;   // buffers asked for so far
};

/// Totals over all devices of this process.
///   const size_t peak = device::memory_stats().peak_bytes;
MemoryStats memory_stats();
/// The peak of the process and of every device starts anew.
///   device::reset_peak();
void reset_peak();

}  // namespace tenon::device
