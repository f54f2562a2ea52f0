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
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators fill the registers: 24 of 32, or 12 of 16, leave room for one step of both operands. Six rows, because
// the addresses of more do not fit into the registers of x86: 12 x 2 vectors read three of them from memory at every
// step, and reached 157 GFLOP/s where 6 x 4 reaches 167.
#if HWY_TARGET == HWY_NEON
inline constexpr int kTileRows = 8, kTileVectors = 3;
#elif HWY_TARGET == HWY_AVX3
inline constexpr int kTileRows = 6, kTileVectors = 4;
#else
inline constexpr int kTileRows = 6, kTileVectors = 2;
#endif

// Steps of the right operand that are fetched ahead from the second-level cache, where vectors are whole lines: 160
// GFLOP/s without, 167 with it.
inline constexpr int64_t kStepsAhead = HWY_TARGET == HWY_AVX3 ? 8 : 0;

/// Elements of a vector.
template <typename T>
inline constexpr auto kVectorSize = static_cast<int64_t>(kLanesOf<hn::ScalableTag<T>>);
template <typename T>
inline constexpr int64_t kTileColumns = kVectorSize<T>* kTileVectors;

/// Vectors of the next panel when `left` are to come. Not all but one: a single vector would wait for its own sums.
constexpr int64_t next_panel(int64_t left) {
  if (kTileVectors > 2 && left == kTileVectors + 1) return kTileVectors - 1;
  return left < kTileVectors ? left : kTileVectors;
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

/// c[r][j] = or += sum over k of a[r * a_row + k * a_step] * b[k * b_step + j], k ascending, for kRows rows and
/// kVectors vectors; a_row is 1 where rows are adjacent. The loops over rows and vectors must vanish for the sums to
/// live in registers; GCC needs to be told.
template <typename T, int kRows, int kVectors, bool kAdjacent>
HWY_NOINLINE void multiply_in_registers(int64_t depth, const T* HWY_RESTRICT a, int64_t a_row, int64_t a_step,
                                        const T* HWY_RESTRICT b, int64_t b_step, T* HWY_RESTRICT c, int64_t c_step,
                                        bool accumulate) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = static_cast<int>(kVectorSize<T>);
  // On ARM a multiply-add can take one lane of a vector: rows are loaded a vector at a time (76 against 65 GFLOP/s).
  constexpr bool kByLanes = HWY_TARGET == HWY_NEON && kAdjacent && kRows % kLanes == 0;
  V sums[kRows * kVectors];
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kVectors; ++i) sums[i] = hn::Zero(d);
  if (accumulate) {  // what is added to has left the first-level cache since the block of k before
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + r * c_step + v * kLanes, 1, 3);
    }
  }
  for (int64_t k = 0; k < depth; ++k, a += a_step, b += b_step) {
    V right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      right[v] = hn::LoadU(d, b + v * kLanes);
      if constexpr (kStepsAhead > 0) __builtin_prefetch(b + kStepsAhead * b_step + v * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      V left;
      if constexpr (kByLanes)
        left = broadcast_lane(hn::LoadU(d, a + r / kLanes * kLanes), r % kLanes);
      else
        left = hn::Set(d, a[kAdjacent ? r : r * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r * kVectors + v] = hn::MulAdd(left, right[v], sums[r * kVectors + v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + r * c_step + v * kLanes;
      const V sum = sums[r * kVectors + v];
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
    }
  }
}

/// Any number of rows up to kTileRows, one panel of `vectors` vectors.
template <typename T, bool kAdjacent>
HWY_INLINE void multiply_panel(int64_t rows, int64_t vectors, int64_t depth, const T* a, int64_t a_row, int64_t a_step,
                               const T* b, int64_t b_step, T* c, int64_t c_step, bool accumulate) {
  const auto some = [&]<int kRows>(int64_t r) HWY_ATTR {
    const auto run = [&]<int kVectors>() HWY_ATTR {
      multiply_in_registers<T, kRows, kVectors, kAdjacent>(depth, a + r * a_row, a_row, a_step, b, b_step,
                                                           c + r * c_step, c_step, accumulate);
    };
    if constexpr (kTileVectors > 3) {
      if (vectors == 4) return run.template operator()<4>();
    }
    if constexpr (kTileVectors > 2) {
      if (vectors == 3) return run.template operator()<3>();
    }
    if (vectors == 2) return run.template operator()<2>();
    run.template operator()<1>();
  };
  if (rows == kTileRows) return some.template operator()<kTileRows>(0);
  int64_t r = 0;
  if (rows >= 4) some.template operator()<4>(0), r = 4;
  if (rows - r >= 2) some.template operator()<2>(r), r += 2;
  if (rows - r >= 1) some.template operator()<1>(r);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
