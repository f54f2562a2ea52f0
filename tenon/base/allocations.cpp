#include "tenon/base/allocations.h"

namespace tenon::base {
namespace {

std::atomic<AllocationCount*> counted{nullptr};

}  // namespace

void set_allocation_count(AllocationCount& count) { counted = &count; }

void count_allocations() {
  if (AllocationCount* const count = counted) count->is_on = true;
}

std::optional<size_t> allocations() {
  const AllocationCount* const count = counted;
  if (!count) return std::nullopt;
  return count->calls.load(std::memory_order_relaxed);
}

}  // namespace tenon::base
