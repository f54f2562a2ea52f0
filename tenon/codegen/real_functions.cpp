// Written for the floats that every language promises: additions and products that are rounded once each, and no more.
// A fused product may be none (Vulkan, WebGPU), so errors of products are found by cutting factors into halves of 12
// bits, whose products are exact either way; arguments are reduced in integers where floats would not do.

#include "tenon/codegen/real_functions.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/codegen/wide.h"

namespace tenon::codegen {
namespace {

using ir::Op;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kHalfOfRoot2 = 0x3F3504F3u;  // the bits of sqrt(0.5)

/// A number as the sum of two floats, the second below the last place of the first.
struct Sum {
  Id high, low;
};

class Functions {
 public:
  Functions(Builder& b, bool fuses) : b_(b), fuses_(fuses) {}

  // Cut at multiples of log 2; the part left over by a polynomial, the rest by the exponent. Half the power, so that
  // the highest one is a float too.
  Id expm1(Id x) {
    const Id limited = select(less(x, f(89)), select(less(f(-30), x), x, f(-30)), f(89));
    const Id n = floor(add(mul(limited, f(0x1.715476p0)), f(0.5)));
    const Id r = add(add(limited, mul(n, f(-0.693359375))), mul(n, f(2.12194440e-4)));
    const Id square = mul(r, r);
    const Id tail = polynomial(r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
    const Id inside = add(r, mul(square, tail));
    const Id half = power_of_two(add_i(to_int(n), -1));
    const Id result = mul(f(2), add(mul(half, inside), add(half, f(-0.5))));
    const Id signed_zero = select(equal(x, f(0)), x, result);
    return select(is_nan(x), x, select(less(f(88.8), x), f(kInf), signed_zero));
  }

  Id log1p(Id x) {
    const Id u = add(f(1), x);
    const auto [k, m] = parts_of(u);
    // What 1 + x lost, relative to it.
    const Id lost = select(less(u, f(2)), sub(x, sub(u, f(1))), sub(f(1), sub(u, x)));
    const Id is_near = equal(k, f(0));
    const Id fraction = select(is_near, x, sub(m, f(1)));
    const Id correction = select(is_near, f(0), div(lost, u));
    const Id result = short_log(k, fraction, correction);
    const Id above = select(equal(x, f(kInf)), x, select(equal(x, f(0)), x, result));
    return select(less(x, f(-1)), nan(), select(equal(x, f(-1)), f(-kInf), select(is_nan(x), x, above)));
  }

  // 2^n 2^r, where n is the whole number nearest to log2(e) x and r what is left of that, from x itself. 2^r is the
  // device's, whose error of 3 + 2 |r| places (Vulkan's promise) is small there. n is kept to the exponents of floats,
  // -126 to 127, as a share of these, because a clamp to 0 and 1 may cost nothing; r has what goes beyond them, and 2^r
  // knows infinity, 0 and NaN. A sum with 1.5 * 2^23 is rounded to a whole number, which stands in its low bits.
  Id exp(Id x) {
    constexpr double kLog2E = 0x1.715476p0, kLog2ELow = 0x1.4ae0cp-26, kLeast = -126, kWidth = 253, kRounder = 0x1.8p23;
    const Id share = b_.saturate(b_.fma(x, f(kLog2E / kWidth), f(-kLeast / kWidth)));
    const Id sum = b_.fma(share, f(kWidth), f(kRounder + 127 + kLeast));
    const Id n = add(sum, f(-kRounder - 127));
    const auto rest = [&] {
      if (fuses_) return b_.fma(x, f(kLog2ELow), b_.fma(x, f(kLog2E), b_.math(Op::neg, Scalar::f32, {n})));
      // Whole multiples of a log 2 in two parts, of which the first times n is exact.
      return mul(b_.fma(n, f(2.12194440e-4), b_.fma(n, f(-0.693359375), x)), f(kLog2E));
    };
    const Id shifted = b_.math(Op::shl, Scalar::u32, {b_.bitcast(sum, Scalar::u32), b_.u32(23)});
    return mul(b_.exp2(rest()), b_.bitcast(shifted, Scalar::f32));
  }

  // (e^2x - 1) / (e^2x + 1), of which nothing is left beyond 10.
  Id tanh(Id x) {
    const Id size = abs(x), grown = expm1(mul(f(2), select(less(size, f(10)), size, f(10))));
    return select(is_nan(x), x, with_sign_of(x, div(grown, add(grown, f(2)))));
  }

  Id log(Id x) {
    const auto [k, m] = parts_of(x);
    const Id result = short_log(k, sub(m, f(1)), f(0));
    const Id above = select(less(x, f(kInf)), select(equal(x, f(0)), f(-kInf), result), x);
    return select(less(x, f(0)), nan(), above);
  }

  Id log2(Id x) {
    const Sum log = log_of(x);
    const Sum product = exact_product(log.high, f(0x1.715476p0));
    const Id low = add(mul(log.high, f(0x1.4ae0cp-26)), mul(log.low, f(0x1.715476p0)));
    const Id result = add(product.high, add(product.low, low));
    const Id above = select(equal(x, f(kInf)), x, select(equal(x, f(0)), f(-kInf), result));
    return select(less(x, f(0)), nan(), select(is_nan(x), x, above));
  }

  // Near 0 a polynomial; further out by the logarithm of what is missing to 1.
  Id erf(Id x) {
    const Id t = abs(x), s = mul(x, x);
    const Id near = add(x, mul(x, polynomial(s, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1,
                                                 -3.76125336e-1, 1.28379166e-1})));
    const Id far = polynomial(t, {-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1,
                                  -6.34846687e-1, -1.28717512e-1});
    const Id limited = select(less(t, f(5)), add(mul(far, t), negative(t)), f(-30));
    const Id size = negative(expm1(limited));
    return select(is_nan(x), x, select(less(f(0.921875), t), with_sign_of(x, size), near));
  }

  Id sin(Id x) { return sine(x, false); }
  Id cos(Id x) { return sine(x, true); }

  // Long division of the mantissas, 8 bits at a time: exact however far apart the two are.
  Id mod(Id x, Id y) {
    const Id size_x = and_(bits(x), ~kSign), size_y = and_(bits(y), ~kSign);
    const auto mantissa = [&](Id size) {
      const Id is_normal = b_.is_not(b_.less(size, b_.u32(1u << 23)));
      return or_(and_(size, 0x7FFFFF), select(is_normal, b_.u32(1u << 23), b_.u32(0)));
    };
    const auto exponent = [&](Id size) {
      const Id stored = shr(size, 23);
      return select(b_.less(stored, b_.u32(1)), b_.u32(1), stored);
    };
    const Id own = mantissa(size_y), divisor = select(b_.equal(own, b_.u32(0)), b_.u32(1), own);
    const Id exponent_x = exponent(size_x), exponent_y = exponent(size_y);
    const Id is_below = b_.less(size_x, size_y);
    const Id places = select(is_below, b_.u32(0), b_.sub(exponent_x, exponent_y));
    const Id rest = b_.variable(b_.mod(mantissa(size_x), divisor));
    b_.loop(b_.u32(0), shr(places, 3), b_.u32(1), [&](Id) {
      b_.set(rest, b_.mod(b_.math(Op::shl, Scalar::u32, {b_.get(rest), b_.u32(8)}), divisor));
    });
    const Id last = b_.mod(b_.math(Op::shl, Scalar::u32, {b_.get(rest), and_(places, 7)}), divisor);
    // Scaled in two steps, as the lowest power is no float with all its bits.
    const Id scale = b_.sub(b_.bitcast(exponent_y, Scalar::i32), b_.whole(Scalar::i32, 150));
    const Id first = b_.math(Op::shr, Scalar::i32, {scale, b_.whole(Scalar::i32, 1)});
    const Id size = mul(mul(b_.convert(last, Scalar::f32), power_of_two(first)), power_of_two(b_.sub(scale, first)));
    const Id defined = b_.both(b_.both(b_.less(size_x, b_.u32(0x7F800000)), b_.less(b_.u32(0), size_y)),
                               b_.less(size_y, b_.u32(0x7F800001)));
    return select(defined, select(is_below, x, with_sign_of(x, size)), nan());
  }

  Id pow(Id x, Id y) {
    const Id size = abs(x);
    const Sum log = log_of(size);
    const Sum power = exact_product(y, log.high);
    const Id is_far = b_.is_not(less(abs(power.high), f(104)));
    const Id high = select(is_far, f(0), power.high);
    const Id low = select(is_far, f(0), add(power.low, mul(y, log.low)));
    const Id limit = select(less(power.high, f(0)), f(0), f(kInf));
    const Id finite = select(is_far, limit, exp(high, low));

    // 0, infinity and infinite powers: what grows becomes infinite, what shrinks 0, and 1 stays.
    const Id is_one = equal(size, f(1)), is_endless = equal(abs(y), f(kInf));
    const Id is_edge = b_.either(b_.either(equal(size, f(0)), equal(size, f(kInf))), is_endless);
    const Id grows = equal_truths(less(f(1), size), less(f(0), y));
    const Id plain = select(is_edge, select(is_one, f(1), select(grows, f(kInf), f(0))), finite);

    const Id whole = floor(y), half = mul(y, f(0.5));
    const Id is_whole = b_.either(equal(whole, y), is_endless);
    const Id is_odd = b_.both(b_.both(is_whole, less(abs(y), f(0x1p24))), b_.is_not(equal(floor(half), half)));
    const Id is_negative = b_.is_not(b_.less(bits(x), b_.u32(kSign)));
    const Id is_undefined = b_.both(b_.both(less(x, f(0)), less(f(-kInf), x)), b_.is_not(is_whole));
    const Id value = select(b_.both(is_negative, is_odd), negative(plain), plain);
    const Id number = select(is_undefined, nan(), value);
    const Id either_nan = select(b_.either(is_nan(x), is_nan(y)), nan(), number);
    return select(b_.either(equal(x, f(1)), equal(y, f(0))), f(1), either_nan);
  }

 private:
  // ---- notation ----

  Id f(double number) { return b_.f32(static_cast<double>(static_cast<float>(number))); }
  Id nan() { return b_.f32(std::numeric_limits<double>::quiet_NaN()); }
  Id add(Id x, Id y) { return b_.math(Op::add, Scalar::f32, {x, y}); }
  Id sub(Id x, Id y) { return add(x, negative(y)); }
  Id mul(Id x, Id y) { return b_.math(Op::mul, Scalar::f32, {x, y}); }
  Id div(Id x, Id y) { return b_.math(Op::div, Scalar::f32, {x, y}); }
  Id floor(Id x) { return b_.math(Op::floor, Scalar::f32, {x}); }
  Id abs(Id x) { return b_.math(Op::abs, Scalar::f32, {x}); }
  Id negative(Id x) { return b_.math(Op::neg, Scalar::f32, {x}); }
  Id less(Id x, Id y) { return b_.less(x, y); }
  Id equal(Id x, Id y) { return b_.equal(x, y); }
  Id equal_truths(Id x, Id y) { return b_.is_not(b_.math(Op::bit_xor, Scalar::boolean, {x, y})); }
  Id select(Id condition, Id x, Id y) { return b_.select(condition, x, y); }
  Id is_nan(Id x) { return b_.is_not(b_.equal(x, x)); }
  Id bits(Id x) { return b_.bitcast(x, Scalar::u32); }
  Id and_(Id x, uint32_t mask) { return b_.math(Op::bit_and, Scalar::u32, {x, b_.u32(mask)}); }
  Id or_(Id x, Id y) { return b_.math(Op::bit_or, Scalar::u32, {x, y}); }
  Id shr(Id x, uint32_t count) { return b_.math(Op::shr, Scalar::u32, {x, b_.u32(count)}); }
  Id to_int(Id x) { return b_.convert(x, Scalar::i32); }
  Id add_i(Id x, int64_t number) { return b_.add(x, b_.whole(Scalar::i32, number)); }
  Id with_sign_of(Id x, Id size) { return b_.bitcast(or_(and_(bits(x), kSign), bits(size)), Scalar::f32); }
  /// From -126 to 127.
  Id power_of_two(Id exponent) {
    const Id stored = b_.bitcast(add_i(exponent, 127), Scalar::u32);
    return b_.bitcast(b_.math(Op::shl, Scalar::u32, {stored, b_.u32(23)}), Scalar::f32);
  }
  /// The highest power first.
  Id polynomial(Id x, std::initializer_list<double> coefficients) {
    Id sum = kNoValue;
    for (const double each : coefficients) sum = sum == kNoValue ? f(each) : b_.fma(sum, x, f(each));
    return sum;
  }

  // ---- shared parts ----

  Sum exact_product(Id x, Id y) {
    const auto upper = [&](Id z) { return b_.bitcast(and_(bits(z), 0xFFFFF000u), Scalar::f32); };
    const Id p = mul(x, y), xh = upper(x), yh = upper(y), xl = sub(x, xh), yl = sub(y, yh);
    return {p, add(add(add(sub(mul(xh, yh), p), mul(xh, yl)), mul(xl, yh)), mul(xl, yl))};
  }

  /// A positive number as 2^k m with m between the roots of 1/2 and 2.
  std::pair<Id, Id> parts_of(Id x) {
    const Id is_small = less(x, f(0x1p-126));
    const Id own = bits(select(is_small, mul(x, f(0x1p24)), x));
    const Id moved = b_.add(own, b_.u32(0x3F800000u - kHalfOfRoot2));
    const Id k = add(b_.convert(add_i(b_.bitcast(shr(moved, 23), Scalar::i32), -127), Scalar::f32),
                     select(is_small, f(-24), f(0)));
    return {k, b_.bitcast(b_.add(and_(moved, 0x7FFFFF), b_.u32(kHalfOfRoot2)), Scalar::f32)};
  }

  /// log(1 + fraction) + k log 2 + correction, for 1 + fraction between the roots of 1/2 and 2; within a place.
  Id short_log(Id k, Id fraction, Id correction) {
    const Id s = div(fraction, add(f(2), fraction)), z = mul(s, s);
    const Id rest = mul(z, polynomial(z, {0xf89e26p-26, 0x91e9eep-25, 0xccce13p-25, 0xaaaaaap-24}));
    const Id half_square = mul(f(0.5), mul(fraction, fraction));
    const Id low = add(mul(s, add(half_square, rest)), add(mul(k, f(9.0580006145e-06)), correction));
    return add(add(sub(low, half_square), fraction), mul(k, f(6.9313812256e-01)));
  }

  /// The logarithm of a positive number, to about 40 bits: 2 atanh((m - 1) / (m + 1)) + k log 2.
  Sum log_of(Id x) {
    const auto [k, m] = parts_of(x);
    const Id top = sub(m, f(1)), bottom = add(m, f(1));
    const Id bottom_low = sub(m, sub(bottom, f(1)));
    const Id q = div(top, bottom);
    const Sum back = exact_product(q, bottom);
    const Id q_low = div(sub(sub(sub(top, back.high), back.low), mul(q, bottom_low)), bottom);
    const Sum square = exact_product(q, q);
    const Id square_low = add(square.low, mul(f(2), mul(q, q_low)));
    const Id s = square.high;
    // atanh(q) / q - 1 - q^2 / 3, which is small enough for one float.
    const Id tail = mul(mul(s, s), polynomial(s, {0.0993, 0.11111, 0.142857142857, 0.2}));
    const Sum third = exact_product(s, f(0x1.555556p-2));
    const Id third_low = add(third.low, add(mul(square_low, f(0x1.555556p-2)), mul(s, f(-0x1.555556p-27))));
    const Sum series = sum_of(third.high, add(tail, third_low));
    const Sum cubic = exact_product(q, series.high);
    const Id cubic_low = add(cubic.low, add(mul(q, series.low), mul(q_low, series.high)));
    const Sum half = sum_of(q, cubic.high);
    const Id half_low = add(half.low, add(q_low, cubic_low));
    // k times the upper part of log 2 is exact: it ends in zeros.
    const Sum whole = sum_of_any(mul(k, f(0x1.62e4p-1)), mul(f(2), half.high));
    const Id low = add(whole.low, add(mul(f(2), half_low), mul(k, f(0x1.7f7d1cp-20))));
    return sum_of(whole.high, low);
  }

  /// Of a number and a smaller one.
  Sum sum_of(Id large, Id small) {
    const Id high = add(large, small);
    return {high, sub(small, sub(high, large))};
  }
  Sum sum_of_any(Id x, Id y) {
    const Id high = add(x, y), part = sub(high, x);
    return {high, add(sub(x, sub(high, part)), sub(y, part))};
  }

  /// e^(high + low), for |high| below 104: beyond it nothing is left of a float.
  Id exp(Id high, Id low) {
    const Id n = floor(add(mul(high, f(0x1.715476p0)), f(0.5)));
    const Id r = add(add(add(high, mul(n, f(-0.693359375))), mul(n, f(2.12194440e-4))), low);
    const Id tail = polynomial(r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
    const Id inside = add(f(1), add(r, mul(mul(r, r), tail)));
    const Id whole = to_int(n), first = b_.math(Op::shr, Scalar::i32, {whole, b_.whole(Scalar::i32, 1)});
    // Two steps: 2^-150 is no float.
    return mul(mul(inside, power_of_two(first)), power_of_two(b_.sub(whole, first)));
  }

  /// Sine, or cosine as the sine a quarter further on.
  Id sine(Id x, bool is_cosine) {
    const Id size = abs(x), is_small = less(size, f(0.785398163));
    const auto [turned, angle] = reduced(size);
    const Id quarter = b_.add(select(is_small, b_.u32(0), turned), b_.u32(is_cosine ? 1 : 0));
    const Id r = select(is_small, size, angle), s = mul(r, r);
    const Id sine =
        add(r, mul(mul(r, s), polynomial(s, {2.71820189e-6, -1.98393959e-4, 8.33332939e-3, -1.66666666e-1})));
    const Id cosine =
        add(add(f(1), mul(s, f(-0.5))), mul(mul(s, s), polynomial(s, {2.44331571e-5, -1.38873162e-3, 4.16666456e-2})));
    const Id is_odd = b_.equal(and_(quarter, 1), b_.u32(1)), is_low = b_.equal(and_(quarter, 2), b_.u32(2));
    const Id value = select(is_odd, cosine, sine), turned_value = select(is_low, negative(value), value);
    const Id is_negative = b_.is_not(b_.less(bits(x), b_.u32(kSign)));
    const Id result = is_cosine ? turned_value : select(is_negative, negative(turned_value), turned_value);
    return select(less(size, f(kInf)), result, nan());
  }

  /// A number from 1/2 on modulo pi / 2: how many quarters, and what is left, by all the bits of 2 / pi that matter
  /// (Payne and Hanek).
  std::pair<Id, Id> reduced(Id size) {
    constexpr std::array<uint32_t, 7> kTwoByPi{0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770,
                                               0x36D8A566, 0x4F10E410, 0x7F9458EA};
    const Id own = bits(size),
             mantissa = b_.math(Op::shl, Scalar::u32, {or_(and_(own, 0x7FFFFF), b_.u32(1u << 23)), b_.u32(8)});
    const Id stored = shr(own, 23), limited = select(b_.less(stored, b_.u32(126)), b_.u32(126), stored);
    const Id exponent = b_.sub(limited, b_.u32(126)), which = shr(exponent, 5), shift = and_(exponent, 31);
    const auto word = [&](int behind) {
      Id found = b_.u32(0);
      for (int i = 4; i >= 0; --i) {
        const int at = i + behind;
        const Id here = b_.u32(at < 0 ? 0 : kTwoByPi[static_cast<size_t>(at)]);
        found = i == 4 ? here : select(b_.equal(which, b_.u32(static_cast<uint64_t>(i))), here, found);
      }
      return found;
    };
    const std::array<Id, 4> words{word(-1), word(0), word(1), word(2)};
    const auto moved = [&](size_t i) {
      const Id from_next =
          b_.math(Op::shr, Scalar::u32, {shr(words[i + 1], 1), b_.math(Op::bit_xor, Scalar::u32, {shift, b_.u32(31)})});
      return or_(b_.math(Op::shl, Scalar::u32, {words[i], shift}), from_next);
    };
    const Id high = moved(0), middle = moved(1), low = moved(2);
    // Two bits before the point, 62 behind it.
    const std::array<Wide, 2> parts{
        Wide{b_.mul(mantissa, middle), b_.add(b_.mul_high(mantissa, middle), b_.mul(mantissa, high))},
        Wide{b_.mul_high(mantissa, low), b_.u32(0)}};
    const Wide product = wide_math(b_, Op::add, Scalar::u64, parts);
    const Id fraction_high = and_(product.high, 0x3FFFFFFF);
    const Id is_upper = b_.is_not(b_.less(fraction_high, b_.u32(0x20000000)));
    const Id centred = select(is_upper, b_.sub(fraction_high, b_.u32(0x40000000)), fraction_high);
    const Id quarter = b_.add(shr(product.high, 30), select(is_upper, b_.u32(1), b_.u32(0)));
    const Id left = narrow(b_, Scalar::i64, Scalar::f32, {product.low, centred});
    return {quarter, mul(left, f(0x1.921fb6p-62))};
  }

  Builder& b_;
  const bool fuses_;
};

}  // namespace

Id real_function(Builder& b, Op op, Id x, Id y, bool fuses) {
  Functions make(b, fuses);
  switch (op) {
    case Op::exp: return make.exp(x);
    case Op::tanh: return make.tanh(x);
    case Op::log: return make.log(x);
    case Op::expm1: return make.expm1(x);
    case Op::log1p: return make.log1p(x);
    case Op::log2: return make.log2(x);
    case Op::erf: return make.erf(x);
    case Op::sin: return make.sin(x);
    case Op::cos: return make.cos(x);
    case Op::mod: return make.mod(x, y);
    case Op::pow: return make.pow(x, y);
    default: base::fail("codegen", "{} of f32 is not made of others", ir::name(op));
  }
}

}  // namespace tenon::codegen
