// Transposition in registers, for the copies of transpose.cpp and the packing of matmul and attention.

#include <cstddef>
#include <cstdint>

// Included once per instruction set: the guard flips.
#if defined(TENON_CALL_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CALL_TRANSPOSE_INL_H_
#undef TENON_CALL_TRANSPOSE_INL_H_
#else
#define TENON_CALL_TRANSPOSE_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// to[column * to_stride + row] = from[row * from_stride + column], one by one.
template <typename T>
HWY_INLINE void transpose_elements(const T* HWY_RESTRICT from, int64_t from_stride, T* HWY_RESTRICT to,
                                   int64_t to_stride, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) to[column * to_stride + row] = from[row * from_stride + column];
  }
}

#if HWY_TARGET == HWY_SCALAR

template <typename T>
HWY_INLINE void transpose_block(const T* HWY_RESTRICT from, int64_t from_stride, T* HWY_RESTRICT to, int64_t to_stride,
                                int64_t rows, int64_t columns) {
  transpose_elements(from, from_stride, to, to_stride, rows, columns);
}

#else

/// Rows, and columns, of a square in a 128-bit block.
template <typename T>
inline constexpr int kSquareSide = 16 / sizeof(T);

/// Transposes the squares that the blocks of so many vectors make up, every block by itself. The loops over the rows
/// must vanish for the rows to live in registers; GCC needs to be told.
///
/// Interleaving the halves of the list of rows rotates the bits of (row, column) by one; as many times as a column has
/// bits exchanges the two.
template <typename D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>* v) {
  constexpr int kSide = kSquareSide<hn::TFromD<D>>;
#pragma GCC unroll 4
  for (int bit = 1; bit < kSide; bit *= 2) {
    hn::Vec<D> next[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, v[i], v[i + kSide / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kSide / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) v[i] = next[i];
  }
}

/// Elements of every 128-bit block of a vector from another place: block b begins at from + b * stride.
template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t stride) {
  constexpr size_t kBlocks = hn::MaxLanes(d) * sizeof(T) / 16;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, from + kBlocks / 2 * stride, stride), load_blocks(half, from, stride));
  }
}

/// A whole block by squares, kAbreast of them side by side; `rows` is a multiple of what these have.
template <int kAbreast, typename T>
void transpose_squares(const T* HWY_RESTRICT from, int64_t from_stride, T* HWY_RESTRICT to, int64_t to_stride,
                       int64_t rows, int64_t columns) {
  constexpr int kSide = kSquareSide<T>;
  const hn::Simd<T, kSide, 0> d;
  using V = hn::Vec<decltype(d)>;
  for (int64_t row = 0; row < rows; row += kAbreast * kSide) {
    int64_t column = 0;
    for (; column + kSide <= columns; column += kSide) {
      V v[kAbreast * kSide];
#pragma GCC unroll 16
      for (int i = 0; i < kAbreast * kSide; ++i) v[i] = hn::LoadU(d, from + (row + i) * from_stride + column);
#pragma GCC unroll 4
      for (int square = 0; square < kAbreast; ++square) transpose_blocks(d, v + square * kSide);
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) {
#pragma GCC unroll 4
        for (int square = 0; square < kAbreast; ++square)
          hn::StoreU(v[square * kSide + i], d, to + (column + i) * to_stride + row + square * kSide);
      }
    }
    transpose_elements(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride,
                       kAbreast * kSide, columns - column);
  }
}

/// The same for any number of rows and columns. What is fast depends on how many rows make a cache line of the target,
/// and was measured on 2048 x 2048: 4 and 1 bytes are best turned in a buffer, a line squared at a time, so that no
/// line is touched twice; for 8 bytes a line's worth of squares fits into registers; for 2 bytes single squares do.
template <typename T>
HWY_INLINE void transpose_block(const T* HWY_RESTRICT from, int64_t from_stride, T* HWY_RESTRICT to, int64_t to_stride,
                                int64_t rows, int64_t columns) {
  constexpr int64_t kLine = 64 / sizeof(T), kSide = kSquareSide<T>;
  if (columns < kSide) return transpose_elements(from, from_stride, to, to_stride, rows, columns);  // not a square
  int64_t row = 0;
  if constexpr (sizeof(T) == 8) {
    row = rows / kLine * kLine;
    transpose_squares<kLine / kSide>(from, from_stride, to, to_stride, row, columns);
  } else if constexpr (sizeof(T) != 2) {
    alignas(64) T buffer[kLine * kLine];
    for (; row + kLine <= rows; row += kLine) {
      int64_t column = 0;
      for (; column + kLine <= columns; column += kLine) {
        transpose_squares<1>(from + row * from_stride + column, from_stride, buffer, kLine, kLine, kLine);
        for (int64_t i = 0; i < kLine; ++i) hwy::CopyBytes<64>(buffer + i * kLine, to + (column + i) * to_stride + row);
      }
      transpose_squares<1>(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride,
                           kLine, columns - column);
    }
  }
  const int64_t whole = (rows - row) / kSide * kSide;
  transpose_squares<1>(from + row * from_stride, from_stride, to + row, to_stride, whole, columns);
  row += whole;
  transpose_elements(from + row * from_stride, from_stride, to + row, to_stride, rows - row, columns);
}

#endif  // HWY_SCALAR

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
