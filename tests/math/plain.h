// An arithmetic of plain numbers, one by one, for tenon/math: of f32 or f64, whose multiply-adds round once or twice.

#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "tenon/math/coefficients.h"

namespace tenon::math {

template <typename T, bool kFuses>
struct Plain {
  static constexpr bool kWide = sizeof(T) == 8;
  static constexpr bool kHasExp2 = false, kIsKernel = false, kHasQuarters = false;

  struct Real {
    T v = 0;
    Real operator-() const { return {-v}; }
    friend Real operator+(Real x, Real y) { return {x.v + y.v}; }
    friend Real operator-(Real x, Real y) { return {x.v - y.v}; }
    friend Real operator*(Real x, Real y) { return {x.v * y.v}; }
    friend Real operator/(Real x, Real y) { return {x.v / y.v}; }
  };
  struct Word {
    uint32_t v = 0;
    friend Word operator+(Word x, Word y) { return {x.v + y.v}; }
    friend Word operator-(Word x, Word y) { return {x.v - y.v}; }
    friend Word operator&(Word x, Word y) { return {x.v & y.v}; }
    friend Word operator|(Word x, Word y) { return {x.v | y.v}; }
    friend Word operator^(Word x, Word y) { return {x.v ^ y.v}; }
  };
  struct Truth {
    bool v = false;
    Truth operator!() const { return {!v}; }
    friend Truth operator&(Truth x, Truth y) { return {x.v && y.v}; }
    friend Truth operator|(Truth x, Truth y) { return {x.v || y.v}; }
    friend Truth operator^(Truth x, Truth y) { return {x.v != y.v}; }
  };

  static Real number(double x) { return {static_cast<T>(x)}; }
  static Real fma(Real x, Real y, Real z) { return {kFuses ? std::fma(x.v, y.v, z.v) : x.v * y.v + z.v}; }
  static Real negative_fma(Real x, Real y, Real z) { return fma(-x, y, z); }
  template <const auto& kTo>
  static Real fma_to(Series<kTo>, Real x, Real y) {
    return fma(x, y, number(kTo));
  }
  template <const auto& kC>
  static Real polynomial(Series<kC>, Real x) {
    Real y = number(kC[std::size(kC) - 1]);
    for (size_t i = std::size(kC) - 1; i-- > 0;) y = fma(y, x, number(kC[i]));
    return y;
  }
  template <const auto& kC>
  static Real polynomial_by_pairs(Series<kC> series, Real x) {
    return polynomial(series, x);
  }
  static Real abs(Real x) { return {std::fabs(x.v)}; }
  static Real floor(Real x) { return {std::floor(x.v)}; }
  static Real copy_sign(Real size, Real sign) { return {std::copysign(size.v, sign.v)}; }
  static Real at_most(Real x, double most) { return x.v > static_cast<T>(most) ? number(most) : x; }
  static Real at_least(Real x, double least) { return x.v < static_cast<T>(least) ? number(least) : x; }
  static Truth less(Real x, Real y) { return {x.v < y.v}; }
  static Truth equal(Real x, Real y) { return {x.v == y.v}; }
  template <typename V>
  static V select(Truth which, V x, V y) {
    return which.v ? x : y;
  }

  // Bits.
  using Bits = std::conditional_t<kWide, uint64_t, uint32_t>;
  static constexpr int kUpper = kWide ? 32 : 0;
  static Word word(uint32_t x) { return {x}; }
  static Word low_bits(Real x) { return {static_cast<uint32_t>(std::bit_cast<Bits>(x.v))}; }
  static Word high_bits(Real x) { return {static_cast<uint32_t>(std::bit_cast<Bits>(x.v) >> kUpper)}; }
  static Real with_low_bits(Real x, Word low) {
    if constexpr (!kWide) return {std::bit_cast<T>(low.v)};
    return {std::bit_cast<T>(static_cast<Bits>(Bits{high_bits(x).v} << kUpper | low.v))};
  }
  static Real with_high_bits(Real x, Word high) {
    if constexpr (!kWide) return {std::bit_cast<T>(high.v)};
    return {std::bit_cast<T>(static_cast<Bits>(Bits{high.v} << kUpper | low_bits(x).v))};
  }
  static Real flipped(Real x, Word bits) { return with_high_bits(x, high_bits(x) ^ bits); }
  static Real power(Word bits) {
    return {std::bit_cast<T>(static_cast<Bits>(Bits{bits.v << (kWide ? 20 : 23)} << kUpper))};
  }
  static Real real(Word x) { return {static_cast<T>(static_cast<int32_t>(x.v))}; }
  static Real real_of_unsigned(Word x) { return {static_cast<T>(x.v)}; }
  static Truth equal(Word x, Word y) { return {x.v == y.v}; }
  static Truth is_below(Word x, Word y) { return {x.v < y.v}; }
  static Truth is_odd(Word x) { return {(x.v & 1) != 0}; }
  template <int kBy>
  static Word shl(By<kBy>, Word x) {
    return {x.v << kBy};
  }
  template <int kBy>
  static Word shr(By<kBy>, Word x) {
    return {x.v >> kBy};
  }
  template <int kBy>
  static Word sar(By<kBy>, Word x) {
    return {static_cast<uint32_t>(static_cast<int32_t>(x.v) >> kBy)};
  }
  static Word shl_by(Word x, Word by) { return {x.v << by.v}; }
  static Word shr_by(Word x, Word by) { return {x.v >> by.v}; }
  static Word product(Word x, Word y) { return {x.v * y.v}; }
  static Word upper_product(Word x, Word y) { return {static_cast<uint32_t>(uint64_t{x.v} * y.v >> 32)}; }
  static Word third(Word x) { return {x.v / 3}; }

  // Control.
  template <typename F>
  static void unless(Truth condition, Word& word, Real& real, F&& otherwise) {
    if (!condition.v) otherwise(word, real);
  }
  template <typename F>
  static Real repeat(Word count, Real value, F&& step) {
    for (uint32_t i = 0; i < count.v; ++i) value = step(value, Word{i});
    return value;
  }
};

#define TENON_MATH_INLINE inline
#include "tenon/math/functions-inl.h"
#undef TENON_MATH_INLINE

}  // namespace tenon::math
