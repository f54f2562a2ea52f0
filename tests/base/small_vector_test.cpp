// SmallVector against what std::vector would do, with elements that count how often they are made.

#include "tenon/base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::base {
namespace {

// Counts every construction and destruction, and can be told to throw when copied.
struct Counted {
  static inline int alive = 0, copies = 0, moves = 0;
  static inline int copies_until_throw = -1;
  static void reset() { alive = copies = moves = 0, copies_until_throw = -1; }

  int value = 0;
  std::unique_ptr<int> heap;  // so that a leak or a double destruction shows under the sanitizers too

  Counted() : Counted(0) {}
  Counted(int v) : value(v), heap(std::make_unique<int>(v)) { ++alive; }  // NOLINT: ints convert
  Counted(const Counted& other) : value(other.value) {
    if (copies_until_throw == 0) throw std::runtime_error("copy");
    if (copies_until_throw > 0) --copies_until_throw;
    heap = std::make_unique<int>(value);
    ++alive, ++copies;
  }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)), heap(std::move(other.heap)) {
    ++alive, ++moves;
  }
  Counted& operator=(const Counted& other) {
    value = other.value;
    heap = std::make_unique<int>(value);
    ++copies;
    return *this;
  }
  Counted& operator=(Counted&& other) noexcept {
    value = std::exchange(other.value, -1);
    heap = std::move(other.heap);
    ++moves;
    return *this;
  }
  ~Counted() { --alive; }
  bool operator==(const Counted& other) const { return value == other.value; }
};

using Counters = SmallVector<Counted, 3>;

std::vector<int> values_of(const Counters& vector) {
  std::vector<int> values;
  for (const Counted& element : vector) values.push_back(element.value);
  return values;
}

Counters counting(int count) {
  Counters made;
  for (int i = 0; i < count; ++i) made.emplace_back(i);
  return made;
}

bool inside(const void* pointer, const auto& object) {
  const auto* start = reinterpret_cast<const std::byte*>(&object);
  const auto* at = static_cast<const std::byte*>(pointer);
  return at >= start && at < start + sizeof(object);
}

class SmallVectors : public testing::Test {
 protected:
  void SetUp() override { Counted::reset(); }
  void TearDown() override { EXPECT_EQ(Counted::alive, 0) << "elements leaked or were destroyed twice"; }
};

TEST_F(SmallVectors, KeepsItsFirstElementsInsideItself) {
  Counters vector = counting(3);
  EXPECT_TRUE(inside(vector.data(), vector));
  vector.push_back(3);
  EXPECT_FALSE(inside(vector.data(), vector));
  EXPECT_EQ(values_of(vector), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(SmallVectors, GrowthMovesAndNeverCopies) {
  Counters vector;
  for (int i = 0; i < 1000; ++i) vector.emplace_back(i);
  EXPECT_EQ(vector.size(), 1000u);
  EXPECT_EQ(Counted::copies, 0);
  EXPECT_EQ(Counted::alive, 1000);
  EXPECT_LT(Counted::moves, 4000);  // capacity doubles
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(vector[static_cast<size_t>(i)].value, i);
}

TEST_F(SmallVectors, ReserveKeepsElementsAndAvoidsLaterGrowth) {
  Counters vector = counting(2);
  vector.reserve(50);
  const Counted* where = vector.data();
  while (vector.size() < 50) vector.emplace_back(7);
  EXPECT_EQ(vector.data(), where);
  EXPECT_EQ(vector[1].value, 1);
}

TEST_F(SmallVectors, EmptyOnesAreEmpty) {
  const Counters vector{};
  EXPECT_TRUE(vector.empty());
  EXPECT_EQ(vector.begin(), vector.end());
  EXPECT_EQ(Counters(vector).size(), 0u);
}

TEST_F(SmallVectors, ConstructsFromCountListSpanAndRange) {
  EXPECT_EQ(values_of(Counters(4, Counted(9))), (std::vector<int>{9, 9, 9, 9}));
  EXPECT_EQ(values_of(Counters{1, 2}), (std::vector<int>{1, 2}));
  const std::vector<Counted> source{5, 6, 7, 8};
  EXPECT_EQ(values_of(Counters(source.begin(), source.end())), (std::vector<int>{5, 6, 7, 8}));
  EXPECT_EQ(values_of(Counters(std::span<const Counted>(source))), (std::vector<int>{5, 6, 7, 8}));
  EXPECT_EQ((SmallVector<int64_t, 5>(3)), (SmallVector<int64_t, 5>{0, 0, 0}));
}

TEST_F(SmallVectors, CopiesEveryElementOnce) {
  for (int count : {0, 2, 3, 10}) {
    const Counters vector = counting(count);
    Counted::copies = 0;
    const Counters copy(vector);
    EXPECT_EQ(copy, vector);
    EXPECT_EQ(Counted::copies, count);
  }
}

TEST_F(SmallVectors, MovingAHeapVectorTakesItsMemory) {
  Counters vector = counting(10);
  const Counted* where = vector.data();
  Counted::reset(), Counted::alive = 10;
  const Counters taken(std::move(vector));
  EXPECT_EQ(taken.data(), where);
  EXPECT_EQ(Counted::moves + Counted::copies, 0);
  EXPECT_TRUE(vector.empty());  // NOLINT: a moved-from vector is empty and usable
  vector.push_back(1);
  EXPECT_EQ(values_of(vector), (std::vector<int>{1}));
}

TEST_F(SmallVectors, MovingAnInlineVectorMovesItsElements) {
  Counters vector = counting(3);
  const Counters taken(std::move(vector));
  EXPECT_EQ(values_of(taken), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(Counted::copies, 0);
  EXPECT_EQ(Counted::alive, 3);
  EXPECT_TRUE(vector.empty());  // NOLINT
  vector = counting(5);
  EXPECT_EQ(vector.size(), 5u);
}

TEST_F(SmallVectors, AssignmentReplacesWhatWasThere) {
  for (int from : {0, 2, 3, 8}) {
    for (int to : {0, 1, 3, 9}) {
      const Counters source = counting(from);
      Counters copied = counting(to);
      copied = source;
      EXPECT_EQ(copied, source);
      Counters moved = counting(to);
      moved = Counters(source);
      EXPECT_EQ(moved, source);
      EXPECT_EQ(Counted::alive, 3 * from);
    }
  }
}

TEST_F(SmallVectors, SelfAssignmentChangesNothing) {
  for (int count : {0, 3, 8}) {
    Counters vector = counting(count);
    Counters& same = vector;
    vector = same;
    EXPECT_EQ(vector, counting(count));
    vector = std::move(same);
    EXPECT_EQ(vector, counting(count));
  }
}

TEST_F(SmallVectors, SwapExchangesInlineAndHeap) {
  Counters small = counting(2), large = counting(7);
  std::swap(small, large);
  EXPECT_EQ(small.size(), 7u);
  EXPECT_EQ(large.size(), 2u);
}

TEST_F(SmallVectors, InsertAndEraseActLikeStdVector) {
  std::mt19937 random(3);
  Counters vector;
  std::vector<int> expected;
  for (int step = 0; step < 1000; ++step) {
    const size_t at = random() % (expected.size() + 1);
    if (random() % 5 < 3 || expected.empty()) {
      const Counted* where = vector.insert(vector.begin() + at, step);
      expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), step);
      ASSERT_EQ(where, vector.begin() + at);
    } else {
      const size_t gone = at % expected.size();
      const Counted* where = vector.erase(vector.begin() + gone);
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(gone));
      ASSERT_EQ(where, vector.begin() + gone);
    }
    ASSERT_EQ(values_of(vector), expected);
    ASSERT_EQ(Counted::alive, static_cast<int>(expected.size()));
  }
}

TEST_F(SmallVectors, ResizeCutsAndFills) {
  Counters vector = counting(5);
  vector.resize(2);
  EXPECT_EQ(values_of(vector), (std::vector<int>{0, 1}));
  vector.resize(6, Counted(4));
  EXPECT_EQ(values_of(vector), (std::vector<int>{0, 1, 4, 4, 4, 4}));
  vector.clear();
  EXPECT_EQ(Counted::alive, 0);
}

TEST_F(SmallVectors, TakesItsOwnElementsAsArguments) {
  for (int count : {2, 3, 4}) {  // below, at and above the moment of growth
    Counters vector = counting(count);
    vector.push_back(vector[1]);
    EXPECT_EQ(vector.back().value, 1);
    vector.insert(vector.begin(), vector[1]);
    EXPECT_EQ(vector.front().value, 1);
  }
}

TEST_F(SmallVectors, ResizeTakesItsOwnElementAsTheFiller) {
  Counters vector{11, 12, 13};
  vector.resize(8, vector[1]);
  EXPECT_EQ(values_of(vector), (std::vector<int>{11, 12, 13, 12, 12, 12, 12, 12}));
}

TEST_F(SmallVectors, AThrowingCopyLeavesTheVectorAsItWas) {
  Counters vector{1, 2};
  const Counted extra(3);
  Counted::copies_until_throw = 0;
  EXPECT_THROW(vector.push_back(extra), std::runtime_error);
  Counted::copies_until_throw = -1;
  EXPECT_EQ(vector.size(), 2u);
  if (vector.size() != 2) new (vector.data() + 2) Counted(0);  // so that the test ends in order and says what is wrong
}

TEST_F(SmallVectors, AThrowingCopyInAConstructorLeaksNothing) {
  for (int count : {3, 8}) {
    const Counters source = counting(count);
    Counted::copies_until_throw = 2;
    EXPECT_THROW(Counters copy(source), std::runtime_error);
    Counted::copies_until_throw = -1;
    EXPECT_EQ(Counted::alive, count);
    Counted::alive = count;
  }
}

TEST_F(SmallVectors, ComparesByElements) {
  EXPECT_EQ(counting(4), counting(4));
  EXPECT_FALSE(counting(4) == counting(3));
  EXPECT_FALSE((Counters{1, 2}) == (Counters{1, 3}));
}

TEST_F(SmallVectors, HoldsElementsThatNeedAlignment) {
  struct alignas(64) Wide {
    int value = 0;
  };
  SmallVector<Wide, 2> vector;
  for (int i = 0; i < 9; ++i) {
    vector.push_back(Wide{i});
    for (const Wide& element : vector) ASSERT_EQ(reinterpret_cast<uintptr_t>(&element) % 64, 0u);
  }
  EXPECT_EQ(vector[8].value, 8);
}

TEST_F(SmallVectors, NestsInItself) {
  SmallVector<SmallVector<std::string, 1>, 1> rows;
  for (size_t i = 0; i < 5; ++i) rows.emplace_back(i, std::string(40, 'x'));
  const auto copy = rows;
  rows.erase(rows.begin());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3].size(), 4u);
  EXPECT_EQ(copy[4][3], std::string(40, 'x'));
}

}  // namespace
}  // namespace tenon::base
