// What a program with an allocator of its own may do: replace the two operators that all others call by default. Blocks
// have a word in front, so that one that comes from elsewhere is noticed.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kOurs = 0x7e4044c;
struct alignas(std::max_align_t) Head {
  std::size_t mark;
};

}  // namespace

void* operator new(std::size_t bytes) {
  auto* const head = static_cast<Head*>(std::malloc(sizeof(Head) + bytes));
  if (!head) throw std::bad_alloc();
  head->mark = kOurs;
  return head + 1;
}

void operator delete(void* memory) noexcept {
  if (!memory) return;
  Head* const head = static_cast<Head*>(memory) - 1;
  if (head->mark != kOurs) {
    std::fputs("operator delete got memory of another allocator\n", stderr);
    std::abort();
  }
  head->mark = 0;
  std::free(head);
}
