// A profile as the JSON that chrome://tracing and ui.perfetto.dev open.
//
// It is also the file that `tenon doctor` and the page of a profile are made of: what those viewers do not show stands
// under "tenon", and viewers pass over it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/device/timeline.h"

namespace tenon::device {

/// The memory of a device at a moment, bytes by what holds them.
struct MemoryPoint {
  std::string_view device;
  uint64_t at_ns = 0;
  uint64_t weights = 0, moments = 0, gradients = 0, kept = 0, scratch = 0, values = 0, reserve = 0, pool = 0;
  uint64_t planned_peak = 0;  // held outside of arenas now, and the most that the plan which runs takes of one

  uint64_t in_all() const { return weights + moments + gradients + kept + scratch + values + reserve + pool; }
};
/// Samples of allocations and what launches say of arenas, as one course for each device; both in the order of time.
std::vector<MemoryPoint> memory_course(const std::vector<MemorySample>& samples, const std::vector<Span>& spans);

/// What a device is like.
struct DeviceFacts {
  std::string name, description;
  uint64_t memory_bytes = 0;  // that it may take; 0 where nobody knows
  bool is_gpu = false, has_quick_bf16 = false;
};

struct TraceExtras {
  uint64_t wall_ns = 0, dropped = 0;
  std::vector<DeviceFacts> devices;
  std::vector<MemoryPoint> memory;
};

/// Host and devices on one clock, which begins here.
std::string chrome_trace(const std::vector<Span>& spans, uint64_t begin_ns, const TraceExtras& extras);

}  // namespace tenon::device
