// Least significant digit first; digits that all words share cost nothing.

#include "tenon/backends/cpu/calls/radix.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tenon::backends::cpu {
namespace {

// Below this a comparison sort of whole words is faster than clearing and summing the counters (measured: 300 to 500).
constexpr size_t kRadixPays = 400;
// From here on clearing the counters of wide digits costs less than the passes that they save: 100,000 words by 24 bits
// take two thirds of the time that bytes take.
constexpr size_t kWideDigitsPay = 16384;
constexpr int kBitsOfByte = 8, kBitsOfWide = 12;

}  // namespace

void sort_words(std::span<uint64_t> words, std::span<uint64_t> spare, int key_bits) {
  if (words.size() < kRadixPays) {
    std::sort(words.begin(), words.end());
    return;
  }
  const int widest = words.size() < kWideDigitsPay ? kBitsOfByte : kBitsOfWide;
  const int digits = std::max(1, (key_bits + widest - 1) / widest), bits = std::max(1, (key_bits + digits - 1) / digits);
  const size_t values = size_t{1} << bits;
  std::vector<uint32_t> counts(static_cast<size_t>(digits) * values);  // of all digits in one pass: positions fit 32 bits
  const auto shift_of = [&](int digit) { return 32 + bits * digit; };
  for (const uint64_t word : words) {
    for (int digit = 0; digit < digits; ++digit)
      ++counts[static_cast<size_t>(digit) * values + (word >> shift_of(digit) & (values - 1))];
  }
  std::span<uint64_t> from = words, to = spare;
  for (int digit = 0; digit < digits; ++digit) {
    uint32_t* starts = counts.data() + static_cast<size_t>(digit) * values;
    const int shift = shift_of(digit);
    if (starts[from[0] >> shift & (values - 1)] == from.size()) continue;
    uint32_t total = 0;
    for (size_t value = 0; value < values; ++value) total += std::exchange(starts[value], total);
    for (const uint64_t word : from) to[starts[word >> shift & (values - 1)]++] = word;
    std::swap(from, to);
  }
  if (from.data() != words.data()) std::copy(from.begin(), from.end(), words.begin());
}

}  // namespace tenon::backends::cpu
