// Stable sorting of 64-bit words by some of their bits: the upper half of a word is the key, the lower the position it
// came from, so that equal keys stay in order.

#pragma once

#include <cstdint>
#include <span>

namespace tenon::backends::cpu {

/// Sorts by bits 32 ... 32 + key_bits - 1. Words with equal keys must come in ascending order of their lower half.
/// `spare` is as long as `words`.
void sort_words(std::span<uint64_t> words, std::span<uint64_t> spare, int key_bits);

}  // namespace tenon::backends::cpu
