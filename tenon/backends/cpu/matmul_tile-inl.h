// The innermost product: a few rows by a few vectors of the result, held in registers while the inner dimension passes.
//
// Both operands are read along the result: step k of the left one is a run of rows, of the right one a run of columns.
// So S = Q K^T, P V and the rest of attention need no packing beyond one transposition, and matmul packs into panels.

#include <cstdint>

// Included once per instruction set: the guard flips.
#if defined(TENON_MATMUL_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_MATMUL_TILE_INL_H_
#undef TENON_MATMUL_TILE_INL_H_
#else
#define TENON_MATMUL_TILE_INL_H_
#endif

#include "hwy/highway.h"
#include "tenon/backends/cpu/tile_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators fill the registers: 24 of 32, or 12 of 16, leave room for one step of both operands. Wide vectors take
// few of them, so that a panel of the right operand still fits into the first-level cache.
#if HWY_TARGET == HWY_NEON
inline constexpr int kTileRows = 8, kTileVectors = 3;
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
inline constexpr int kTileRows = 12, kTileVectors = 2;
#else
inline constexpr int kTileRows = 6, kTileVectors = 2;
#endif

/// Elements of a vector.
template <typename T>
inline constexpr auto kVectorSize = static_cast<int64_t>(kLanesOf<hn::ScalableTag<T>>);
template <typename T>
inline constexpr int64_t kTileColumns = kVectorSize<T>* kTileVectors;

/// Vectors of the next panel when `left` are to come. Not 3 and then 1: one vector would wait for its own sums.
constexpr int64_t next_panel(int64_t left) {
  return kTileVectors == 3 && left == 4 ? 2 : left < kTileVectors ? left : kTileVectors;
}

/// All lanes of the result are lane `lane` of two or four, a constant once loops are unrolled.
template <typename V>
HWY_INLINE V broadcast_lane(V v, int lane) {
  if constexpr (kLanesOf<hn::DFromV<V>> == 4) {
    if (lane == 2) return hn::Broadcast<2>(v);
    if (lane == 3) return hn::Broadcast<3>(v);
  }
  return lane == 1 ? hn::Broadcast<1>(v) : hn::Broadcast<0>(v);
}

/// c[r][j] = or += sum over k of a[k * a_step + r] * b[k * b_step + j], k ascending, for kRows rows and kVectors
/// vectors. The loops over rows and vectors must vanish for the sums to live in registers; GCC needs to be told.
template <typename T, int kRows, int kVectors>
HWY_NOINLINE void multiply_in_registers(int64_t depth, const T* HWY_RESTRICT a, int64_t a_step, const T* HWY_RESTRICT b,
                                        int64_t b_step, T* HWY_RESTRICT c, int64_t c_step, bool accumulate) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = static_cast<int>(kVectorSize<T>);
  // On ARM a multiply-add can take one lane of a vector: rows are loaded a vector at a time (76 against 65 GFLOP/s).
  constexpr bool kByLanes = HWY_TARGET == HWY_NEON && kRows % kLanes == 0;
  V sums[kRows * kVectors];
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kVectors; ++i) sums[i] = hn::Zero(d);
  if (accumulate) {  // what is added to has left the first-level cache since the block of k before
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + r * c_step + v * kLanes, 1, 3);
    }
  }
  for (int64_t k = 0; k < depth; ++k, a += a_step, b += b_step) {
    V right[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      V left;
      if constexpr (kByLanes)
        left = broadcast_lane(hn::LoadU(d, a + r / kLanes * kLanes), r % kLanes);
      else
        left = hn::Set(d, a[r]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[r * kVectors + v] = hn::MulAdd(left, right[v], sums[r * kVectors + v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + r * c_step + v * kLanes;
      const V sum = sums[r * kVectors + v];
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
    }
  }
}

template <typename T, int kRows>
HWY_INLINE void multiply_rows(int64_t vectors, int64_t depth, const T* a, int64_t a_step, const T* b, int64_t b_step,
                              T* c, int64_t c_step, bool accumulate) {
  if constexpr (kTileVectors == 3) {
    if (vectors == 3) return multiply_in_registers<T, kRows, 3>(depth, a, a_step, b, b_step, c, c_step, accumulate);
  }
  if (vectors == 2) return multiply_in_registers<T, kRows, 2>(depth, a, a_step, b, b_step, c, c_step, accumulate);
  multiply_in_registers<T, kRows, 1>(depth, a, a_step, b, b_step, c, c_step, accumulate);
}

/// Any number of rows up to kTileRows, one panel of `vectors` vectors.
template <typename T>
HWY_INLINE void multiply_panel(int64_t rows, int64_t vectors, int64_t depth, const T* a, int64_t a_step, const T* b,
                               int64_t b_step, T* c, int64_t c_step, bool accumulate) {
  if (rows == kTileRows)
    return multiply_rows<T, kTileRows>(vectors, depth, a, a_step, b, b_step, c, c_step, accumulate);
  int64_t r = 0;
  if constexpr (kTileRows > 8) {
    if (rows >= 8) {
      multiply_rows<T, 8>(vectors, depth, a, a_step, b, b_step, c, c_step, accumulate);
      r += 8;
    }
  }
  if (rows - r >= 4) {
    multiply_rows<T, 4>(vectors, depth, a + r, a_step, b, b_step, c + r * c_step, c_step, accumulate);
    r += 4;
  }
  if (rows - r >= 2) {
    multiply_rows<T, 2>(vectors, depth, a + r, a_step, b, b_step, c + r * c_step, c_step, accumulate);
    r += 2;
  }
  if (rows - r >= 1) multiply_rows<T, 1>(vectors, depth, a + r, a_step, b, b_step, c + r * c_step, c_step, accumulate);
}

/// A whole product of blocks that lie in scratch memory: the rows of b and c are padded to whole vectors.
template <typename T>
HWY_INLINE void multiply_blocks(int64_t rows, int64_t columns, int64_t depth, const T* a, int64_t a_step, const T* b,
                                int64_t b_step, T* c, int64_t c_step, bool accumulate) {
  int64_t left = (columns + kVectorSize<T> - 1) / kVectorSize<T>;
  for (int64_t column = 0; left > 0;) {
    const int64_t vectors = next_panel(left);
    for (int64_t r = 0; r < rows; r += kTileRows) {
      multiply_panel(rows - r < kTileRows ? rows - r : kTileRows, vectors, depth, a + r, a_step, b + column, b_step,
                     c + r * c_step + column, c_step, accumulate);
    }
    left -= vectors;
    column += vectors * kVectorSize<T>;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
