// Reductions: the order that the header states, to the bit, on every instruction set.

#include <limits>
#include <random>

#include "tests/cpu/tile_support.h"

namespace tenon::backends::cpu {
namespace {

using ir::Op;

class TileReductions : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, TileReductions, testing::ValuesIn(target_names()), target_of);

template <typename T>
T join(Op op, T a, T b) {
  if (op == Op::max) return a >= b || a != a ? a : b;
  if constexpr (std::is_floating_point_v<T>) return op == Op::sum ? a + b : a * b;
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return static_cast<T>(op == Op::sum ? x + y : x * y);
}

/// The definition: 16 lanes, then pairs of lanes 8, 4, 2 and 1 apart.
template <typename T>
T reduce(Op op, const std::vector<T>& row) {
  T lanes[kLanes];
  for (T& lane : lanes) {
    lane = op == Op::sum ? T{0} : op == Op::prod ? T{1} : std::numeric_limits<T>::lowest();
    if (op == Op::max && std::is_floating_point_v<T>) lane = -std::numeric_limits<T>::infinity();
  }
  for (size_t j = 0; j < row.size(); ++j) lanes[j % kLanes] = join(op, lanes[j % kLanes], row[j]);
  for (size_t apart : {8, 4, 2, 1}) {
    for (size_t j = 0; j < apart; ++j) lanes[j] = join(op, lanes[j], lanes[j + apart]);
  }
  return lanes[0];
}

/// The result for a row that arrives in chunks, as the tile program delivers it.
template <typename T>
T reduce_by_tiles(Op op, DType dtype, const std::vector<T>& row, size_t chunk) {
  ReduceState state;
  reduce_start(state, op, dtype);
  for (size_t at = 0; at < row.size(); at += chunk) {
    reduce_tile(state, op, dtype, row.data() + at, std::min(chunk, row.size() - at));
  }
  T out;
  reduce_finish(&state, op, dtype, &out);
  return out;
}

template <typename T>
std::vector<T> random_row(size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> row(size);
  for (T& x : row) {
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 8) - 56)) *
          (random() % 2 ? T{1} : T{-1});
    else
      x = static_cast<T>(random());
  }
  return row;
}

template <typename T>
void check(DType dtype) {
  for (Op op : {Op::sum, Op::prod, Op::max}) {
    for (size_t size : {0, 1, 2, 15, 16, 17, 31, 40, 100, 512, 513, 1000, 4099}) {
      if (op == Op::max && size == 0) continue;
      const std::vector<T> row = random_row<T>(size, static_cast<unsigned>(size));
      const T want = reduce(op, row);
      for (size_t chunk : {size_t{16}, size_t{48}, kTile}) {
        const T got = reduce_by_tiles(op, dtype, row, chunk);
        ASSERT_EQ(std::memcmp(&got, &want, sizeof(T)), 0) << text(op, dtype) << " of " << size << " by " << chunk;
      }
    }
  }
}

TEST_P(TileReductions, ReductionsKeepTheStatedOrder) {
  check<float>(DType::f32);
  check<double>(DType::f64);
  check<int32_t>(DType::i32);
  check<int64_t>(DType::i64);
  check<uint8_t>(DType::u8);
}

template <typename T>
void check_rows(DType dtype) {
  for (Op op : {Op::sum, Op::prod, Op::max}) {
    for (size_t size : {0, 1, 3, 16, 17, 100, 128}) {
      if (op == Op::max && size == 0) continue;
      for (size_t rows : {1, 2, 7}) {
        const std::vector<T> tile = random_row<T>(rows * size, static_cast<unsigned>(rows * size));
        std::vector<T> got(rows), want;
        for (size_t row = 0; row < rows; ++row) {
          const auto begin = tile.begin() + static_cast<ptrdiff_t>(row * size);
          want.push_back(
              reduce_by_tiles(op, dtype, std::vector<T>(begin, begin + static_cast<ptrdiff_t>(size)), kTile));
        }
        tile_fold(op, dtype)(got.data(), tile.data(), rows, size);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), rows * sizeof(T)), 0)
            << text(op, dtype) << " of " << rows << " rows of " << size;
      }
    }
  }
}

TEST_P(TileReductions, RowsOfATileAreFoldedLikeRowsAlone) {
  check_rows<float>(DType::f32);
  check_rows<float>(DType::f16);
  check_rows<float>(DType::bf16);
  check_rows<double>(DType::f64);
  check_rows<int32_t>(DType::i32);
  check_rows<int64_t>(DType::i64);
  check_rows<uint8_t>(DType::u8);
}

TEST_P(TileReductions, ReductionsOf16BitDtypesAccumulateInF32AndRoundOnce) {
  const std::vector<float> ones(3000, 1.0f);  // 256 + 1 is 256 in bf16, 2048 + 1 is 2048 in f16
  EXPECT_EQ(reduce_by_tiles(Op::sum, DType::bf16, ones, kTile), 3008.0f);
  EXPECT_EQ(reduce_by_tiles(Op::sum, DType::f16, ones, kTile), 3000.0f);
  const std::vector<float> many(70000, 1.0f);
  EXPECT_EQ(reduce_by_tiles(Op::sum, DType::f16, many, kTile), INFINITY);
}

TEST_P(TileReductions, NanWinsAMaximumWhereverItStands) {
  for (size_t at : {0, 3, 16, 39}) {
    std::vector<float> row = random_row<float>(40, 3);
    row[at] = NAN;
    EXPECT_TRUE(std::isnan(reduce_by_tiles(Op::max, DType::f32, row, kTile))) << at;
  }
}

TEST_P(TileReductions, AnyIsTheMaximumOfBools) {
  std::vector<uint8_t> row(100, 0);
  EXPECT_EQ(reduce_by_tiles(Op::max, DType::boolean, row, kTile), 0);
  row[77] = 1;
  EXPECT_EQ(reduce_by_tiles(Op::max, DType::boolean, row, kTile), 1);
}

TEST_P(TileReductions, ZeroIsLargerThanMinusZero) {
  for (const auto& zeros : {std::vector<float>{-0.0f, 0.0f}, std::vector<float>{0.0f, -0.0f}})
    EXPECT_FALSE(std::signbit(reduce_by_tiles(Op::max, DType::f32, zeros, kTile)));
}

}  // namespace
}  // namespace tenon::backends::cpu
