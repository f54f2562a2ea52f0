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
  std::array<std::array<uint32_t, 256>, 4> counts{};  // of all digits in one pass: positions fit 32 bits
  const auto digits = static_cast<size_t>((key_bits + 7) / 8);
  for (const uint64_t word : words) {
    for (size_t digit = 0; digit < digits; ++digit) ++counts[digit][word >> (32 + 8 * digit) & 0xff];
  }
  std::span<uint64_t> from = words, to = spare;
  for (size_t digit = 0; digit < digits; ++digit) {
    std::array<uint32_t, 256>& starts = counts[digit];
    const size_t shift = 32 + 8 * digit;
    if (starts[from[0] >> shift & 0xff] == from.size()) continue;
    uint32_t total = 0;
    for (uint32_t& start : starts) total += std::exchange(start, total);
    for (const uint64_t word : from) to[starts[word >> shift & 0xff]++] = word;
    std::swap(from, to);
  }
  if (from.data() != words.data()) std::copy(from.begin(), from.end(), words.begin());
}

}  // namespace tenon::backends::cpu
