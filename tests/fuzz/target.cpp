// Counts the memory of a reader by the sanitizer's hooks on malloc and free.

#include "target.h"

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tenon::fuzz {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> live{0}, peak{0};

void count_malloc(const volatile void*, size_t bytes) {
  if (!counting) return;
  const int64_t now = live += static_cast<int64_t>(bytes);
  peak = std::max(peak.load(), now);
}
void count_free(const volatile void* memory) {
  if (counting && memory) live -= static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<void*>(memory)));
}

[[noreturn]] void stop(const std::string& reason) {
  std::fprintf(stderr, "fuzz: %s\n", reason.c_str());
  std::abort();
}

}  // namespace

void run(size_t honest_bytes, size_t factor, const std::function<void()>& reader) {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free);
  if (!installed) stop("the hooks on malloc are taken");
  constexpr size_t kConstant = size_t{1} << 17;  // messages, the window of inflate
  live = peak = 0;
  counting = true;
  try {
    reader();
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find('\n') != std::string::npos || text.size() > 4096) stop("this is not one short line: " + text);
  }
  counting = false;
  const size_t most = factor * honest_bytes + kConstant;
  if (static_cast<size_t>(peak) > most) stop(fmt::format("{} bytes of memory for {}", peak.load(), honest_bytes));
}

}  // namespace tenon::fuzz
