// Our own f32 functions: at most 2 units in the last place from the true value, the limits exact.
//
// Range reduction and a polynomial each, in one straight line without branches, so that several vectors can take every
// step together. All coefficients are Sollya's fpminimax on the reduced interval, for floats; relative errors stand
// beside them as powers of two. Everything holds without fused multiply-add too (SSE4): products that must be exact are
// made of short factors. NaN runs through the arithmetic.

#if defined(TENON_BACKENDS_CPU_TILE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKENDS_CPU_TILE_MATH_INL_H_
#undef TENON_BACKENDS_CPU_TILE_MATH_INL_H_
#else
#define TENON_BACKENDS_CPU_TILE_MATH_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using Floats = hn::Vec<F32>;
using Ints = hn::Vec<I32>;

// ln 2 in two parts; the first has 15 bits, so that its product with an exponent is exact.
inline constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f, kLog2E = 0x1.715476p0f;

/// f(0), ... f(kCount - 1).
template <size_t kCount, class F>
HWY_INLINE void for_all(F&& f) {
#pragma GCC unroll 8
  for (size_t i = 0; i < kCount; ++i) f(i);
}

/// A function for several vectors, run_all, applied to one.
template <class F>
struct OfSeveral {
  static HWY_INLINE Floats run(F32 d, Floats x) {
    Floats one[1] = {x};
    F::run_all(d, one);
    return one[0];
  }
};

/// c0 + x (c1 + x (c2 + ...)).
template <class D, class V>
HWY_INLINE V horner(D d, V, hn::TFromD<D> last) {
  return hn::Set(d, last);
}
template <class D, class V, typename... Rest>
HWY_INLINE V horner(D d, V x, hn::TFromD<D> first, Rest... rest) {
  return hn::MulAdd(horner(d, x, rest...), x, hn::Set(d, first));
}

/// A coefficient as a whole vector. ARM's multiply-add overwrites what it adds to: with a copy of a coefficient that
/// stays in a register it takes 0.93 cycles of a Neoverse V1, with one that is loaded anew 0.5.
struct alignas(16) Coefficient {
  float lanes[4];
  constexpr Coefficient(float c) : lanes{c, c, c, c} {}  // NOLINT: so that tables are lists of numbers
};
HWY_INLINE Floats addend([[maybe_unused]] F32 d, const Coefficient& c) {
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  float32x4_t loaded;
  asm volatile("ldr %q0, %1" : "=w"(loaded) : "m"(c));
  return Floats(loaded);
#else
  return hn::Set(d, c.lanes[0]);
#endif
}

inline constexpr Coefficient kOne = 1.0f;

/// horner for several vectors.
template <size_t kCount, size_t kTerms>
HWY_INLINE void horner_all(F32 d, const Floats (&x)[kCount], const Coefficient (&c)[kTerms], Floats (&y)[kCount]) {
  for_all<kCount>([&](size_t i) HWY_ATTR {
    y[i] = hn::MulAdd(x[i], hn::Set(d, c[kTerms - 1].lanes[0]), addend(d, c[kTerms - 2]));
  });
#pragma GCC unroll 8
  for (size_t k = 2; k < kTerms; ++k)
    for_all<kCount>([&](size_t i) HWY_ATTR { y[i] = hn::MulAdd(y[i], x[i], addend(d, c[kTerms - 1 - k])); });
}

/// The same of an even number of terms, on ARM two by two: fewer operations wait for each other, and fewer have to load
/// what they add to. Elsewhere it is a pair that would need a copy, of x.
template <size_t kCount, size_t kTerms>
HWY_INLINE void horner_by_pairs(F32 d, const Floats (&x)[kCount], const Coefficient (&c)[kTerms], Floats (&y)[kCount]) {
  static_assert(kTerms % 2 == 0);
  if constexpr (HWY_TARGET != HWY_NEON) return horner_all(d, x, c, y);
  Floats square[kCount];
  const auto pair = [&](size_t i, size_t k)
                        HWY_ATTR { return hn::MulAdd(x[i], hn::Set(d, c[k + 1].lanes[0]), addend(d, c[k])); };
  for_all<kCount>([&](size_t i) HWY_ATTR { square[i] = hn::Mul(x[i], x[i]); });
  for_all<kCount>([&](size_t i) HWY_ATTR { y[i] = pair(i, kTerms - 2); });
#pragma GCC unroll 4
  for (size_t k = 4; k <= kTerms; k += 2)
    for_all<kCount>([&](size_t i) HWY_ATTR { y[i] = hn::MulAdd(y[i], square[i], pair(i, kTerms - k)); });
}

/// min(x, most) and max(x, least) that let NaN through. The instructions of x86 return their second operand then; ARM
/// has one that keeps NaN and one that drops it, and Highway takes the latter.
inline constexpr bool kNanIsSecond = HWY_ARCH_X86 && !kEmulated;
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
HWY_INLINE Floats at_most(F32 d, Floats x, float most) { return Floats(vminq_f32(x.raw, hn::Set(d, most).raw)); }
HWY_INLINE Floats at_least(F32 d, Floats x, float least) { return Floats(vmaxq_f32(x.raw, hn::Set(d, least).raw)); }
#endif
template <class D, class V>
HWY_INLINE V at_most(D d, V x, hn::TFromD<D> most) {
  if constexpr (kNanIsSecond) return hn::Min(hn::Set(d, most), x);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, most)), hn::Set(d, most), x);
}
template <class D, class V>
HWY_INLINE V at_least(D d, V x, hn::TFromD<D> least) {
  if constexpr (kNanIsSecond) return hn::Max(hn::Set(d, least), x);
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, least)), hn::Set(d, least), x);
}

/// The nearest whole number of |x| < 2^21. Adding 1.5 * 2^23 leaves it in the low bits of the sum: `bits` holds it plus
/// kBias, and above that bits without meaning, which a shift by 23 throws out.
template <int kBias>
HWY_INLINE Floats nearest(F32 d, Floats x, Ints& bits) {
  const Floats rounder = hn::Set(d, 0x1.8p23f + kBias);
  const Floats sum = hn::Add(x, rounder);
  bits = hn::BitCast(I32(), sum);
  return hn::Sub(sum, rounder);
}
/// The same of x * scale.
template <int kBias>
HWY_INLINE Floats nearest(F32 d, Floats x, Floats scale, Ints& bits) {
  const Floats rounder = hn::Set(d, 0x1.8p23f + kBias);
  const Floats sum = hn::MulAdd(x, scale, rounder);
  bits = hn::BitCast(I32(), sum);
  return hn::Sub(sum, rounder);
}

/// x - whole * ln 2.
HWY_INLINE Floats without_ln2(F32 d, Floats x, Floats whole) {
  return hn::NegMulAdd(whole, hn::Set(d, kLn2Low), hn::NegMulAdd(whole, hn::Set(d, kLn2High), x));
}

/// x * 2^(exponent - 254) in two steps of half the size, because 2^-149 and 2^128 are no exponents of one factor.
HWY_INLINE Floats scale_twice(F32 d, Floats x, Ints exponent) {
  const Ints half = hn::ShiftRight<1>(exponent);
  const auto first = hn::BitCast(d, hn::ShiftLeft<23>(half));
  const auto second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(exponent, half)));
  return hn::Mul(hn::Mul(x, first), second);
}

/// y = e^r - 1 for |r| <= ln 2 / 2.
inline constexpr Coefficient kExpm1Series[] = {0.4999999701976776f, 0.16666541993618011f, 4.1667494922876358e-2f,
                                               8.3667254075407982e-3f, 1.3865485088899732e-3f};  // 2^-26
template <size_t kCount>
HWY_INLINE void expm1_reduced(F32 d, const Floats (&r)[kCount], Floats (&y)[kCount]) {
  horner_all(d, r, kExpm1Series, y);
  for_all<kCount>([&](size_t i) HWY_ATTR { y[i] = hn::MulAdd(hn::Mul(r[i], r[i]), y[i], r[i]); });
}

/// y = 2^r for |r| <= 1/2.
inline constexpr Coefficient kExp2Series[] = {0.69314718246459961f,   0.24022644758224487f,   5.5503584444522858e-2f,
                                              9.6188290044665337e-3f, 1.3391473330557346e-3f, 1.5243396046571434e-4f};
template <size_t kCount>
HWY_INLINE void exp2_reduced(F32 d, const Floats (&r)[kCount], Floats (&y)[kCount]) {  // 2^-28
  horner_by_pairs(d, r, kExp2Series, y);
  for_all<kCount>([&](size_t i) HWY_ATTR { y[i] = hn::MulAdd(y[i], r[i], addend(d, kOne)); });
}

// Only x from below and the exponent from above have to be bounded: the polynomial of a large r is large. Several
// vectors take every operation together, because the one behind it waits for it: 16 cycles a vector on a Xeon one after
// another, of which 9 are work.
struct Exp : OfSeveral<Exp> {
  static constexpr Coefficient kSeries[] = {1.0f,
                                            1.0f,
                                            0.49999991059303284f,
                                            0.16666519641876221f,
                                            4.1668955236673355e-2f,
                                            8.3688516169786453e-3f,
                                            1.3783585745841265e-3f};  // 2^-28
  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    const Floats rounder = hn::Set(d, 0x1.8p23f + 254), most = hn::Set(d, 0x1.8p23f + 254 + 128);
    Floats sum[kCount], y[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR { x[i] = at_least(d, x[i], -105.0f); });
    for_all<kCount>([&](size_t i) HWY_ATTR { sum[i] = hn::Min(most, hn::MulAdd(x[i], hn::Set(d, kLog2E), rounder)); });
    for_all<kCount>([&](size_t i) HWY_ATTR { x[i] = without_ln2(d, x[i], hn::Sub(sum[i], rounder)); });
    horner_all(d, x, kSeries, y);
    for_all<kCount>([&](size_t i) HWY_ATTR { x[i] = scale_twice(d, y[i], hn::BitCast(I32(), sum[i])); });
  }
};

// Computed at half its size, because 2^128 is no exponent; where that would be subnormal, e^x - 1 is x.
struct Expm1 : OfSeveral<Expm1> {
  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    Floats power[kCount], r[kCount], y[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats bounded = at_least(d, at_most(d, x[i], 89.0f), -20.0f);
      Ints bits;
      r[i] = without_ln2(d, bounded, nearest<126>(d, bounded, hn::Set(d, kLog2E), bits));
      power[i] = hn::BitCast(d, hn::ShiftLeft<23>(bits));
    });
    expm1_reduced(d, r, y);
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats half = hn::MulAdd(power[i], y[i], hn::Sub(power[i], hn::Set(d, 0.5f)));
      x[i] = hn::IfThenElse(hn::Lt(hn::Abs(x[i]), hn::Set(d, 0x1p-30f)), x[i], hn::Add(half, half));
    });
  }
};

// Below 0.55, where tanh is 1/2, an odd polynomial; above, 1 - 1 / (e^(2|x|) / 2 + 1/2). 1 from 9.02 on. The
// exponential is Exp's, but of 2 r, and by pairs of terms.
struct Tanh : OfSeveral<Tanh> {
  static constexpr Coefficient kNear[] = {-0.3333294689655304f, 0.1332072913646698f, -5.2672013640403748e-2f,
                                          1.6437891870737076e-2f};  // 2^-24.7
  static constexpr Coefficient kFar[] = {2.0f,
                                         4 * 0.49999991059303284f,
                                         8 * 0.16666519641876221f,
                                         16 * 4.1668955236673355e-2f,
                                         32 * 8.3688516169786453e-3f,
                                         64 * 1.3783585745841265e-3f};
  static constexpr Coefficient kHalf = 0.5f, kRounder = 0x1.8p23f + 126;

  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    const Floats rounder = hn::Set(d, 0x1.8p23f + 126), one = hn::Set(d, 1.0f);
    Floats magnitude[kCount], sum[kCount], r[kCount], far[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR { magnitude[i] = at_most(d, hn::Abs(x[i]), 9.25f); });
    for_all<kCount>([&](size_t i)
                        HWY_ATTR { sum[i] = hn::MulAdd(magnitude[i], hn::Set(d, 2 * kLog2E), addend(d, kRounder)); });
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats whole = hn::Sub(rounder, sum[i]);
      r[i] = hn::MulAdd(whole, hn::Set(d, kLn2High / 2), magnitude[i]);
      r[i] = hn::MulAdd(whole, hn::Set(d, kLn2Low / 2), r[i]);
    });
    horner_by_pairs(d, r, kFar, far);
    for_all<kCount>([&](size_t i) HWY_ATTR { far[i] = hn::MulAdd(far[i], r[i], addend(d, kOne)); });
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(I32(), sum[i])));
      far[i] = hn::Div(one, hn::MulAdd(power, far[i], addend(d, kHalf)));
    });
    Floats square[kCount], near[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR { square[i] = hn::Mul(magnitude[i], magnitude[i]); });
    horner_all(d, square, kNear, near);
    for_all<kCount>([&](size_t i) HWY_ATTR {
      near[i] = hn::MulAdd(hn::Mul(square[i], magnitude[i]), near[i], magnitude[i]);
      const auto is_near = hn::Lt(magnitude[i], hn::Set(d, 0.55f));
      x[i] = hn::CopySign(hn::IfThenElse(is_near, near[i], hn::Sub(one, far[i])), x[i]);
    });
  }
};

// s = 1 / (1 + e^|x|), or 1 - s for positive x. With e^|x| = 2^k + 2^k (e^r - 1) the sum is rounded once: 1 + 2^k is
// exact up to k = 23, and from there on what it loses goes to the smaller summand. All of it is computed at 2^-64 of
// its size, because s may be subnormal.
struct Sigmoid : OfSeveral<Sigmoid> {
  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    const Floats unit = hn::Set(d, 0x1p-64f);
    Floats power[kCount], r[kCount], y[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats magnitude = at_most(d, hn::Abs(x[i]), 105.0f);
      Ints bits;
      r[i] = without_ln2(d, magnitude, nearest<127 - 64>(d, magnitude, hn::Set(d, kLog2E), bits));
      power[i] = hn::BitCast(d, hn::ShiftLeft<23>(bits));
    });
    expm1_reduced(d, r, y);
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats sum = hn::Add(power[i], unit), lost = hn::Sub(unit, hn::Sub(sum, power[i]));
      const Floats s = hn::Div(unit, hn::Add(sum, hn::MulAdd(power[i], y[i], lost)));
      x[i] = hn::IfThenElse(hn::Lt(x[i], hn::Zero(d)), s, hn::Sub(hn::Set(d, 1.0f), s));
    });
  }
};

/// The k of x = m 2^k with sqrt(1/2) <= m < sqrt(2), and m; for positive normal x.
HWY_INLINE Ints binary_exponent(F32 d, Floats x, Floats& mantissa) {
  const I32 di;
  const hn::RebindToUnsigned<F32> du;  // any bits may come, and differences wrap
  const auto bits = hn::BitCast(du, x);
  const Ints exponent = hn::ShiftRight<23>(hn::BitCast(di, hn::Sub(bits, hn::Set(du, 0x3F3504F3u))));
  mantissa = hn::BitCast(d, hn::Sub(bits, hn::BitCast(du, hn::ShiftLeft<23>(exponent))));
  return exponent;
}

/// The same as floats, also for subnormal x.
HWY_INLINE Floats split_binary(F32 d, Floats x, Floats& exponent) {
  const auto is_subnormal = hn::Lt(x, hn::Set(d, 0x1p-126f));
  Floats mantissa;
  const Ints whole = binary_exponent(d, hn::IfThenElse(is_subnormal, hn::Mul(x, hn::Set(d, 0x1p23f)), x), mantissa);
  exponent = hn::Sub(hn::ConvertTo(d, whole), hn::IfThenElseZero(is_subnormal, hn::Set(d, 23.0f)));
  return mantissa;
}

/// log(1 + f) + exponent * ln 2 for sqrt(1/2) <= 1 + f < sqrt(2).
HWY_INLINE Floats log_reduced(F32 d, Floats f, Floats exponent) {  // 2^-26.9
  const Floats square = hn::Mul(f, f);
  const Floats tail =
      horner(d, f, 0.33333373069763184f, -0.25000840425491333f, 0.19998989999294281f, -0.16621206700801849f,
             0.14238907396793365f, -0.13212355971336365f, 0.12565891444683075f, -7.286024093627930e-2f);
  Floats y = hn::Mul(hn::Mul(square, f), tail);
  y = hn::MulAdd(exponent, hn::Set(d, kLn2Low), y);
  y = hn::NegMulAdd(square, hn::Set(d, 0.5f), y);
  return hn::MulAdd(exponent, hn::Set(d, kLn2High), hn::Add(f, y));
}

/// -inf for 0, NaN for what is below: what log gives where it has no value.
HWY_INLINE Floats log_of_nothing(F32 d, Floats x) {
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(hn::Inf(d)), hn::NaN(d));
}

struct Log {
  static HWY_INLINE Floats run(F32 d, Floats x) {
    Floats exponent;
    const Floats mantissa = split_binary(d, x, exponent);
    const Floats y = log_reduced(d, hn::Sub(mantissa, hn::Set(d, 1.0f)), exponent);
    const Floats positive = hn::IfThenElse(hn::Lt(x, hn::Inf(d)), y, x);
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, log_of_nothing(d, x));
  }
};

// The exponent is added last, so that powers of two come out exact.
struct Log2 {
  static HWY_INLINE Floats run(F32 d, Floats x) {
    Floats exponent;
    const Floats mantissa = split_binary(d, x, exponent);
    const Floats natural = log_reduced(d, hn::Sub(mantissa, hn::Set(d, 1.0f)), hn::Zero(d));
    const Floats y = hn::MulAdd(natural, hn::Set(d, 1.44269504088896341f), exponent);
    const Floats positive = hn::IfThenElse(hn::Lt(x, hn::Inf(d)), y, x);
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, log_of_nothing(d, x));
  }
};

// 1 + x = (1 + f) 2^k, where f = x / 2^k + (1 / 2^k - 1) is made from x itself and so keeps the bits that 1 + x loses.
// From 2^24 on there are none to keep.
struct Log1p {
  static HWY_INLINE Floats run(F32 d, Floats x) {
    const I32 di;
    const Floats one = hn::Set(d, 1.0f);
    const Floats sum = hn::Add(one, x);
    Floats mantissa;
    const Ints whole = binary_exponent(d, sum, mantissa);
    const Floats power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(hn::Set(di, 127), whole)));
    const Floats f = hn::IfThenElse(hn::Lt(x, hn::Set(d, 0x1p24f)), hn::MulAdd(x, power, hn::Sub(power, one)),
                                    hn::Sub(mantissa, one));
    const Floats y = hn::CopySign(log_reduced(d, f, hn::ConvertTo(d, whole)), x);
    const Floats positive = hn::IfThenElse(hn::Lt(x, hn::Inf(d)), y, x);
    return hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), positive, log_of_nothing(d, sum));
  }
};

// Below 0.8125 an odd polynomial; above, 1 - 2^q with q a polynomial for log2(erfc |x|). 1 from 3.92 on.
struct Erf : OfSeveral<Erf> {
  static constexpr Coefficient kNear[] = {0.12837916612625122f,   -0.37612605094909668f,
                                          0.11283110827207565f,   -2.681955136358738e-2f,
                                          5.0813956186175346e-3f, -6.5043533686548471e-4f};  // 2^-27.9
  static constexpr Coefficient kLog[] = {2.0900071831420064e-4f, -1.6293321847915649f,   -0.91417056322097778f,
                                         -0.15571297705173492f,  3.5906754434108734e-2f, -5.8882478624582291e-3f,
                                         5.9955607866868377e-4f, -2.8034375645802356e-5f};  // 2^-32 in the result

  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    const Floats rounder = hn::Set(d, 0x1.8p23f + 127);
    Floats magnitude[kCount], q[kCount], sum[kCount], far[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR { magnitude[i] = at_most(d, hn::Abs(x[i]), 4.0f); });
    horner_by_pairs(d, magnitude, kLog, q);
    for_all<kCount>([&](size_t i) HWY_ATTR { sum[i] = hn::Add(q[i], rounder); });
    for_all<kCount>([&](size_t i) HWY_ATTR { q[i] = hn::Add(q[i], hn::Sub(rounder, sum[i])); });
    exp2_reduced(d, q, far);
    for_all<kCount>([&](size_t i) HWY_ATTR {
      const Floats power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(I32(), sum[i])));
      far[i] = hn::NegMulAdd(power, far[i], addend(d, kOne));
    });
    Floats square[kCount], near[kCount];
    for_all<kCount>([&](size_t i) HWY_ATTR { square[i] = hn::Mul(magnitude[i], magnitude[i]); });
    horner_all(d, square, kNear, near);
    for_all<kCount>([&](size_t i) HWY_ATTR {
      near[i] = hn::MulAdd(magnitude[i], near[i], magnitude[i]);
      const auto is_near = hn::Lt(magnitude[i], hn::Set(d, 0.8125f));
      x[i] = hn::CopySign(hn::IfThenElse(is_near, near[i], far[i]), x[i]);
    });
  }
};

// Work in double, on both halves of a float vector.
using F64 = hn::ScalableTag<double>;
using Doubles = hn::Vec<F64>;
struct Halves {
  Doubles low, high;
};

HWY_INLINE Halves to_doubles(Floats x) {
  const F64 d;
#if HWY_TARGET == HWY_SCALAR
  return {hn::PromoteTo(d, x), hn::Zero(d)};
#else
  return {hn::PromoteTo(d, hn::LowerHalf(x)), hn::PromoteTo(d, hn::UpperHalf(hn::Half<F32>(), x))};
#endif
}

HWY_INLINE Floats to_floats(const Halves& x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::DemoteTo(F32(), x.low);
#else
  const hn::Half<F32> half;
  return hn::Combine(F32(), hn::DemoteTo(half, x.high), hn::DemoteTo(half, x.low));
#endif
}

// Up to here the quadrant has 17 bits, and its product with the first part of pi/2 (33 bits) is an exact double.
inline constexpr float kMostReduced = 131072.0f;

/// magnitude - quadrant * pi/2, right to the last place even where it nearly vanishes.
HWY_INLINE Floats without_quarters(Floats magnitude, Floats quadrant) {
  const F64 d;
  const Halves x = to_doubles(magnitude), n = to_doubles(quadrant);
  const Doubles high = hn::Set(d, 0x1.921fb544p0), low = hn::Set(d, 0x1.0b4611a626331p-34);
  return to_floats({hn::NegMulAdd(n.low, low, hn::NegMulAdd(n.low, high, x.low)),
                    hn::NegMulAdd(n.high, low, hn::NegMulAdd(n.high, high, x.high))});
}

/// Replaces the lanes beyond kMostReduced, infinities and NaN by what libm says.
template <double (*kFunction)(double)>
HWY_INLINE Floats with_large(F32 d, Floats x, Floats y) {
  const auto is_small = hn::Le(hn::Abs(x), hn::Set(d, kMostReduced));
  if (HWY_LIKELY(hn::AllTrue(d, is_small))) return y;
  alignas(64) float from[kLanesOf<F32>], to[kLanesOf<F32>];
  hn::Store(x, d, from);
  hn::Store(y, d, to);
  for (size_t i = 0; i < kLanesOf<F32>; ++i) {
    if (!(std::fabs(from[i]) <= kMostReduced)) to[i] = static_cast<float>(kFunction(from[i]));
  }
  return hn::Load(d, to);
}

/// sin(magnitude + kTurn * pi/2) with the sign bits of `sign` flipped in.
template <int kTurn>
HWY_INLINE Floats sine(F32 d, Floats magnitude, Ints sign) {
  const I32 di;
  Ints bits;
  const Floats quadrant = nearest<kTurn>(d, magnitude, hn::Set(d, 0x1.45f306p-1f), bits);
  const Floats r = without_quarters(magnitude, quadrant);
  const Floats square = hn::Mul(r, r);
  const Floats sin_rest =
      horner(d, square, -0.16666650772094727f, 8.3319284021854401e-3f, -1.9484860240481794e-4f);  // 2^-27.4
  const Floats cos_rest =
      horner(d, square, 4.1666638106107712e-2f, -1.3886969536542892e-3f, 2.4395514628849924e-5f);  // 2^-32
  const Floats sin_r = hn::MulAdd(hn::Mul(square, r), sin_rest, r);
  const Floats cos_r = hn::MulAdd(square, hn::MulAdd(square, cos_rest, hn::Set(d, -0.5f)), hn::Set(d, 1.0f));
  const auto is_odd = hn::RebindMask(d, hn::Eq(hn::And(bits, hn::Set(di, 1)), hn::Set(di, 1)));
  const Ints flip = hn::Xor(sign, hn::ShiftLeft<31>(hn::ShiftRight<1>(bits)));
  return hn::Xor(hn::IfThenElse(is_odd, cos_r, sin_r), hn::BitCast(d, flip));
}

struct Sin {
  static HWY_INLINE Floats run(F32 d, Floats x) {
    const Ints sign = hn::And(hn::BitCast(I32(), x), hn::BitCast(I32(), hn::SignBit(d)));
    return with_large<std::sin>(d, x, sine<0>(d, hn::Abs(x), sign));
  }
};

struct Cos {
  static HWY_INLINE Floats run(F32 d, Floats x) {
    return with_large<std::cos>(d, x, sine<1>(d, hn::Abs(x), hn::Zero(I32())));
  }
};

/// log2 (1 + f) in double, for sqrt(1/2) <= 1 + f < sqrt(2).
HWY_INLINE Doubles log2_reduced(F64 d, Doubles f) {  // 2^-35.8
  return hn::Mul(f, horner(d, f, 1.442695040868704037, -0.721347520868750203, 0.480898361396181806,
                           -0.36067367482975998, 0.288537293408465845, -0.240453165434905775, 0.206175361368345689,
                           -0.180300606772943989, 0.158769779697046809, -0.143156381250116121, 0.144748502728740985,
                           -0.142839731382918528, 7.73707269564538891e-2));
}

// |a|^b = 2^(b log2 |a|) with the product in double: its error is multiplied by up to 150.
struct Pow {
  static HWY_INLINE Floats run(F32 d, Floats a, Floats b) {
    const F64 dd;
    const Floats one = hn::Set(d, 1.0f);
    const Floats magnitude = hn::Abs(a);
    Floats exponent;
    const Floats f = hn::Sub(split_binary(d, magnitude, exponent), one);
    exponent = hn::IfThenElse(hn::Lt(magnitude, hn::Inf(d)), exponent, magnitude);
    exponent = hn::IfThenElse(hn::Eq(a, hn::Zero(d)), hn::Neg(hn::Inf(d)), exponent);
    // 1 to an infinite power is 1, but 0 (its logarithm) times infinity would be NaN.
    const Floats power = hn::IfThenElse(hn::Eq(magnitude, one), one, b);

    const Halves fs = to_doubles(f), exponents = to_doubles(exponent), powers = to_doubles(power);
    const Doubles low = bounded(dd, hn::Mul(powers.low, hn::Add(exponents.low, log2_reduced(dd, fs.low))));
    const Doubles high = bounded(dd, hn::Mul(powers.high, hn::Add(exponents.high, log2_reduced(dd, fs.high))));
    const Doubles rounder = hn::Set(dd, 0x1.8p52);
    const Doubles whole_low = hn::Sub(hn::Add(low, rounder), rounder);
    const Doubles whole_high = hn::Sub(hn::Add(high, rounder), rounder);
    const Floats whole = to_floats({whole_low, whole_high});
    const Floats r = to_floats({hn::Sub(low, whole_low), hn::Sub(high, whole_high)});
    Ints bits;
    nearest<254>(d, whole, bits);
    const Floats y = horner(d, r, 1.0f, 0.69314718246459961f, 0.24022644758224487f, 5.5503584444522858e-2f,
                            9.6188290044665337e-3f, 1.3391473330557346e-3f, 1.5243396046571434e-4f);  // 2^-28
    return with_sign(d, a, b, scale_twice(d, y, bits));
  }

 private:
  static HWY_INLINE Doubles bounded(F64 d, Doubles x) { return at_least(d, at_most(d, x, 200.0), -200.0); }

  // Negative bases: odd powers are negative, broken ones have no value. Anything to the power 0 is 1, even NaN.
  static HWY_INLINE Floats with_sign(F32 d, Floats a, Floats b, Floats y) {
    const Floats zero = hn::Zero(d), half = hn::Mul(b, hn::Set(d, 0.5f));
    const auto is_whole = hn::Eq(hn::Floor(b), b);
    const auto is_odd = hn::AndNot(hn::Eq(hn::Floor(half), half), is_whole);
    const Floats is_negative = hn::And(a, hn::SignBit(d));
    y = hn::Or(y, hn::IfThenElseZero(is_odd, is_negative));
    const auto is_broken = hn::AndNot(is_whole, hn::And(hn::Lt(a, zero), hn::Gt(a, hn::Neg(hn::Inf(d)))));
    y = hn::IfThenElse(is_broken, hn::NaN(d), y);
    return hn::IfThenElse(hn::Eq(b, zero), hn::Set(d, 1.0f), y);
  }
};

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
