// Its own file: beside code that allocates, the compiler takes the pair below for a mismatch.

#include "bench/count_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> count{0};

void* counted(void* memory) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

size_t allocations() { return count.load(); }

void* operator new(size_t bytes) { return counted(std::malloc(bytes ? bytes : 1)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
