// What attention does with tiles of scores: packing operands, exponentials, rows.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/backends/cpu/attention/attention.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/tile.h"

// Included once per instruction set: the guard flips.
#if defined(TENON_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_ATTENTION_TILE_INL_H_
#undef TENON_ATTENTION_TILE_INL_H_
#else
#define TENON_ATTENTION_TILE_INL_H_
#endif

#include "hwy/highway.h"
#include "tenon/backends/cpu/attention/product-inl.h"
#include "tenon/backends/cpu/calls/pack-inl.h"
#include "tenon/backends/cpu/tile/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// e^x for scores less their maximum: 0 below the smallest normal number, of no use above 88. NaN runs through. Two
/// thirds of the time of Exp, which serves all x: x / ln 2 = n + f with |f| <= 1/2 in two multiply-adds, whose error
/// grows with |x| as that of the scores does. Adding 1.5 * 2^mantissa leaves n in the low bits, and the bias of
/// exponents on top makes them the exponent of 2^n. Several vectors take every operation together: 11 cycles a vector
/// one after another on a Neoverse V1, 7 by fours.
template <typename D, size_t kCount>
HWY_INLINE void exp_of_scores(D d, hn::Vec<D> (&x)[kCount]) {
  constexpr bool kWide = sizeof(hn::TFromD<D>) == 8;
  constexpr int kMantissa = kWide ? 52 : 23;
  constexpr double kLog2OfE = 1.44269504088896340736, kLn2 = 0.693147180559945309417;
  const auto rounder = hn::Set(d, kWide ? 0x1.8p52 + 1023 : 0x1.8p23 + 127), unit = hn::Set(d, kLog2OfE);
  hn::Vec<D> sum[kCount], y[kCount];
  // Where n is minus the bias, 2^n comes out as 0.
  for_all<kCount>([&](size_t i) HWY_ATTR { x[i] = at_least(d, x[i], kWide ? -709.1 : -88.1); });
  for_all<kCount>([&](size_t i) HWY_ATTR { sum[i] = hn::MulAdd(x[i], unit, rounder); });
  for_all<kCount>([&](size_t i) HWY_ATTR { x[i] = hn::MulAdd(x[i], unit, hn::Sub(rounder, sum[i])); });
  if constexpr (kWide) {  // the series of e^(f ln 2): 13 terms leave 2^-57
    for_all<kCount>([&](size_t i) HWY_ATTR {
      y[i] = horner(d, hn::Mul(x[i], hn::Set(d, kLn2)), 1., 1., 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040,
                    1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800);
    });
  } else {
    exp2_reduced(d, x, y);
  }
  const hn::RebindToSigned<D> di;
  for_all<kCount>([&](size_t i) HWY_ATTR {
    x[i] = hn::Mul(y[i], hn::BitCast(d, hn::ShiftLeft<kMantissa>(hn::BitCast(di, sum[i]))));
  });
}

template <typename D>
HWY_INLINE hn::Vec<D> exp_of_score(D d, hn::Vec<D> x) {
  hn::Vec<D> one[1] = {x};
  exp_of_scores(d, one);
  return one[0];
}

template <typename T>
constexpr int64_t whole_vectors(int64_t n) {
  return (n + kVectorSize<T> - 1) / kVectorSize<T> * kVectorSize<T>;
}

/// to[i] = factor * from[i] for n elements, a whole number of vectors.
template <typename T>
HWY_INLINE void scale_by(const T* from, int64_t n, T factor, T* to) {
  const hn::ScalableTag<T> d;
  for (int64_t i = 0; i < n; i += kVectorSize<T>)
    hn::StoreU(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor)), d, to + i);
}

/// to[i * to_stride + j] = element (row + i, j) of one (batch, head) of a tensor; columns up to to_stride are zero.
template <typename T>
void pack_rows(const Tensor4& from, int64_t batch, int64_t head, int64_t row, int64_t rows, int64_t columns, T* to,
               int64_t to_stride) {
  dispatch(from.dtype, [&]<typename From>() HWY_ATTR {
    if constexpr (!std::is_integral_v<From>) {
      const auto* data = reinterpret_cast<const From*>(from.at(batch, head, row));
      const int64_t stride = from.strides[2];
      if (from.strides[3] != 1) return pack_block(data, stride, from.strides[3], rows, columns, to, to_stride);
      constexpr int64_t kRowsAhead = 16, kLine = 64 / sizeof(From);  // rows of one head are too short to be foreseen
      for (int64_t i = 0; i < rows; ++i) {
        const From* ahead = data + (i + kRowsAhead) * stride;
        for (int64_t j = 0; j < columns && i + kRowsAhead < rows; j += kLine) __builtin_prefetch(ahead + j);
        convert_row(data + i * stride, to + i * to_stride, columns);
      }
    }
  });
  for (int64_t i = 0; i < rows && columns < to_stride; ++i)
    std::fill(to + i * to_stride + columns, to + (i + 1) * to_stride, T(0));
}

/// to[column * to_stride + row] = from[row * from_stride + column]. A vector of rows at a time, which suits tiles: they
/// stay in the cache, where the lines of a large matrix would displace each other.
template <typename T>
void turn_rows(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to, int64_t to_stride) {
  int64_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  constexpr int kSide = kSquareSide<T>;
  for (; row + kVectorSize<T> <= rows; row += kVectorSize<T>) {
    int64_t column = 0;
    for (; column + kSide <= columns; column += kSide) {
      hn::Vec<decltype(d)> v[kSide];
#pragma GCC unroll 4
      for (int i = 0; i < kSide; ++i)
        v[i] = load_blocks(d, from + (row + i) * from_stride + column, kSide * from_stride);
      transpose_blocks(d, v);
#pragma GCC unroll 4
      for (int i = 0; i < kSide; ++i) hn::StoreU(v[i], d, to + (column + i) * to_stride + row);
    }
    transpose_elements(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride,
                       kVectorSize<T>, columns - column);
  }
#endif
  transpose_elements(from + row * from_stride, from_stride, to + row, to_stride, rows - row, columns);
}

/// The same transposed: to[j * to_stride + i]. Rows up to to_stride are zero.
template <typename T>
void pack_columns(const Tensor4& from, int64_t batch, int64_t head, int64_t row, int64_t rows, int64_t columns, T* to,
                  int64_t to_stride) {
  dispatch(from.dtype, [&]<typename From>() HWY_ATTR {
    if constexpr (!std::is_integral_v<From>) {
      const auto* data = reinterpret_cast<const From*>(from.at(batch, head, row));
      if constexpr (std::is_same_v<From, T>) {
        if (from.strides[3] == 1) return turn_rows(data, from.strides[2], rows, columns, to, to_stride);
      }
      pack_block(data, from.strides[3], from.strides[2], columns, rows, to, to_stride);
    }
  });
  for (int64_t j = 0; j < columns && rows < to_stride; ++j)
    std::fill(to + j * to_stride + rows, to + (j + 1) * to_stride, T(0));
}

/// Rows of a result times factor(row), to_stride elements apart, rounded to its dtype. `from` may be changed.
template <typename T, typename F>
void write_rows(T* from, int64_t from_stride, int64_t rows, int64_t columns, DType dtype, std::byte* to,
                int64_t to_stride, F&& factor) {
  dispatch(dtype, [&]<typename To>() HWY_ATTR {
    if constexpr (!std::is_integral_v<To>) {
      for (int64_t i = 0; i < rows; ++i) {
        T* row = from + i * from_stride;
        To* to_row = reinterpret_cast<To*>(to) + i * to_stride;
        int64_t done = 0;
        if constexpr (std::is_same_v<To, T>) {
          done = columns / kVectorSize<T> * kVectorSize<T>;
          scale_by(row, done, factor(i), to_row);
        }
        scale_by(row + done, whole_vectors<T>(columns - done), factor(i), row + done);
        convert_row(row + done, to_row + done, columns - done);
      }
    }
  });
}

/// What the weights of one query and neighbouring keys are multiplied with: 0 or 1 / (1 - dropout).
template <typename T>
void kept_shares(const AttentionRun& run, int64_t batch, int64_t head, int64_t query, int64_t key, int64_t keys,
                 T* to) {
  const auto row = static_cast<uint64_t>((batch * run.heads + head) * run.queries + query);
  alignas(64) uint32_t words[kKeys];
  tile_philox(words, run.seed, run.first_word + row * static_cast<uint64_t>(run.keys) + static_cast<uint64_t>(key),
              static_cast<size_t>(keys));
  const auto dropout = static_cast<float>(run.dropout);
  const T share = static_cast<T>(static_cast<float>(1 / (1 - run.dropout)));
  for (int64_t i = 0; i < keys; ++i) to[i] = static_cast<float>(words[i] >> 8) * 0x1p-24f < dropout ? T(0) : share;
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
