// Range reduction and a polynomial each. Coefficients are Sollya's fpminimax on the reduced interval, for floats, and
// the same as the cpu device's.

#include "tenon/codegen/math.h"

#include <limits>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::codegen {
namespace {

using ir::Op;

// ln 2 in two parts; the first has 15 bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cp-20, kLog2E = 0x1.715476p0;

class Writer {
 public:
  explicit Writer(Builder& builder) : b(builder) {}

  Id tanh(Id x) const;
  Id sigmoid(Id x) const;
  Id expm1(Id x) const;
  Id log1p(Id x) const;
  Id erf(Id x) const;
  Id mod(Id x, Id y) const;

 private:
  Id number(double value) const { return b.f32(value); }
  Id add(Id x, Id y) const { return b.math(Op::add, Scalar::f32, {x, y}); }
  Id mul(Id x, Id y) const { return b.math(Op::mul, Scalar::f32, {x, y}); }
  Id neg(Id x) const { return b.math(Op::neg, Scalar::f32, {x}); }
  Id sub(Id x, Id y) const { return add(x, neg(y)); }
  Id abs(Id x) const { return b.math(Op::abs, Scalar::f32, {x}); }
  Id bits_of(Id x) const { return b.bitcast(x, Scalar::u32); }
  Id float_of(Id bits) const { return b.bitcast(bits, Scalar::f32); }
  Id shl(Id bits, uint32_t by) const { return b.math(Op::shl, Scalar::u32, {bits, b.u32(by)}); }
  Id at_most(Id x, double most) const { return b.select(b.less(number(most), x), number(most), x); }
  Id at_least(Id x, double least) const { return b.select(b.less(x, number(least)), number(least), x); }
  Id with_sign_of(Id size, Id x) const {
    const Id kept = b.math(Op::bit_and, Scalar::u32, {bits_of(size), b.u32(0x7FFFFFFF)});
    const Id sign = b.math(Op::bit_and, Scalar::u32, {bits_of(x), b.u32(0x80000000)});
    return float_of(b.math(Op::bit_or, Scalar::u32, {kept, sign}));
  }
  // c0 + x (c1 + x (c2 + ...)).
  Id horner(Id x, const std::vector<double>& c) const {
    Id y = number(c.back());
    for (size_t i = c.size() - 1; i-- > 0;) y = b.fma(y, x, number(c[i]));
    return y;
  }

  // The nearest whole number of x * scale, for less than 2^21, and 2 to the power of it plus a bias. Adding 1.5 * 2^23
  // leaves it in the low bits of the sum; what stands above them the shift throws out.
  struct Whole {
    Id whole, power;
  };
  Whole nearest(Id x, double scale, int bias) const {
    const Id rounder = number(0x1.8p23 + 127 + bias);
    const Id sum = b.fma(x, number(scale), rounder);
    return {sub(sum, rounder), float_of(shl(bits_of(sum), 23))};
  }
  // x - whole * ln 2.
  Id without_ln2(Id x, Id whole) const {
    const Id less = neg(whole);
    return b.fma(less, number(kLn2Low), b.fma(less, number(kLn2High), x));
  }
  // e^r - 1 for |r| <= ln 2 / 2, to 2^-26.
  Id expm1_reduced(Id r) const {
    const Id series = horner(r, {0.4999999701976776, 0.16666541993618011, 4.1667494922876358e-2, 8.3667254075407982e-3,
                                 1.3865485088899732e-3});
    return b.fma(mul(r, r), series, r);
  }
  // log(1 + f) + exponent * ln 2 for sqrt(1/2) <= 1 + f < sqrt(2), to 2^-26.9.
  Id log_reduced(Id f, Id exponent) const {
    const Id square = mul(f, f);
    const Id tail = horner(f, {0.33333373069763184, -0.25000840425491333, 0.19998989999294281, -0.16621206700801849,
                               0.14238907396793365, -0.13212355971336365, 0.12565891444683075, -7.286024093627930e-2});
    Id y = mul(mul(square, f), tail);
    y = b.fma(exponent, number(kLn2Low), y);
    y = b.fma(neg(square), number(0.5), y);
    return b.fma(exponent, number(kLn2High), add(f, y));
  }

  Builder& b;
};

// 1 - 2 / (e^(2|x|) + 1), which is 1 from 9.02 on; an odd polynomial where that would lose digits.
Id Writer::tanh(Id x) const {
  const Id size = abs(x), e = b.exp2(mul(size, number(2 * kLog2E)));
  const Id far = b.fma(b.reciprocal(add(e, number(1))), number(-2), number(1));
  const Id square = mul(x, x);
  const Id series = horner(square, {-0.33333268761634827, 0.133310928940773, -0.05370965600013733, 0.0205388180911541,
                                    -0.00559101440012455});
  const Id near = b.fma(mul(series, square), size, size);
  return with_sign_of(b.select(b.less(number(0.625), size), far, near), x);  // near: a NaN stays one
}

// With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for what is below 0. What the reciprocal misses is found from e itself,
// because 1 + e is rounded. Not of the quotient, where e may be so small that a part of it is 0.
Id Writer::sigmoid(Id x) const {
  const Id e = b.math(Op::exp, Scalar::f32, {neg(abs(x))}), one = number(1);
  const Id rough = b.reciprocal(add(one, e));
  const Id share = b.fma(b.fma(neg(rough), e, sub(one, rough)), rough, rough);
  return mul(b.select(b.less(x, number(0)), e, one), share);
}

// At half its size, because 2^128 is no exponent; where that would be subnormal, e^x - 1 is x.
Id Writer::expm1(Id x) const {
  const Id bounded = at_least(at_most(x, 89), -20);
  const auto [whole, power] = nearest(bounded, kLog2E, -1);
  const Id half = b.fma(power, expm1_reduced(without_ln2(bounded, whole)), sub(power, number(0.5)));
  return b.select(b.less(abs(x), number(0x1p-30)), x, add(half, half));
}

// 1 + x = (1 + f) 2^k, where f = x / 2^k + (1 / 2^k - 1) is made from x itself and so keeps the bits that 1 + x loses.
// From 2^24 on there are none to keep.
Id Writer::log1p(Id x) const {
  const double infinity = std::numeric_limits<double>::infinity();
  const Id one = number(1), sum = add(one, x), bits = bits_of(sum);
  const Id above = b.bitcast(b.sub(bits, b.u32(0x3F3504F3)), Scalar::i32);
  const Id whole = b.math(Op::shr, Scalar::i32, {above, b.whole(Scalar::i32, 23)});
  const Id shifted = shl(b.bitcast(whole, Scalar::u32), 23);
  const Id mantissa = float_of(b.sub(bits, shifted)), power = float_of(b.sub(b.u32(0x3F800000), shifted));
  const Id f = b.select(b.less(x, number(0x1p24)), b.fma(x, power, sub(power, one)), sub(mantissa, one));
  const Id y = with_sign_of(log_reduced(f, b.convert(whole, Scalar::f32)), x);
  const Id positive = b.select(b.less(x, number(infinity)), y, x);
  const Id nothing =
      b.select(b.equal(sum, number(0)), number(-infinity), number(std::numeric_limits<double>::quiet_NaN()));
  return b.select(b.less(number(0), sum), positive, nothing);
}

// Below 0.8125 an odd polynomial; above, 1 - 2^q with q a polynomial for log2(erfc |x|). 1 from 3.92 on.
Id Writer::erf(Id x) const {
  const Id size = at_most(abs(x), 4);
  const Id q = horner(size, {2.0900071831420064e-4, -1.6293321847915649, -0.91417056322097778, -0.15571297705173492,
                             3.5906754434108734e-2, -5.8882478624582291e-3, 5.9955607866868377e-4,
                             -2.8034375645802356e-5});  // 2^-32 in the result
  const auto [whole, power] = nearest(q, 1, 0);
  const Id two_to = horner(sub(q, whole), {1, 0.69314718246459961, 0.24022644758224487, 5.5503584444522858e-2,
                                           9.6188290044665337e-3, 1.3391473330557346e-3, 1.5243396046571434e-4});
  const Id far = b.fma(neg(power), two_to, number(1));
  const Id series = horner(mul(size, size), {0.12837916612625122, -0.37612605094909668, 0.11283110827207565,
                                             -2.681955136358738e-2, 5.0813956186175346e-3, -6.5043533686548471e-4});
  const Id near = b.fma(size, series, size);
  return with_sign_of(b.select(b.less(size, number(0.8125)), near, far), x);
}

// What is left of x when y is taken away as often as it goes: bit by bit, from the highest power of two times y that x
// may hold. What is left is always less than twice what is taken next, so every difference is exact.
Id Writer::mod(Id x, Id y) const {
  const double infinity = std::numeric_limits<double>::infinity();
  const Id size = abs(x), by = abs(y), zero = b.whole(Scalar::u32, 0);
  const auto exponent_of = [&](Id value) { return b.math(Op::shr, Scalar::u32, {bits_of(value), b.u32(23)}); };
  const Id high = exponent_of(size), low = exponent_of(by);
  const Id is_small = b.equal(low, zero);  // subnormal: up to 23 bits lower than its exponent says
  const Id steps = b.add(b.sub(high, low), b.select(is_small, b.u32(24), b.u32(1)));
  const Id has_value = b.both(b.less(size, number(infinity)), b.less(number(0), by));  // false for NaN
  const Id is_needed = b.both(has_value, b.is_not(b.less(size, by)));
  const Id count = b.select(is_needed, steps, zero);
  const auto two_to = [&](Id power) { return float_of(shl(b.add(power, b.u32(127)), 23)); };
  const Id left = b.variable(size);
  b.loop(zero, count, b.u32(1), [&](Id step) {
    const Id power = b.sub(b.add(count, b.u32(UINT32_MAX)), step);
    const Id third = b.div(power, b.u32(3)), factor = two_to(third);  // 2^277 is no float
    const Id taken = mul(mul(mul(by, factor), factor), two_to(b.sub(power, b.add(third, third))));
    const Id before = b.get(left);
    b.set(left, b.select(b.less(before, taken), before, sub(before, taken)));
  });
  const Id nothing = number(std::numeric_limits<double>::quiet_NaN());
  const Id is_number = b.both(has_value, b.equal(y, y));
  return b.select(is_number, with_sign_of(b.get(left), x), nothing);
}

}  // namespace

bool has_own_math(Op op) {
  switch (op) {
    case Op::tanh:
    case Op::sigmoid:
    case Op::expm1:
    case Op::log1p:
    case Op::erf:
    case Op::mod: return true;
    default: return false;
  }
}

Id own_math(Builder& b, Op op, std::span<const Id> args) {
  const Writer write(b);
  const Id x = args[0];
  switch (op) {
    case Op::tanh: return write.tanh(x);
    case Op::sigmoid: return write.sigmoid(x);
    case Op::expm1: return write.expm1(x);
    case Op::log1p: return write.log1p(x);
    case Op::erf: return write.erf(x);
    case Op::mod: return write.mod(x, args[1]);
    default: base::fail("codegen", "{} has no definition of our own", ir::name(op));
  }
}

}  // namespace tenon::codegen
