// The library's operator new is weak: a program that has its own keeps it. In a file of its own, because beside code that
// allocates the compiler takes the pair for a mismatch.

#include "tenon/base/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> is_counting{false};
std::atomic<size_t> count{0};

}  // namespace

namespace tenon::base {

void count_allocations() { is_counting = true; }
size_t allocations() { return count.load(std::memory_order_relaxed); }

}  // namespace tenon::base

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

void* counted(void* memory) {
  if (is_counting.load(std::memory_order_relaxed)) count.fetch_add(1, std::memory_order_relaxed);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

[[gnu::weak]] void* operator new(size_t bytes) { return counted(std::malloc(bytes ? bytes : 1)); }
[[gnu::weak]] void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
[[gnu::weak]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
