// Least significant digit first, a byte at a time; digits that all words share cost nothing.

#include "tenon/backends/cpu/calls/radix.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tenon::backends::cpu {
namespace {

// Below this a comparison sort of whole words is faster than clearing and summing the counters (measured: 300 to 500).
constexpr size_t kRadixPays = 400;

}  // namespace

void sort_words(std::span<uint64_t> words, std::span<uint64_t> spare, int key_bits) {
  if (words.size() < kRadixPays) {
    std::sort(words.begin(), words.end());
    return;
  }
  std::span<uint64_t> from = words, to = spare;
  for (int shift = 32; shift < 32 + key_bits; shift += 8) {
    std::array<size_t, 256> starts{};
    for (uint64_t word : from) ++starts[word >> shift & 0xff];
    if (starts[from[0] >> shift & 0xff] == from.size()) continue;
    size_t total = 0;
    for (size_t& start : starts) total += std::exchange(start, total);
    for (uint64_t word : from) to[starts[word >> shift & 0xff]++] = word;
    std::swap(from, to);
  }
  if (from.data() != words.data()) std::copy(from.begin(), from.end(), words.begin());
}

}  // namespace tenon::backends::cpu
