// Random: the chance of one sample. Crops and flips draw from it.
//
// A stream belongs to seed, epoch and sample and to nothing else, so what a sample becomes depends neither on the
// thread that prepares it nor on what was prepared before: a resumed run, and one with other workers, see the same
// pixels.

#pragma once

#include <cstdint>

namespace tenon::data {

/// A stream of random numbers.
///   data::Random random(7, 0, 3);
///   const int64_t dice = 1 + random.below(6);
class Random {
 public:
  Random(uint64_t seed, int64_t epoch, int64_t sample);

  /// 64 random bits.
  uint64_t next();
  /// A whole number from 0 to below `count`, which is at least 1.
  int64_t below(int64_t count);
  /// From 0 to below 1.
  double uniform();
  /// From `low` to below `high`.
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// True with this probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  uint64_t key_, drawn_ = 0;
};

}  // namespace tenon::data
