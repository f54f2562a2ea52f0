// Index maps against arrays that are really moved: random chains of moves, every element compared.

#include "tenon/ir/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::ir {
namespace {

constexpr int64_t kPadding = IndexMap::kPadding;

Move reshape(Dims shape) { return {Op::reshape, ShapeAttrs{std::move(shape)}}; }
Move expand(Dims shape) { return {Op::expand, ShapeAttrs{std::move(shape)}}; }
Move permute(Dims axes) { return {Op::permute, AxesAttrs{std::move(axes)}}; }
Move flip(Dims axes) { return {Op::flip, AxesAttrs{std::move(axes)}}; }
Move pad(Dims before, Dims after) { return {Op::pad, PadAttrs{std::move(before), std::move(after)}}; }
Move shrink(Dims start, Dims size, Dims step) {
  return {Op::shrink, ShrinkAttrs{std::move(start), std::move(size), std::move(step)}};
}

// What a reader sees: for each element in row-major order the buffer element it comes from, or kPadding.
struct Array {
  Dims shape;
  std::vector<int64_t> from;

  explicit Array(const Dims& s) : shape(s), from(static_cast<size_t>(count(s))) {
    std::iota(from.begin(), from.end(), int64_t{0});
  }
};

// The coordinates of the element before the move, or nothing for padding. Written from the definition of each move.
bool source_index(const Move& move, const Dims& old_shape, Dims& index) {
  switch (move.op) {
    case Op::permute: {
      const Dims& axes = std::get<AxesAttrs>(move.attrs).axes;
      Dims before(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) before[static_cast<size_t>(axes[i])] = index[i];
      index = before;
      return true;
    }
    case Op::expand:
      for (size_t i = 0; i < index.size(); ++i) index[i] = old_shape[i] == 1 ? 0 : index[i];
      return true;
    case Op::pad: {
      const auto& attrs = std::get<PadAttrs>(move.attrs);
      for (size_t i = 0; i < index.size(); ++i) {
        index[i] -= attrs.before[i];
        if (index[i] < 0 || index[i] >= old_shape[i]) return false;
      }
      return true;
    }
    case Op::shrink: {
      const auto& attrs = std::get<ShrinkAttrs>(move.attrs);
      for (size_t i = 0; i < index.size(); ++i) index[i] = attrs.start[i] + index[i] * attrs.step[i];
      return true;
    }
    default:
      for (int64_t axis : std::get<AxesAttrs>(move.attrs).axes) {
        const auto i = static_cast<size_t>(axis);
        index[i] = old_shape[i] - 1 - index[i];
      }
      return true;
  }
}

Array moved(const Array& array, const Move& move) {
  Array result(moved_shape(move, array.shape));
  if (move.op == Op::reshape) {
    result.from = array.from;
    return result;
  }
  for (size_t position = 0; position < result.from.size(); ++position) {
    Dims index(result.shape.size());
    auto rest = static_cast<int64_t>(position);
    for (size_t i = index.size(); i-- > 0; rest /= result.shape[i]) index[i] = rest % result.shape[i];
    if (!source_index(move, array.shape, index)) {
      result.from[position] = kPadding;
      continue;
    }
    int64_t flat = 0;
    for (size_t i = 0; i < index.size(); ++i) flat = flat * array.shape[i] + index[i];
    result.from[position] = array.from[static_cast<size_t>(flat)];
  }
  return result;
}

std::vector<int64_t> elements(const IndexMap& map) {
  std::vector<int64_t> from;
  map.for_each([&](int64_t position, int64_t where) {
    EXPECT_EQ(position, static_cast<int64_t>(from.size()));
    from.push_back(where);
  });
  return from;
}

// True when one offset and one stride per axis give every element, without padding.
bool strides_exist(const Array& array) {
  if (array.from.empty()) return true;
  const Dims steps = row_major_strides(array.shape);
  for (size_t position = 0; position < array.from.size(); ++position) {
    if (array.from[position] == kPadding) return false;
    int64_t expected = array.from[0];
    auto rest = static_cast<int64_t>(position);
    for (size_t i = 0; i < array.shape.size(); ++i) {
      const int64_t index = rest / steps[i];
      rest %= steps[i];
      if (array.shape[i] > 1) expected += index * (array.from[static_cast<size_t>(steps[i])] - array.from[0]);
    }
    if (array.from[position] != expected) return false;
  }
  return true;
}

bool lies_in_order(const Array& array) {
  for (size_t i = 0; i < array.from.size(); ++i) {
    if (array.from[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Dims shape() {
    Dims made(static_cast<size_t>(below(5)));
    for (int64_t& size : made) size = below(12) == 0 ? 0 : below(4) == 0 ? 1 : 1 + below(5);
    return made;
  }

  Move move(const Dims& shape, bool with_reshape) {
    switch (below(with_reshape ? 6 : 5)) {
      case 0: {
        Dims axes = iota_dims(shape.size());
        std::shuffle(axes.begin(), axes.end(), random_);
        return permute(axes);
      }
      case 1: {
        Dims to = shape;
        for (int64_t& size : to) {
          if (size == 1 && below(2)) size = below(5);
        }
        return expand(to);
      }
      case 2: {
        Dims before(shape.size()), after(shape.size());
        for (size_t i = 0; i < shape.size(); ++i) {
          before[i] = std::max<int64_t>(0, below(5) - 2);
          after[i] = std::max<int64_t>(0, below(5) - 2);
        }
        return pad(before, after);
      }
      case 3: return cut(shape);
      case 4: {
        Dims axes;
        for (size_t i = 0; i < shape.size(); ++i) {
          if (below(2)) axes.push_back(static_cast<int64_t>(i));
        }
        return flip(axes);
      }
      default: return reshape(reshaped(shape));
    }
  }

 private:
  Move cut(const Dims& shape) {
    Dims start(shape.size()), size(shape.size()), step(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      step[i] = 1 + below(3);
      start[i] = shape[i] ? below(shape[i]) : 0;
      if (below(2)) start[i] = 0;
      const int64_t most = shape[i] ? (shape[i] - 1 - start[i]) / step[i] + 1 : 0;
      size[i] = below(10) == 0 ? 0 : std::max<int64_t>(std::min<int64_t>(most, 1), most - below(2));
    }
    return shrink(start, size, step);
  }

  // The prime factors of the count, dealt to a random number of axes, with ones in between.
  Dims reshaped(const Dims& shape) {
    int64_t rest = count(shape);
    if (rest == 0) {
      Dims to(static_cast<size_t>(1 + below(3)));
      for (int64_t& size : to) size = below(4);
      to[static_cast<size_t>(below(static_cast<int64_t>(to.size())))] = 0;
      return to;
    }
    Dims to(static_cast<size_t>(rest == 1 ? below(4) : 1 + below(4)), 1);
    for (int64_t factor = 2; rest > 1; ++factor) {
      for (; rest % factor == 0; rest /= factor)
        to[static_cast<size_t>(below(static_cast<int64_t>(to.size())))] *= factor;
    }
    return to;
  }

  std::mt19937 random_;
};

std::string chain_text(const std::vector<Move>& moves, const Dims& start) {
  std::string text = to_string(start);
  for (const Move& move : moves) text += " | " + std::string(name(move.op)) + " " + to_string(attrs_of(move));
  return text;
}

// The same from runs along the last axis.
std::vector<int64_t> elements_run_by_run(const IndexMap& map) {
  const Dims& shape = map.shape();
  const int64_t width = shape.empty() ? 1 : shape.back();
  std::vector<int64_t> found;
  for (int64_t at = 0; at < count(shape);) {
    Dims index(shape.size());
    int64_t rest = at;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
    const IndexMap::Run run = map.run_from({index.data(), index.size()}, width - at % width);
    for (int64_t i = 0; i < run.count; ++i)
      found.push_back(run.where == kPadding ? kPadding : run.where + i * run.step);
    at += run.count;
  }
  return found;
}

void check_random_chains(bool with_reshape, uint32_t seed, int chains) {
  Generator generator(seed);
  int strided = 0, contiguous = 0, empty = 0, padded = 0, layered = 0;
  for (int chain = 0; chain < chains; ++chain) {
    Array array(generator.shape());
    const Dims start = array.shape;
    IndexMap map(start);
    std::vector<Move> moves;
    for (int64_t length = generator.below(9); length > 0; --length) {
      Move move = generator.move(array.shape, with_reshape);
      if (count(moved_shape(move, array.shape)) > 3000) continue;
      array = moved(array, move);
      map.apply(move);
      moves.push_back(std::move(move));
    }
    const std::string text = chain_text(moves, start);
    ASSERT_EQ(to_string(map.shape()), to_string(array.shape)) << text;
    ASSERT_EQ(elements(map), array.from) << text;
    ASSERT_EQ(elements_run_by_run(map), array.from) << text;
    if (map.is_strided()) {
      ASSERT_TRUE(strides_exist(array)) << text;
    }
    if (map.is_contiguous()) {
      ASSERT_TRUE(lies_in_order(array)) << text;
    }
    if (map.is_contiguous()) {
      ASSERT_TRUE(map.is_strided()) << text;
    }
    // Without a reshape one view is enough, so the flags must not be missing where they hold either.
    if (!with_reshape && !array.from.empty()) {
      ASSERT_EQ(map.views().size(), 1u) << text;
      ASSERT_EQ(map.is_contiguous(), lies_in_order(array)) << text;
      ASSERT_EQ(map.is_strided(), std::find(array.from.begin(), array.from.end(), kPadding) == array.from.end())
          << text;
    }
    IndexMap again(start);
    again.apply(moves);
    ASSERT_EQ(again, map) << text;
    ASSERT_EQ(again.hash(), map.hash()) << text;
    strided += map.is_strided();
    contiguous += map.is_contiguous();
    empty += array.from.empty();
    padded += std::find(array.from.begin(), array.from.end(), kPadding) != array.from.end();
    layered += map.views().size() > 1;
  }
  // The chains must reach all of these, or the checks above prove little.
  EXPECT_GT(strided, chains / 10);
  EXPECT_GT(contiguous, chains / 20);
  EXPECT_GT(empty, chains / 20);
  EXPECT_GT(padded, chains / 10);
  if (with_reshape) {
    EXPECT_GT(layered, chains / 20);
  }
}

TEST(IndexMap, RandomChainsOfMovesShowTheMovedArray) { check_random_chains(true, 1, 20000); }

TEST(IndexMap, RandomChainsWithoutReshapeNeedOneView) { check_random_chains(false, 2, 20000); }

TEST(IndexMap, StartsContiguous) {
  for (const Dims& shape : {Dims{}, Dims{3}, Dims{2, 3}, Dims{0, 3}, Dims{1, 1}}) {
    const IndexMap map(shape);
    EXPECT_TRUE(map.is_contiguous()) << to_string(shape);
    EXPECT_TRUE(map.is_strided()) << to_string(shape);
    EXPECT_EQ(map.shape(), shape);
  }
}

IndexMap map_of(const Dims& shape, std::vector<Move> moves) {
  IndexMap map(shape);
  map.apply(moves);
  return map;
}

TEST(IndexMap, TransposedIsStridedButNotContiguous) {
  const IndexMap map = map_of({2, 3}, {permute({1, 0})});
  EXPECT_TRUE(map.is_strided());
  EXPECT_FALSE(map.is_contiguous());
  EXPECT_EQ(elements(map), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(IndexMap, MovesThatUndoEachOtherLeaveNothing) {
  const IndexMap plain({4, 6});
  EXPECT_EQ(map_of({4, 6}, {permute({1, 0}), permute({1, 0})}), plain);
  EXPECT_EQ(map_of({4, 6}, {flip({0, 1}), flip({1}), flip({0})}), plain);
  EXPECT_EQ(map_of({4, 6}, {pad({1, 2}, {3, 0}), shrink({1, 2}, {4, 6}, {1, 1})}), plain);
  EXPECT_EQ(map_of({4, 6}, {reshape({2, 12}), reshape({24}), reshape({4, 6})}), plain);
}

TEST(IndexMap, ReshapeOfAStridedViewStaysOneViewWhereStridesCanSayIt) {
  EXPECT_TRUE(map_of({4, 6}, {permute({1, 0}), reshape({2, 3, 4})}).is_strided());  // a split
  EXPECT_TRUE(map_of({4, 6}, {shrink({0, 0}, {4, 3}, {1, 2}), reshape({2, 2, 3})}).is_strided());
  EXPECT_TRUE(map_of({2, 3, 4}, {permute({2, 0, 1}), reshape({4, 6})}).is_strided());  // a merge of neighbours
  EXPECT_TRUE(map_of({1, 3}, {expand({5, 3}), reshape({5, 1, 3})}).is_strided());
  EXPECT_TRUE(map_of({1, 1}, {expand({5, 3}), reshape({15})}).is_strided());  // stride 0 all along
  EXPECT_TRUE(map_of({6}, {flip({0}), reshape({2, 3})}).is_strided());
}

TEST(IndexMap, ReshapeThatStridesCannotSayTakesASecondView) {
  EXPECT_FALSE(map_of({4, 6}, {permute({1, 0}), reshape({24})}).is_strided());
  EXPECT_FALSE(map_of({1, 3}, {expand({5, 3}), reshape({15})}).is_strided());
  EXPECT_FALSE(map_of({3}, {pad({1}, {0}), reshape({2, 2})}).is_strided());
}

TEST(IndexMap, WhatIsCutOutOfAPaddedViewAndShowsNoPaddingIsOneView) {
  // Elements 0, 2, 7, 9, 14, 16 of 18: the last row of 7 reaches beyond the end.
  const IndexMap map = map_of({18}, {pad({0}, {3}), reshape({3, 7}), shrink({0, 0}, {3, 2}, {1, 2})});
  ASSERT_TRUE(map.is_strided());
  EXPECT_EQ(map.views()[0].strides, Dims({7, 2}));
  EXPECT_FALSE(map_of({18}, {pad({0}, {3}), reshape({3, 7}), shrink({0, 0}, {3, 3}, {1, 2})}).is_strided());
}

TEST(MovesTo, LeadToWhatTheViewShows) {
  const View views[] = {{{3, 2}, {7, 2}, 0, {}, {}},        // rows of 7 in 18 elements
                        {{2, 3}, {1, 5}, 1, {}, {}},        // the shorter stride first
                        {{3}, {-5}, 12, {}, {}},            // backwards
                        {{4, 3, 1}, {0, 2, 0}, 3, {}, {}},  // expanded
                        {{}, {}, 17, {}, {}}};
  for (const View& view : views) {
    const auto moves = moves_to(view, {3, 6});
    ASSERT_TRUE(moves) << view.offset;
    IndexMap map({3, 6});
    map.apply(*moves);
    ASSERT_TRUE(map.is_strided());
    EXPECT_EQ(map.views()[0], view);
  }
}

TEST(MovesTo, AreNoneWhereAxesDoNotNest) { EXPECT_FALSE(moves_to({{3, 3}, {2, 1}, 0, {}, {}}, {18})); }

TEST(IndexMap, AMergeSkipsAxesOfSizeOne) {
  const IndexMap map = map_of({2, 3}, {reshape({2, 1, 3, 1}), permute({0, 3, 2, 1}), reshape({6})});
  EXPECT_TRUE(map.is_contiguous());
}

TEST(IndexMap, TheFrontOfABufferIsContiguousAndItsBackIsNot) {
  EXPECT_TRUE(map_of({4, 3}, {shrink({0, 0}, {2, 3}, {1, 1})}).is_contiguous());
  EXPECT_FALSE(map_of({4, 3}, {shrink({2, 0}, {2, 3}, {1, 1})}).is_contiguous());
  EXPECT_FALSE(map_of({4, 3}, {shrink({0, 0}, {4, 2}, {1, 1})}).is_contiguous());
}

TEST(IndexMap, PaddingOfPaddingStaysPadding) {
  const IndexMap map = map_of({2}, {pad({1}, {1}), reshape({2, 2}), permute({1, 0}), pad({0, 1}, {0, 0})});
  EXPECT_EQ(elements(map), (std::vector<int64_t>{kPadding, kPadding, 1, kPadding, 0, kPadding}));
}

TEST(IndexMap, NothingPaddedIsAllPadding) {
  EXPECT_EQ(elements(map_of({0}, {pad({2}, {1})})), (std::vector<int64_t>(3, kPadding)));
  EXPECT_EQ(elements(map_of({4}, {shrink({3}, {0}, {1}), pad({1}, {1})})), (std::vector<int64_t>(2, kPadding)));
  EXPECT_EQ(elements(map_of({2, 0}, {reshape({0, 5}), pad({1, 0}, {0, 0})})), (std::vector<int64_t>(5, kPadding)));
}

TEST(IndexMap, LongChainsOfReshapedTransposesStayRight) {
  Array array({2, 3, 4});
  IndexMap map(array.shape);
  for (int i = 0; i < 50; ++i) {
    for (const Move& move : {permute({2, 0, 1}), reshape({2, 3, 4})}) {
      array = moved(array, move);
      map.apply(move);
    }
  }
  EXPECT_EQ(elements(map), array.from);
}

TEST(IndexMap, DifferentViewsHashDifferently) {
  const std::vector<IndexMap> maps{
      IndexMap({4, 4}),
      IndexMap({16}),
      map_of({4, 4}, {permute({1, 0})}),
      map_of({4, 4}, {flip({0})}),
      map_of({4, 4}, {flip({1})}),
      map_of({4, 4}, {pad({1, 0}, {0, 0})}),
      map_of({4, 4}, {pad({0, 0}, {1, 0})}),
      map_of({4, 4}, {permute({1, 0}), reshape({16})}),
  };
  for (size_t i = 0; i < maps.size(); ++i) {
    for (size_t j = 0; j < maps.size(); ++j) {
      EXPECT_EQ(maps[i] == maps[j], i == j);
      EXPECT_EQ(maps[i].hash() == maps[j].hash(), i == j);
    }
  }
}

TEST(IndexMap, PrintsItsViewsFromTheReaderDown) {
  EXPECT_EQ(IndexMap({2, 3}).to_string(), "(2, 3)");
  EXPECT_EQ(map_of({2, 3}, {permute({1, 0})}).to_string(), "(3, 2) strides (1, 3) offset 0");
  EXPECT_EQ(map_of({2, 3}, {permute({1, 0}), reshape({6})}).to_string(), "(6,) over (3, 2) strides (1, 3) offset 0");
  EXPECT_EQ(map_of({3}, {pad({1}, {2})}).to_string(), "(6,) strides (1,) offset -1 valid (1,)..(4,)");
}

// ---- moved_shape ----

struct Refused {
  const char* why;
  Move move;
  Dims shape;
};

void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.why; }

class RefusedMoves : public testing::TestWithParam<Refused> {};

TEST_P(RefusedMoves, AreNamedWithTheShape) {
  const auto& [why, move, shape] = GetParam();
  try {
    const Dims made = moved_shape(move, shape);
    FAIL() << why << ": accepted, giving " << to_string(made);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("[{}] {} does not fit shape {}", name(move.op), to_string(attrs_of(move)), to_string(shape)));
  }
}

INSTANTIATE_TEST_SUITE_P(View, RefusedMoves,
                         testing::Values(Refused{"another count", reshape({5}), {2, 3}},                           //
                                         Refused{"elements of nothing", reshape({1}), {0}},                        //
                                         Refused{"nothing of elements", reshape({0}), {2}},                        //
                                         Refused{"negative sizes whose product fits", reshape({-2, -3}), {2, 3}},  //
                                         Refused{"a negative size of an empty one", reshape({0, -1}), {0}},        //
                                         Refused{"an axis that is not 1", expand({4}), {2}},                       //
                                         Refused{"an empty axis", expand({2}), {0}},                               //
                                         Refused{"another rank", expand({2, 2}), {2}},                             //
                                         Refused{"expanding to a negative size", expand({-1}), {1}},               //
                                         Refused{"too few axes", permute({0}), {2, 3}},                            //
                                         Refused{"too many axes", permute({0, 1, 2}), {2, 3}},                     //
                                         Refused{"an axis twice", permute({1, 1}), {2, 3}},                        //
                                         Refused{"an axis out of range", permute({0, 2}), {2, 3}},                 //
                                         Refused{"a negative axis", permute({0, -1}), {2, 3}},                     //
                                         Refused{"pads of another rank", pad({1}, {1}), {2, 3}},                   //
                                         Refused{"only the pads behind of another rank", pad({1, 1}, {1}), {2, 3}},
                                         Refused{"negative pads before", pad({-1}, {1}), {3}},             //
                                         Refused{"negative pads behind", pad({1}, {-1}), {3}},             //
                                         Refused{"more than there is", shrink({0}, {4}, {1}), {3}},        //
                                         Refused{"a start behind the end", shrink({3}, {1}, {1}), {3}},    //
                                         Refused{"a step beyond the end", shrink({0}, {2}, {3}), {3}},     //
                                         Refused{"a negative start", shrink({-1}, {1}, {1}), {3}},         //
                                         Refused{"a negative size", shrink({0}, {-1}, {1}), {3}},          //
                                         Refused{"no step", shrink({0}, {1}, {0}), {3}},                   //
                                         Refused{"a negative step", shrink({2}, {2}, {-1}), {3}},          //
                                         Refused{"something of nothing", shrink({0}, {1}, {1}), {0}},      //
                                         Refused{"steps of another rank", shrink({0}, {1}, {1, 1}), {3}},  //
                                         Refused{"a flip out of range", flip({2}), {2, 3}},                //
                                         Refused{"a negative flip", flip({-1}), {2, 3}}));

TEST(MovedShape, AcceptsTheBoundaryCases) {
  EXPECT_EQ(moved_shape(reshape({}), {1, 1}), Dims{});
  EXPECT_EQ(moved_shape(reshape({7, 0}), {0}), (Dims{7, 0}));
  EXPECT_EQ(moved_shape(expand({0, 3}), {1, 3}), (Dims{0, 3}));
  EXPECT_EQ(moved_shape(permute({}), {}), Dims{});
  EXPECT_EQ(moved_shape(pad({0}, {0}), {3}), Dims{3});
  EXPECT_EQ(moved_shape(shrink({2}, {1}, {9}), {3}), Dims{1});
  EXPECT_EQ(moved_shape(shrink({0}, {2}, {2}), {3}), Dims{2});
  EXPECT_EQ(moved_shape(shrink({3}, {0}, {1}), {3}), Dims{0});
  EXPECT_EQ(moved_shape(flip({}), {2}), Dims{2});
}

// ---- far away ----

TEST(FarViews, PaddingInFrontOfLongStepsNeedsAViewOfItsOwn) {
  constexpr int64_t kFar = int64_t{1} << 50;
  IndexMap map(Dims{2 * kFar});
  map.apply(shrink({0}, {2}, {kFar}));
  map.apply(pad({kFar}, {0}));
  const auto at = [&](int64_t i) { return map.locate({&i, 1}); };
  EXPECT_EQ(at(0), kPadding);
  EXPECT_EQ(at(kFar - 1), kPadding);
  EXPECT_EQ(at(kFar), 0);
  EXPECT_EQ(at(kFar + 1), kFar);
}

TEST(FarViews, AStepThatIsNeverTakenMayBeOfAnySize) {
  IndexMap map(Dims{5});
  map.apply(shrink({3}, {1}, {INT64_MAX}));
  const int64_t first = 0;
  EXPECT_EQ(map.locate({&first, 1}), 3);
}

TEST(FarViews, AShrinkIsComparedWithoutMultiplying) {
  EXPECT_THROW(moved_shape(shrink({1}, {3}, {INT64_MAX}), {5}), Error);
  EXPECT_THROW(moved_shape(shrink({1}, {INT64_MAX}, {2}), {5}), Error);
  EXPECT_THROW(moved_shape(shrink({INT64_MAX}, {1}, {1}), {5}), Error);
  EXPECT_EQ(moved_shape(shrink({1}, {2}, {3}), {5}), Dims{2});
  EXPECT_THROW(moved_shape(shrink({1}, {2}, {4}), {5}), Error);
}

}  // namespace
}  // namespace tenon::ir
