// How often a program calls operator new. The library replaces no operator: a program that wants the count does, as the
// command line and the benchmarks do (apps/counting_new.cpp).

#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

namespace tenon::base {

/// Kept by a program whose operator new counts.
struct AllocationCount {
  std::atomic<bool> is_on{false};
  std::atomic<size_t> calls{0};
};

/// Names the count of this program; it lives as long as the process.
void set_allocation_count(AllocationCount& count);
/// From now on, in every thread. Costs nothing before.
void count_allocations();
/// So far; none in a program that does not count.
std::optional<size_t> allocations();

}  // namespace tenon::base
