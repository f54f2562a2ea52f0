// Products of attention's tiles, of which causality hides half where a tile lies on the diagonal.
//
// A tile's product is computed kTileRows rows at a time, and every such block leaves out the columns or the steps that
// its rows do not see. The order in which an element is summed up stays the same.

#include <algorithm>
#include <cstdint>

// Included once per instruction set: the guard flips.
#if defined(TENON_ATTENTION_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_ATTENTION_PRODUCT_INL_H_
#undef TENON_ATTENTION_PRODUCT_INL_H_
#else
#define TENON_ATTENTION_PRODUCT_INL_H_
#endif

#include "hwy/highway.h"
#include "tenon/backends/cpu/matmul/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What a block of rows needs of a product: everything, or only columns or steps from its first row on, or up to its
/// last.
enum class Reach : uint8_t { all, columns_from_row, columns_to_row, steps_from_row, steps_to_row };

/// How the left operand lies: a step of the product is a run of rows, or a row a run of steps.
enum class Left : uint8_t { by_steps, by_rows };

/// Behind the last row of the block that `row` belongs to.
constexpr int64_t block_end(int64_t row) { return (row / kTileRows + 1) * kTileRows; }

#if HWY_TARGET == HWY_NEON

/// c[r][j] = or += sum over k of a[r * a_row + k] * b[k * b_step + j], k ascending, for whole vectors of steps. A
/// multiply-add takes its left factor from any lane of a vector, so that rows are loaded as they lie. The loops over
/// rows, lanes and vectors must vanish; GCC needs to be told.
template <typename T, int kRows, int kVectors>
HWY_NOINLINE void multiply_rows_in_registers(int64_t depth, const T* HWY_RESTRICT a, int64_t a_row,
                                             const T* HWY_RESTRICT b, int64_t b_step, T* HWY_RESTRICT c, int64_t c_step,
                                             bool accumulate) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = static_cast<int>(kVectorSize<T>);
  V sums[kRows * kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectors; ++i) sums[i] = hn::Zero(d);
  for (; depth > 0; depth -= kLanes, a += kLanes) {
    V rows[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) rows[r] = hn::LoadU(d, a + r * a_row);
#pragma GCC unroll 4
    for (int lane = 0; lane < kLanes; ++lane, b += b_step) {
      V right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sums[r * kVectors + v] = hn::MulAdd(broadcast_lane(rows[r], lane), right[v], sums[r * kVectors + v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + r * c_step + v * kLanes;
      const V sum = sums[r * kVectors + v];
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
    }
  }
}

/// Two vectors abreast leave registers for the rows and divide all usual widths. They are quicker than three by steps
/// too: 75 against 71 GFLOP/s for a tile of 64 x 64.
constexpr int64_t next_vectors(int64_t left) { return std::min<int64_t>(left, 2); }

template <typename T>
HWY_INLINE void multiply_panel_by_rows(int64_t rows, int64_t vectors, int64_t depth, const T* a, int64_t a_row,
                                       const T* b, int64_t b_step, T* c, int64_t c_step, bool accumulate) {
  const int64_t whole = depth / kVectorSize<T> * kVectorSize<T>;
  const auto some = [&]<int kRows>(int64_t r) HWY_ATTR {
    const auto multiply =
        vectors == 2 ? multiply_rows_in_registers<T, kRows, 2> : multiply_rows_in_registers<T, kRows, 1>;
    multiply(whole, a + r * a_row, a_row, b, b_step, c + r * c_step, c_step, accumulate);
  };
  int64_t r = 0;
  if (rows == kTileRows) some.template operator()<kTileRows>(0), r = kTileRows;
  if (rows - r >= 4) some.template operator()<4>(r), r += 4;
  if (rows - r >= 2) some.template operator()<2>(r), r += 2;
  if (rows - r >= 1) some.template operator()<1>(r);
  if (whole == depth) return;
  multiply_panel<T, false>(rows, vectors, depth - whole, a + whole, a_row, 1, b + whole * b_step, b_step, c, c_step,
                           true);
}

#else

constexpr int64_t next_vectors(int64_t left) { return next_panel(left); }

template <typename T>
HWY_INLINE void multiply_panel_by_rows(int64_t rows, int64_t vectors, int64_t depth, const T* a, int64_t a_row,
                                       const T* b, int64_t b_step, T* c, int64_t c_step, bool accumulate) {
  multiply_panel<T, false>(rows, vectors, depth, a, a_row, 1, b, b_step, c, c_step, accumulate);
}

#endif

/// c = or += a b of blocks that lie in scratch memory: the rows of b and c are padded to whole vectors. `a_stride`
/// leads to the next step of a, or to its next row.
template <Left kLeft, typename T>
void multiply_tile(Reach reach, int64_t rows, int64_t columns, int64_t depth, const T* a, int64_t a_stride, const T* b,
                   int64_t b_step, T* c, int64_t c_step, bool accumulate) {
  for (int64_t row = 0; row < rows; row += kTileRows) {
    const int64_t height = std::min<int64_t>(kTileRows, rows - row), end = row + height;
    int64_t column = 0, last_column = columns, step = 0, last_step = depth;
    if (reach == Reach::columns_from_row) column = row / kVectorSize<T> * kVectorSize<T>;
    if (reach == Reach::columns_to_row) last_column = std::min(columns, end);
    if (reach == Reach::steps_from_row) step = std::min(row, depth);
    if (reach == Reach::steps_to_row) last_step = std::min(depth, end);
    int64_t left = (last_column - column + kVectorSize<T> - 1) / kVectorSize<T>;
    while (left > 0) {
      const int64_t vectors = next_vectors(left), steps = last_step - step;
      const T* right = b + step * b_step + column;
      T* to = c + row * c_step + column;
      if constexpr (kLeft == Left::by_steps)
        multiply_panel<T, true>(height, vectors, steps, a + row + step * a_stride, 1, a_stride, right, b_step, to,
                                c_step, accumulate);
      else
        multiply_panel_by_rows<T>(height, vectors, steps, a + row * a_stride + step, a_stride, right, b_step, to,
                                  c_step, accumulate);
      left -= vectors;
      column += vectors * kVectorSize<T>;
    }
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
