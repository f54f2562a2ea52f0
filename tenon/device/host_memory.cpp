// Counts what devices were granted, so that pages which nobody has touched yet are not given away twice.

#include "tenon/device/host_memory.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "tenon/base/available_memory.h"

namespace tenon::device {
namespace {

std::atomic<size_t>& granted() {
  static std::atomic<size_t> bytes{0};
  return bytes;
}

}  // namespace

std::byte* take_host_memory(size_t bytes, size_t alignment) {
  void* memory = ::operator new(std::max<size_t>(bytes, 1), std::align_val_t(alignment), std::nothrow);
  if (memory) granted() += bytes;
  return static_cast<std::byte*>(memory);
}

void give_back_host_memory(std::byte* memory, size_t bytes, size_t alignment) {
  granted() -= bytes;
  ::operator delete(memory, std::align_val_t(alignment));
}

std::optional<size_t> host_memory_left() {
  const base::HostMemory now = base::host_memory();
  if (now.available == base::kUnlimited) return std::nullopt;
  // What the process has touched besides belongs to others, so this counts somewhat too little as untouched, never too
  // much.
  const uint64_t taken = granted(), untouched = taken > now.touched ? taken - now.touched : 0;
  return now.available > untouched ? static_cast<size_t>(now.available - untouched) : 0;
}

std::optional<size_t> host_memory_in_all() {
  const uint64_t total = base::host_memory().total;
  return total == base::kUnlimited ? std::nullopt : std::optional<size_t>(total);
}

}  // namespace tenon::device
