// Highway's vectors of f32 as an arithmetic for tenon/math, and what the cpu does by itself because it is quicker.
//
// Several vectors take every step of a function together, because the one behind it waits for it: e^x takes 16 cycles a
// vector on a Xeon one after another, of which 9 are work. Multiply-adds may be none (SSE4).

#if defined(TENON_BACKENDS_CPU_TILE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKENDS_CPU_TILE_MATH_INL_H_
#undef TENON_BACKENDS_CPU_TILE_MATH_INL_H_
#else
#define TENON_BACKENDS_CPU_TILE_MATH_INL_H_
#endif

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"
#include "tenon/math/coefficients.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using Floats = hn::Vec<F32>;

/// f(0), ... f(kCount - 1).
template <size_t kCount, class F>
HWY_INLINE void for_all(F&& f) {
#pragma GCC unroll 8
  for (size_t i = 0; i < kCount; ++i) f(i);
}

/// c0 + x (c1 + x (c2 + ...)).
template <class D, class V>
HWY_INLINE V horner(D d, V, hn::TFromD<D> last) {
  return hn::Set(d, last);
}
template <class D, class V, typename... Rest>
HWY_INLINE V horner(D d, V x, hn::TFromD<D> first, Rest... rest) {
  return hn::MulAdd(horner(d, x, rest...), x, hn::Set(d, first));
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

/// A coefficient as a whole vector. ARM's multiply-add overwrites what it adds to: with a copy of a coefficient that
/// stays in a register it takes 0.93 cycles of a Neoverse V1, with one that is loaded anew 0.5.
struct alignas(16) Coefficient {
  float lanes[4];
};
template <const auto& kC>
inline constexpr auto kTable = [] {
  std::array<Coefficient, std::size(kC)> table{};
  for (size_t i = 0; i < std::size(kC); ++i)
    for (float& lane : table[i].lanes) lane = static_cast<float>(kC[i]);
  return table;
}();
template <const double& kC>
inline constexpr Coefficient kSingle = {static_cast<float>(kC), static_cast<float>(kC), static_cast<float>(kC),
                                        static_cast<float>(kC)};
HWY_INLINE Floats addend([[maybe_unused]] F32 d, const Coefficient& c) {
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  float32x4_t loaded;
  asm volatile("ldr %q0, %1" : "=w"(loaded) : "m"(c));
  return Floats(loaded);
#else
  return hn::Set(d, c.lanes[0]);
#endif
}

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

/// Several vectors, as an arithmetic for tenon/math.
template <size_t kCount>
struct Lanes {
  static constexpr bool kWide = false, kHasExp2 = false, kIsKernel = false, kHasQuarters = true;

  // Constructors are written out: those that the compiler makes lack the attributes of the target, on ARM.
  struct Real {
    Floats v[kCount];
    HWY_INLINE Real() {}
    HWY_INLINE Real(Floats x) : v{x} {}  // NOLINT: one is several
    HWY_INLINE Real operator-() const {
      return each<Real>([&](size_t i) HWY_ATTR { return hn::Neg(v[i]); });
    }
    friend HWY_INLINE Real operator+(const Real& x, const Real& y) {
      return each<Real>([&](size_t i) HWY_ATTR { return hn::Add(x.v[i], y.v[i]); });
    }
    friend HWY_INLINE Real operator-(const Real& x, const Real& y) {
      return each<Real>([&](size_t i) HWY_ATTR { return hn::Sub(x.v[i], y.v[i]); });
    }
    friend HWY_INLINE Real operator*(const Real& x, const Real& y) {
      return each<Real>([&](size_t i) HWY_ATTR { return hn::Mul(x.v[i], y.v[i]); });
    }
    friend HWY_INLINE Real operator/(const Real& x, const Real& y) {
      return each<Real>([&](size_t i) HWY_ATTR { return hn::Div(x.v[i], y.v[i]); });
    }
  };
  struct Word {
    hn::Vec<U32> v[kCount];
    HWY_INLINE Word() {}
    HWY_INLINE Word(hn::Vec<U32> x) : v{x} {}  // NOLINT
    friend HWY_INLINE Word operator-(const Word& x, const Word& y) {
      return each<Word>([&](size_t i) HWY_ATTR { return hn::Sub(x.v[i], y.v[i]); });
    }
    friend HWY_INLINE Word operator&(const Word& x, const Word& y) {
      return each<Word>([&](size_t i) HWY_ATTR { return hn::And(x.v[i], y.v[i]); });
    }
    friend HWY_INLINE Word operator^(const Word& x, const Word& y) {
      return each<Word>([&](size_t i) HWY_ATTR { return hn::Xor(x.v[i], y.v[i]); });
    }
  };
  struct Truth {
    hn::Mask<F32> v[kCount];
    HWY_INLINE Truth() {}
  };

  template <class T, class F>
  static HWY_INLINE T each(F&& f) {
    T made;
#pragma GCC unroll 8
    for (size_t i = 0; i < kCount; ++i) made.v[i] = f(i);
    return made;
  }

  static HWY_INLINE Real number(double x) {
    return each<Real>([&](size_t) HWY_ATTR { return hn::Set(F32(), static_cast<float>(x)); });
  }
  static HWY_INLINE Real fma(const Real& x, const Real& y, const Real& z) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::MulAdd(x.v[i], y.v[i], z.v[i]); });
  }
  static HWY_INLINE Real negative_fma(const Real& x, const Real& y, const Real& z) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::NegMulAdd(x.v[i], y.v[i], z.v[i]); });
  }
  template <const auto& kTo>
  static HWY_INLINE Real fma_to(math::Series<kTo>, const Real& x, const Real& y) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::MulAdd(x.v[i], y.v[i], addend(F32(), kSingle<kTo>)); });
  }
  template <const auto& kC>
  static HWY_INLINE Real polynomial(math::Series<kC>, const Real& x) {
    constexpr size_t kTerms = std::size(kC);
    const F32 d;
    Real y = each<Real>([&](size_t i) HWY_ATTR {
      return hn::MulAdd(x.v[i], hn::Set(d, kTable<kC>[kTerms - 1].lanes[0]), addend(d, kTable<kC>[kTerms - 2]));
    });
#pragma GCC unroll 16
    for (size_t k = 2; k < kTerms; ++k) {
#pragma GCC unroll 8
      for (size_t i = 0; i < kCount; ++i) y.v[i] = hn::MulAdd(y.v[i], x.v[i], addend(d, kTable<kC>[kTerms - 1 - k]));
    }
    return y;
  }
  /// The same of an even number of terms, on ARM two by two: fewer operations wait for each other, and fewer have to
  /// load what they add to. Elsewhere it is a pair that would need a copy, of x.
  template <const auto& kC>
  static HWY_INLINE Real polynomial_by_pairs(math::Series<kC> series, const Real& x) {
    constexpr size_t kTerms = std::size(kC);
    static_assert(kTerms % 2 == 0);
    if constexpr (HWY_TARGET != HWY_NEON) return polynomial(series, x);
    const F32 d;
    const auto pair = [&](size_t i, size_t k) HWY_ATTR {
      return hn::MulAdd(x.v[i], hn::Set(d, kTable<kC>[k + 1].lanes[0]), addend(d, kTable<kC>[k]));
    };
    const Real square = x * x;
    Real y = each<Real>([&](size_t i) HWY_ATTR { return pair(i, kTerms - 2); });
#pragma GCC unroll 8
    for (size_t k = 4; k <= kTerms; k += 2) {
#pragma GCC unroll 8
      for (size_t i = 0; i < kCount; ++i) y.v[i] = hn::MulAdd(y.v[i], square.v[i], pair(i, kTerms - k));
    }
    return y;
  }
  static HWY_INLINE Real abs(const Real& x) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::Abs(x.v[i]); });
  }
  static HWY_INLINE Real copy_sign(const Real& size, const Real& sign) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::CopySign(size.v[i], sign.v[i]); });
  }
  static HWY_INLINE Real at_most(const Real& x, double most) {
    return each<Real>([&](size_t i)
                          HWY_ATTR { return HWY_NAMESPACE::at_most(F32(), x.v[i], static_cast<float>(most)); });
  }
  static HWY_INLINE Real at_least(const Real& x, double least) {
    return each<Real>([&](size_t i)
                          HWY_ATTR { return HWY_NAMESPACE::at_least(F32(), x.v[i], static_cast<float>(least)); });
  }
  static HWY_INLINE Truth less(const Real& x, const Real& y) {
    return each<Truth>([&](size_t i) HWY_ATTR { return hn::Lt(x.v[i], y.v[i]); });
  }
  static HWY_INLINE Truth equal(const Real& x, const Real& y) {
    return each<Truth>([&](size_t i) HWY_ATTR { return hn::Eq(x.v[i], y.v[i]); });
  }
  static HWY_INLINE Real select(const Truth& which, const Real& x, const Real& y) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::IfThenElse(which.v[i], x.v[i], y.v[i]); });
  }

  // ---- bits ----

  static HWY_INLINE Word word(uint32_t x) {
    return each<Word>([&](size_t) HWY_ATTR { return hn::Set(U32(), x); });
  }
  static HWY_INLINE Word low_bits(const Real& x) { return high_bits(x); }
  static HWY_INLINE Word high_bits(const Real& x) {
    return each<Word>([&](size_t i) HWY_ATTR { return hn::BitCast(U32(), x.v[i]); });
  }
  static HWY_INLINE Real with_high_bits(const Real&, const Word& bits) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::BitCast(F32(), bits.v[i]); });
  }
  static HWY_INLINE Real flipped(const Real& x, const Word& bits) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::Xor(x.v[i], hn::BitCast(F32(), bits.v[i])); });
  }
  static HWY_INLINE Real power(const Word& bits) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::BitCast(F32(), hn::ShiftLeft<23>(bits.v[i])); });
  }
  static HWY_INLINE Real real(const Word& x) {
    return each<Real>([&](size_t i) HWY_ATTR { return hn::ConvertTo(F32(), hn::BitCast(I32(), x.v[i])); });
  }
  static HWY_INLINE Truth is_odd(const Word& x) {
    const auto one = hn::Set(U32(), 1u);
    return each<Truth>([&](size_t i) HWY_ATTR { return hn::RebindMask(F32(), hn::Eq(hn::And(x.v[i], one), one)); });
  }
  template <int kBits>
  static HWY_INLINE Word shl(math::By<kBits>, const Word& x) {
    return each<Word>([&](size_t i) HWY_ATTR { return hn::ShiftLeft<kBits>(x.v[i]); });
  }
  template <int kBits>
  static HWY_INLINE Word shr(math::By<kBits>, const Word& x) {
    return each<Word>([&](size_t i) HWY_ATTR { return hn::ShiftRight<kBits>(x.v[i]); });
  }
  template <int kBits>
  static HWY_INLINE Word sar(math::By<kBits>, const Word& x) {
    return each<Word>([&](size_t i)
                          HWY_ATTR { return hn::BitCast(U32(), hn::ShiftRight<kBits>(hn::BitCast(I32(), x.v[i]))); });
  }

  /// In double, up to kMostReduced.
  static HWY_INLINE void quarters(const Real& size, uint32_t turn, Word& count, Real& left) {
    const Real rounder = number(0x1.8p23 + turn), sum = fma(size, number(0x1.45f306p-1), rounder);
    const Real whole = sum - rounder;
    count = low_bits(sum);
    left = each<Real>([&](size_t i) HWY_ATTR { return without_quarters(size.v[i], whole.v[i]); });
  }
};

#define TENON_MATH_INLINE HWY_INLINE
#include "tenon/math/functions-inl.h"
#undef TENON_MATH_INLINE

/// Whether tenon/math has the op for one number, and not the arithmetic itself.
template <class A>
constexpr bool is_function_of_one(ir::Op op) {
  switch (op) {
// clang-format off
#define TENON_OP(name, ...)                                                                   \
  case ir::Op::name:                                                                          \
    return requires(const Functions<A>& f, typename A::Real x) { f.name(x) / f.name(x); } &&  \
           !requires(const A& a, typename A::Real x) { a.name(x); };
// clang-format on
#include "tenon/ir/ops.def"
  }
  return false;
}

/// The function of an op, for several vectors and for one.
template <ir::Op kOp>
struct Function {
  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    if constexpr (kOneByOne && kCount > 1) {
      for_all<kCount>([&](size_t i) HWY_ATTR { x[i] = run(d, x[i]); });
    } else {
      using F = Functions<Lanes<kCount>>;
      const typename F::Real y =
          of(F(), Lanes<kCount>::template each<typename F::Real>([&](size_t i) HWY_ATTR { return x[i]; }));
      for_all<kCount>([&](size_t i) HWY_ATTR {
        if constexpr (kOp == ir::Op::sin)
          x[i] = with_large<std::sin>(d, x[i], y.v[i]);
        else if constexpr (kOp == ir::Op::cos)
          x[i] = with_large<std::cos>(d, x[i], y.v[i]);
        else
          x[i] = y.v[i];
      });
    }
  }
  static HWY_INLINE Floats run(F32 d, Floats x) {
    Floats one[1] = {x};
    run_all(d, one);
    return one[0];
  }

 private:
  // GCC 12 keeps two vectors of a logarithm in memory on AVX2, which takes twice the time.
  static constexpr bool kOneByOne =
      HWY_TARGET == HWY_AVX2 && (kOp == ir::Op::log || kOp == ir::Op::log2 || kOp == ir::Op::log1p);

  template <class F>
  static HWY_INLINE typename F::Real of(const F& f, const typename F::Real& x) {
#define TENON_OP(name, ...)                                  \
  if constexpr (kOp == ir::Op::name) {                       \
    if constexpr (requires { f.name(x); }) return f.name(x); \
  }
#include "tenon/ir/ops.def"
  }
};
using Exp = Function<ir::Op::exp>;
using Log = Function<ir::Op::log>;
using Tanh = Function<ir::Op::tanh>;
using Erf = Function<ir::Op::erf>;

/// y = 2^r for |r| <= 1/2.
template <size_t kCount>
HWY_INLINE void exp2_reduced(F32, const Floats (&r)[kCount], Floats (&y)[kCount]) {
  using A = Lanes<kCount>;
  const auto all = A::template each<typename A::Real>([&](size_t i) HWY_ATTR { return r[i]; });
  using C = math::Coefficients<false>;
  const auto made = A::fma_to(math::series<math::kOne>, A::polynomial_by_pairs(math::series<C::kExp2>, all), all);
  for_all<kCount>([&](size_t i) HWY_ATTR { y[i] = made.v[i]; });
}

/// log2 (1 + f) in double, for sqrt(1/2) <= 1 + f < sqrt(2).
HWY_INLINE Doubles log2_reduced(F64 d, Doubles f) {  // 2^-35.8
  return hn::Mul(f, horner(d, f, 1.442695040868704037, -0.721347520868750203, 0.480898361396181806,
                           -0.36067367482975998, 0.288537293408465845, -0.240453165434905775, 0.206175361368345689,
                           -0.180300606772943989, 0.158769779697046809, -0.143156381250116121, 0.144748502728740985,
                           -0.142839731382918528, 7.73707269564538891e-2));
}

// |a|^b = 2^(b log2 |a|) with the product in double, because its error is multiplied by up to 150: half of the time of
// tenon/math's, which does the same with pairs of floats.
struct Pow {
  static HWY_INLINE Floats run(F32 d, Floats a, Floats b) {
    const F64 dd;
    const Floats one = hn::Set(d, 1.0f);
    const Floats magnitude = hn::Abs(a);
    const Functions<Lanes<1>> math;
    const auto parts = math.split({{magnitude}});
    const Floats f = hn::Sub(parts.mantissa.v[0], one);
    Floats exponent = hn::IfThenElse(hn::Lt(magnitude, hn::Inf(d)), parts.exponent.v[0], magnitude);
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
    Floats y[1];
    exp2_reduced<1>(d, {r}, y);
    const auto bits = hn::BitCast(U32(), hn::Add(whole, hn::Set(d, 0x1.8p23f + 254)));
    return with_sign(d, a, b, math.scaled_twice({{y[0]}}, {{bits}}).v[0]);
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
