// The arena checked by brute force: no two values that are alive together may share a byte.

#include "tenon/plan/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::plan {
namespace {

constexpr size_t kAlignment = 64;

size_t padded(size_t bytes, size_t alignment) {
  return (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
}

// A value as pieces, each alive from its own first launch on.
struct Piece {
  size_t begin, end;  // in the arena
  uint32_t first, last;
};
std::vector<Piece> pieces_of(const Interval& interval, size_t offset) {
  std::vector<Piece> pieces;
  size_t begin = 0;
  for (const Stretch& later : interval.later) {
    pieces.push_back({offset + begin, offset + later.begin, interval.first, interval.last});
    pieces.push_back({offset + later.begin, offset + later.begin + later.bytes, later.first, interval.last});
    begin = later.begin + later.bytes;
  }
  pieces.push_back({offset + begin, offset + interval.bytes, interval.first, interval.last});
  return pieces;
}

bool share_bytes(const std::vector<Piece>& some, const std::vector<Piece>& others) {
  for (const Piece& a : some) {
    for (const Piece& b : others) {
      const bool together = a.first <= b.last && b.first <= a.last;
      if (together && a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end) return true;
    }
  }
  return false;
}

size_t live_bytes(const Interval& interval, uint32_t launch, size_t alignment) {
  if (launch < interval.first || interval.last < launch) return 0;
  size_t live = padded(interval.bytes, alignment);
  for (const Stretch& later : interval.later) live -= launch < later.first ? later.bytes : 0;
  return live;
}

// Every pair, every launch: slow and obvious.
void expect_sound(const std::vector<Interval>& intervals, const Arena& arena, size_t alignment) {
  ASSERT_EQ(arena.offsets.size(), intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    ASSERT_EQ(arena.offsets[i] % alignment, 0u) << "interval " << i;
    ASSERT_LE(arena.offsets[i] + intervals[i].bytes, arena.bytes) << "interval " << i;
    for (size_t j = 0; j < i; ++j) {
      ASSERT_FALSE(share_bytes(pieces_of(intervals[i], arena.offsets[i]), pieces_of(intervals[j], arena.offsets[j])))
          << "intervals " << j << " and " << i << " overlap";
    }
  }
  std::set<uint32_t> births;  // the most bytes are alive when something is written
  for (const Interval& one : intervals) {
    births.insert(one.first);
    for (const Stretch& later : one.later) births.insert(later.first);
  }
  size_t most = 0;
  for (const uint32_t launch : births) {
    size_t live = 0;
    for (const Interval& one : intervals) live += live_bytes(one, launch, alignment);
    most = std::max(most, live);
  }
  EXPECT_EQ(arena.peak_live_bytes, most);
  EXPECT_GE(arena.bytes, arena.peak_live_bytes);
}

class RandomIntervals {
 public:
  explicit RandomIntervals(uint32_t seed) : random_(seed) {}

  size_t below(size_t n) { return random_() % n; }

  // Sizes over four decades, most of them short-lived, some kept over half of the plan: what a training step looks
  // like.
  std::vector<Interval> training(size_t launches) {
    std::vector<Interval> made;
    for (uint32_t launch = 0; launch < launches; ++launch) {
      for (size_t outputs = 1 + below(2); outputs > 0; --outputs) {
        const size_t life = below(5) == 0 ? below(launches / 2 + 1) : below(4);
        const auto last = static_cast<uint32_t>(std::min(launches - 1, launch + life));
        made.push_back({launch, last, size_t{1} << below(14)});
      }
    }
    return made;
  }

  // Anything goes: sizes of no kind, several values a launch, launches without any.
  std::vector<Interval> wild(size_t count) {
    std::vector<Interval> made;
    uint32_t first = 0;
    for (size_t i = 0; i < count; ++i) {
      first += static_cast<uint32_t>(below(3));
      made.push_back(
          {first, first + static_cast<uint32_t>(below(below(10) == 0 ? 100 : 8)), below(5) == 0 ? 0 : below(100000)});
    }
    return made;
  }

 private:
  std::mt19937 random_;
};

TEST(LayOut, NothingTakesNothing) {
  const Arena arena = lay_out({}, kAlignment);
  EXPECT_TRUE(arena.offsets.empty());
  EXPECT_EQ(arena.bytes, 0u);
  EXPECT_EQ(arena.peak_live_bytes, 0u);
}

TEST(LayOut, ValuesThatAreAliveTogetherNeverOverlap) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomIntervals random(seed);
    const std::vector<Interval> intervals =
        seed % 2 ? random.wild(1 + random.below(150)) : random.training(1 + random.below(100));
    SCOPED_TRACE(seed);
    expect_sound(intervals, lay_out(intervals, kAlignment), kAlignment);
    if (HasFatalFailure()) return;
  }
}

TEST(LayOut, PlacesThatAreWrittenLaterAreUsedUntilThen) {
  const std::vector<Interval> intervals{{0, 9, 192, {{64, 128, 5}}}, {1, 4, 128}};
  const Arena arena = lay_out(intervals, kAlignment);
  expect_sound(intervals, arena, kAlignment);
  EXPECT_EQ(arena.bytes, 192u);
}

TEST(LayOut, WhatIsStillReadWhenAPieceIsWrittenLiesElsewhere) {
  const std::vector<Interval> intervals{{0, 9, 192, {{64, 128, 5}}}, {1, 5, 128}};
  const Arena arena = lay_out(intervals, kAlignment);
  expect_sound(intervals, arena, kAlignment);
  EXPECT_EQ(arena.bytes, 320u);
}

// A backward pass writes the gradient of all weights from its end. Three layers keep 128 bytes each and the loss 256;
// the gradients take 256 a layer, that of the head comes first.
TEST(LayOut, WhatLayersKeepLiesWhereTheirGradientsWill) {
  const std::vector<Interval> intervals{
      {0, 8, 128}, {1, 7, 128}, {2, 6, 128}, {3, 4, 256}, {4, 9, 1024, {{256, 256, 9}, {512, 256, 8}, {768, 256, 7}}}};
  const Arena arena = lay_out(intervals, kAlignment);
  expect_sound(intervals, arena, kAlignment);
  EXPECT_EQ(arena.bytes, 1024u);
}

TEST(LayOut, ValuesThatAreWrittenPieceByPieceNeverOverlapOthers) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomIntervals random(seed);
    std::vector<Interval> intervals = random.training(2 + random.below(60));
    for (Interval& one : intervals) {
      if (random.below(4) > 0) continue;
      for (size_t begin = random.below(one.bytes); begin < one.bytes; begin += random.below(one.bytes)) {
        const size_t bytes = 1 + random.below(one.bytes - begin);
        const auto first = one.first + static_cast<uint32_t>(random.below(one.last - one.first + 1));
        one.later.push_back({begin, bytes, first});
        begin += bytes;
      }
    }
    SCOPED_TRACE(seed);
    expect_sound(intervals, lay_out(intervals, kAlignment), kAlignment);
    const size_t largest =
        std::max_element(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
          return a.bytes < b.bytes;
        })->bytes;
    expect_sound(intervals, lay_out(intervals, kAlignment, 2 * padded(largest, kAlignment)), kAlignment);
    if (HasFatalFailure()) return;
  }
}

TEST(LayOut, HoldsForEveryAlignment) {
  RandomIntervals random(5);
  const std::vector<Interval> intervals = random.wild(120);
  for (size_t alignment : {1, 4, 16, 64, 256, 4096}) {
    SCOPED_TRACE(alignment);
    expect_sound(intervals, lay_out(intervals, alignment), alignment);
  }
}

TEST(LayOut, AValueReadByItsSuccessorIsNotOverwrittenByIt) {
  const std::vector<Interval> intervals{{0, 1, 64}, {1, 2, 64}};
  const Arena arena = lay_out(intervals, kAlignment);
  EXPECT_NE(arena.offsets[0], arena.offsets[1]);
  EXPECT_EQ(arena.bytes, 128u);
}

TEST(LayOut, AChainNeedsTwoSlots) {
  std::vector<Interval> chain;
  for (uint32_t i = 0; i < 1000; ++i) chain.push_back({i, i + 1, 1000});
  const Arena arena = lay_out(chain, kAlignment);
  EXPECT_EQ(arena.bytes, 2 * 1024u);
  EXPECT_EQ(std::set<size_t>(arena.offsets.begin(), arena.offsets.end()).size(), 2u);
}

TEST(LayOut, AGrowingChainReusesTheTailOfTheArena) {
  std::vector<Interval> chain;
  for (uint32_t i = 0; i < 100; ++i) chain.push_back({i, i, 64 * (i + 1)});  // nobody reads them
  EXPECT_EQ(lay_out(chain, kAlignment).bytes, 6400u);
}

TEST(LayOut, ValuesOfNoBytesStandInTheArenaToo) {
  const std::vector<Interval> intervals{{0, 2, 0}, {0, 2, 64}, {1, 2, 0}, {3, 3, 0}};
  const Arena arena = lay_out(intervals, kAlignment);
  expect_sound(intervals, arena, kAlignment);
  for (size_t offset : arena.offsets) EXPECT_LE(offset, arena.bytes);
}

TEST(LayOut, HolesBesideOneAnotherBecomeOne) {
  // Three neighbours end at different times; a value as large as all three fits where they were.
  const std::vector<Interval> intervals{{0, 1, 64}, {0, 3, 64}, {0, 2, 64}, {0, 9, 64}, {4, 5, 192}};
  const Arena arena = lay_out(intervals, kAlignment);
  expect_sound(intervals, arena, kAlignment);
  EXPECT_EQ(arena.bytes, 256u);
}

TEST(LayOut, TheSmallestHoleThatFitsIsTaken) {
  // Holes of 256 and of 64 bytes; 64 bytes go into the small one, so that the large value still fits.
  const std::vector<Interval> intervals{{0, 0, 256}, {0, 9, 64}, {0, 0, 64}, {0, 9, 64}, {1, 9, 64}, {1, 9, 256}};
  const Arena arena = lay_out(intervals, kAlignment);
  expect_sound(intervals, arena, kAlignment);
  EXPECT_EQ(arena.bytes, 448u);
}

TEST(LayOut, NothingLiesAcrossTwoSlabs) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const size_t slab = 64 * (4 + random() % 60);
    std::vector<Interval> intervals;
    for (uint32_t i = 0; i < 60; ++i)
      intervals.push_back({i, i + static_cast<uint32_t>(random() % 12), 1 + random() % slab});
    const Arena arena = lay_out(intervals, kAlignment, slab);
    expect_sound(intervals, arena, kAlignment);
    for (size_t i = 0; i < intervals.size(); ++i)
      ASSERT_EQ(arena.offsets[i] / slab, (arena.offsets[i] + intervals[i].bytes - 1) / slab) << round;
  }
}

TEST(LayOut, AValueThatFitsNoSlabIsAnError) {
  const std::vector<Interval> intervals{{0, 1, 100}, {1, 2, 1000}};
  EXPECT_NO_THROW(lay_out(intervals, kAlignment, 1024));
  EXPECT_THROW(lay_out(intervals, kAlignment, 512), Error);
}

TEST(LayOut, StaysNearTheLowerBound) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RandomIntervals random(seed);
    const std::vector<Interval> intervals = seed % 2 ? random.wild(2000) : random.training(1000);
    const Arena arena = lay_out(intervals, kAlignment);
    EXPECT_LE(static_cast<double>(arena.bytes), 1.3 * static_cast<double>(arena.peak_live_bytes)) << "seed " << seed;
  }
}

TEST(LayOut, SameIntervalsSameOffsets) {
  RandomIntervals random(9);
  const std::vector<Interval> intervals = random.wild(500);
  EXPECT_EQ(lay_out(intervals, kAlignment).offsets, lay_out(intervals, kAlignment).offsets);
}

TEST(LayOut, TakesAMillionValues) {
  std::vector<Interval> chain;
  for (uint32_t i = 0; i < 1'000'000; ++i) chain.push_back({i, i + 1 + i % 7, 4 + 64 * (i % 5)});
  const auto start = std::chrono::steady_clock::now();
  const Arena arena = lay_out(chain, kAlignment);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));  // n log n, with room for sanitizers
  EXPECT_LT(arena.bytes, 10000u);
}

}  // namespace
}  // namespace tenon::plan
