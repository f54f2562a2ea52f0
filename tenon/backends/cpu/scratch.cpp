// A short list of idle blocks per thread; the best fit is taken, the bound is kept by freeing what comes back too big.

#include "tenon/backends/cpu/scratch.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::backends::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kSmall = 4096;
constexpr size_t kIdleBytesPerThread = size_t{64} << 20;

std::atomic<size_t>& idle_bytes() {
  static std::atomic<size_t> total = 0;
  return total;
}

// A number that is only looked at: no order is kept between threads, which would cost more than finding a block.
void count_idle(int64_t bytes) { idle_bytes().fetch_add(static_cast<size_t>(bytes), std::memory_order_relaxed); }

struct Block {
  std::byte* data;
  size_t bytes;
};

struct IdleBlocks {
  std::vector<Block> blocks;
  size_t bytes = 0;

  ~IdleBlocks() {
    for (const Block& block : blocks) ::operator delete(block.data, kAlignment);
    count_idle(-static_cast<int64_t>(bytes));
  }

  Block take(size_t wanted) {
    auto best = blocks.end();
    for (auto it = blocks.begin(); it != blocks.end(); ++it) {
      const bool fits =
          it->bytes >= wanted && it->bytes / 4 <= wanted + kSmall;  // a large block is kept for large needs
      if (fits && (best == blocks.end() || it->bytes < best->bytes)) best = it;
    }
    if (best == blocks.end()) return {nullptr, 0};
    const Block found = *best;
    blocks.erase(best);
    bytes -= found.bytes;
    count_idle(-static_cast<int64_t>(found.bytes));
    return found;
  }

  // Small blocks give way to a bigger one: a thread that has once needed much will need it again.
  void give(Block block) {
    std::erase_if(blocks, [&](const Block& idle) {
      if (bytes + block.bytes <= kIdleBytesPerThread || idle.bytes >= block.bytes) return false;
      bytes -= idle.bytes;
      count_idle(-static_cast<int64_t>(idle.bytes));
      ::operator delete(idle.data, kAlignment);
      return true;
    });
    if (bytes + block.bytes > kIdleBytesPerThread) {
      ::operator delete(block.data, kAlignment);
      return;
    }
    blocks.push_back(block);
    bytes += block.bytes;
    count_idle(static_cast<int64_t>(block.bytes));
  }
};

IdleBlocks& idle() {
  thread_local IdleBlocks blocks;
  return blocks;
}

size_t size_class(size_t bytes) {  // powers of two and the halves between them: few sizes, at most half wasted
  size_t size = kSmall;
  while (size < bytes) size *= 2;
  return bytes <= size / 4 * 3 ? size / 4 * 3 : size;
}

}  // namespace

Scratch::Scratch(size_t bytes) {
  Block block = idle().take(bytes);
  if (block.data == nullptr) {
    block.bytes = size_class(bytes);
    block.data = static_cast<std::byte*>(::operator new(block.bytes, kAlignment, std::nothrow));
    if (block.data == nullptr) base::fail("memory", "the cpu device cannot allocate {} bytes of scratch", block.bytes);
  }
  data_ = block.data;
  bytes_ = block.bytes;
}

Scratch::~Scratch() { idle().give({data_, bytes_}); }

size_t idle_scratch_bytes() { return idle_bytes(); }

}  // namespace tenon::backends::cpu
