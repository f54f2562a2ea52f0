// What evaluation and memory have cost so far. TENON_LOG=stats prints the same, plan by plan.

#pragma once

#include <optional>

#include "tenon/device/memory_stats.h"
#include "tenon/exec/stats.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

using exec::Stats;
using exec::stats;

/// Memory in use, and kept for reuse.
struct MemoryStats : device::MemoryStats {
  size_t cached_bytes = 0;  // kept for reuse
};
/// Totals over all devices, and of one; `device::reset_peak()` starts the peaks anew.
///   const size_t bytes = memory_stats().live_bytes;
MemoryStats memory_stats();
MemoryStats memory_stats(Device device);

/// Bytes that a device can still allocate, beside what it keeps for reuse; nothing where it does not say. Asks the
/// system: some 50 us.
///   if (auto bytes = available_memory()) std::cout << *bytes << "\n";
std::optional<size_t> available_memory(Device device = {});

/// Most bytes that a device may hold, at most as many as it has; 0: as many as there are. Asking for more is an error
/// that names what is in use.
///   set_memory_limit(size_t{8} << 30);
///   set_memory_limit(0);
void set_memory_limit(size_t bytes, Device device = {});
/// Gives everything that is kept for reuse back to the system, of all devices or of one.
///   trim_memory();
void trim_memory();
void trim_memory(Device device);

}  // namespace tenon
