#include "tenon/data/random.h"

#include "tenon/base/hash.h"

namespace tenon::data {
namespace {

// Apart from the keys that order samples, which are mixed from the same seed and epoch.
constexpr uint64_t kOfSamples = 0x53414D504C45;

}  // namespace

Random::Random(uint64_t seed, int64_t epoch, int64_t sample)
    : key_(base::mix(base::mix(base::mix(kOfSamples, seed), static_cast<uint64_t>(epoch)),
                     static_cast<uint64_t>(sample))) {}

uint64_t Random::next() { return base::mix(key_, drawn_++); }

// Of 64 bits the remainder is even to one part in 2^64 / count.
int64_t Random::below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

}  // namespace tenon::data
