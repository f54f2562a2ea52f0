// What interning and the caches rely on: order and length matter, and neighbours do not collide.

#include "tenon/base/hash.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <unordered_set>
#include <vector>

namespace tenon::base {
namespace {

TEST(Hash, DependsOnBothArgumentsAndTheirOrder) {
  EXPECT_EQ(mix(1, 2), mix(1, 2));
  EXPECT_NE(mix(1, 2), mix(2, 1));
  EXPECT_NE(mix(mix(0, 1), 2), mix(mix(0, 2), 1));
}

TEST(Hash, OfListsSeesTheirLength) {
  using Words = std::vector<uint64_t>;
  EXPECT_NE(mix_all(0, Words{}), mix_all(0, Words{0}));
  EXPECT_NE(mix_all(0, Words{0}), mix_all(0, Words{0, 0}));
  EXPECT_NE(mix_all(mix_all(0, Words{1}), Words{2, 3}), mix_all(mix_all(0, Words{1, 2}), Words{3}));
}

TEST(Hash, SmallPairsDoNotCollide) {
  std::unordered_set<uint64_t> seen;
  for (uint64_t a = 0; a < 400; ++a) {
    for (uint64_t b = 0; b < 400; ++b) seen.insert(mix(mix(0, a), b));
  }
  EXPECT_EQ(seen.size(), 160'000u);
}

TEST(Hash, AddressesSpreadOverTheShards) {
  std::array<int, 16> shards{};  // the intern table cuts by the top four bits
  for (uint64_t i = 0; i < 16000; ++i) ++shards[mix(mix(7, 0x7f0000000000 + 464 * i), 0) >> 60];
  for (int count : shards) {
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

TEST(Hash, OneBitChangesAboutHalfOfThem) {
  double flipped = 0;
  int tries = 0;
  for (uint64_t word = 0; word < 200; ++word) {
    for (int bit = 0; bit < 64; ++bit, ++tries) {
      flipped += std::popcount(mix(mix(5, word), 1) ^ mix(mix(5, word ^ (uint64_t{1} << bit)), 1));
    }
  }
  EXPECT_NEAR(flipped / tries, 32, 2);
}

}  // namespace
}  // namespace tenon::base
