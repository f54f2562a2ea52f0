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

// Every pair, every launch: slow and obvious.
void expect_sound(const std::vector<Interval>& intervals, const Arena& arena, size_t alignment) {
  ASSERT_EQ(arena.offsets.size(), intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    ASSERT_EQ(arena.offsets[i] % alignment, 0u) << "interval " << i;
    ASSERT_LE(arena.offsets[i] + intervals[i].bytes, arena.bytes) << "interval " << i;
    for (size_t j = 0; j < i; ++j) {
      const bool together = intervals[i].first <= intervals[j].last && intervals[j].first <= intervals[i].last;
      if (!together) continue;
      const bool apart = arena.offsets[i] + intervals[i].bytes <= arena.offsets[j] ||
                         arena.offsets[j] + intervals[j].bytes <= arena.offsets[i];
      ASSERT_TRUE(apart) << "intervals " << j << " and " << i << " overlap";
    }
  }
  size_t most = 0;
  for (const Interval& at : intervals) {  // the most bytes are alive at some interval's first launch
    size_t live = 0;
    for (const Interval& other : intervals) {
      if (other.first <= at.first && at.first <= other.last) live += padded(other.bytes, alignment);
    }
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
