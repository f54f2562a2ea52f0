// An operator new that counts, for programs that show how often a step allocates. In a file of its own, because beside
// code that allocates the compiler takes the pair for a mismatch. The sanitizers bring operators of their own.

#include <cstdlib>
#include <new>

#include "tenon/base/allocations.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constinit tenon::base::AllocationCount count;
[[maybe_unused]] const bool is_known = (tenon::base::set_allocation_count(count), true);

void* counted(void* memory) {
  if (count.is_on.load(std::memory_order_relaxed)) count.calls.fetch_add(1, std::memory_order_relaxed);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted(std::malloc(bytes ? bytes : 1)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
