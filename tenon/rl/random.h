// Random: the chance of games and of exploration. One number is all of its state, so that a run that is taken up again
// goes on with the very next draw.

#pragma once

#include <cstdint>

#include "tenon/base/error.h"

namespace tenon::rl {

/// SplitMix64 (Steele, Lea, Flood 2014): a counter, mixed. A draw takes about a nanosecond.
///   const uint32_t dice = 1 + random.below(6);
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  /// The n-th of many streams of one seed.
  Random(uint64_t seed, uint64_t stream) : state_(Random(seed ^ Random(stream).next()).next()) {}

  /// 64 random bits.
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// A whole number from 0 to below `count`, which is at least 1; even to one part in 2^32 / count.
  uint32_t below(uint32_t count) {
    if (count == 0) base::fail("random", "there is no number below 0 to draw; give a count of 1 or more");
    return static_cast<uint32_t>(((next() >> 32) * count) >> 32);
  }
  /// From 0 to below 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Where the stream stands, and back.
  uint64_t state() const { return state_; }
  void set_state(uint64_t state) { state_ = state; }

 private:
  uint64_t state_;
};

}  // namespace tenon::rl
