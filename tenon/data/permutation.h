// A shuffled order of any number of things that needs no memory: place p holds thing permutation(p).
//
// Four rounds of a Feistel network permute the numbers of an even count of bits; a result outside the range is sent
// through again until it falls inside (cycle walking), which takes fewer than four rounds on average. A shuffled list
// would need 8 bytes a window, and a resumed run would have to shuffle it again.

#pragma once

#include <bit>
#include <cstdint>

#include "tenon/base/hash.h"

namespace tenon::data {

class Permutation {
 public:
  Permutation(uint64_t size, uint64_t key) : size_(size), key_(key) {
    const int bits = size > 1 ? std::bit_width(size - 1) : 1;
    half_bits_ = (bits + 1) / 2;
    half_mask_ = (uint64_t{1} << half_bits_) - 1;
  }

  /// Of a place below the size.
  uint64_t operator()(uint64_t place) const {
    do place = rounds(place);
    while (place >= size_);
    return place;
  }

 private:
  uint64_t rounds(uint64_t number) const {
    uint64_t left = number >> half_bits_, right = number & half_mask_;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (base::mix(base::mix(key_, round), right) & half_mask_);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  uint64_t size_, key_, half_mask_ = 0;
  int half_bits_ = 0;
};

}  // namespace tenon::data
