// Range reduction and a polynomial each, of coefficients that fdlibm made known; those of erf are Chebyshev's. Bits are
// reached by halves of 32, as devices with f64 need not have 64-bit integers. A fused product may be none, so errors
// of products are found by cutting factors into halves of 26 and 27 bits.

#include "tenon/codegen/f64_functions.h"

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::codegen {
namespace {

using ir::Op;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts; the first ends in 21 zeros, so that its product with an exponent is exact.
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
constexpr double kLog2E = 1.44269504088896338700;
constexpr uint32_t kSign = 0x80000000u, kOne = 0x3FF00000u;
constexpr uint32_t kHalfOfRoot2 = 0x3FE6A09Eu;  // the upper half of sqrt(0.5)

/// A number as the sum of two, the second below the last place of the first.
struct Sum {
  Id high, low;
};

class Functions {
 public:
  explicit Functions(Builder& b) : b_(b) {}

  Id exp(Id x) {
    const Id limited = at_most(at_least(x, -746), 710);
    return select(is_nan(x), x, exp_of(limited, f(0)));
  }

  // 2^n (e^r - 1 + (1 - 2^-n)); half of it, so that the highest power is a number too.
  Id expm1(Id x) {
    const Id limited = at_most(at_least(x, -40), 710);
    const Id n = nearest_power(limited);
    const Id high = add(limited, mul(n, f(-kLn2High))), low = mul(n, f(kLn2Low));
    const Id r = sub(high, low), lost = sub(sub(high, r), low);
    const Id half = mul(f(0.5), r), square = mul(r, half);
    const Id even =
        polynomial(square, {-2.01099218183624371326e-07, 4.00821782732936239552e-06, -7.93650757867487942473e-05,
                            1.58730158725481460165e-03, -3.33333333333331316428e-02, 1});
    const Id t = sub(f(3), mul(even, half));
    const Id e = mul(square, div(sub(even, t), sub(f(6), mul(r, t))));
    const Id inside = sub(r, sub(sub(mul(r, sub(e, lost)), lost), square));
    const Id whole = to_int(n), below = power_of_two(b_.math(Op::neg, Scalar::i32, {at_most_i(whole, 1000)}));
    const Id halved = mul(power_of_two(add_i(whole, -1)), add(sub(f(1), below), inside));
    return select(b_.either(is_nan(x), less(abs(x), f(0x1p-54))), x, add(halved, halved));
  }

  // (1 - e^-2x) / (1 + e^-2x).
  Id tanh(Id x) {
    const Id e = expm1(mul(f(-2), abs(x)));
    return with_sign_of(x, div(negative(e), add(f(2), e)));
  }

  Id log(Id x) {
    const auto [k, m] = parts_of(x);
    const Id result = log_of(k, sub(m, f(1)), f(0));
    const Id above = select(less(x, f(kInf)), select(equal(x, f(0)), f(-kInf), result), x);
    return select(less(x, f(0)), f(kNan), above);
  }

  Id log1p(Id x) {
    const Id u = add(f(1), x);
    const auto [k, m] = parts_of(u);
    // What 1 + x lost, relative to it.
    const Id lost = select(less(u, f(2)), sub(x, sub(u, f(1))), sub(f(1), sub(u, x)));
    const Id is_near = equal(k, f(0));
    const Id result = log_of(k, select(is_near, x, sub(m, f(1))), select(is_near, f(0), div(lost, u)));
    const Id above = select(b_.either(equal(x, f(0)), b_.is_not(less(x, f(kInf)))), x, result);
    return select(less(x, f(-1)), f(kNan), select(equal(x, f(-1)), f(-kInf), above));
  }

  Id log2(Id x) {
    const auto [k, m] = parts_of(x);
    const Id result = add(k, mul(log_of(f(0), sub(m, f(1)), f(0)), f(kLog2E)));
    const Id above = select(less(x, f(kInf)), select(equal(x, f(0)), f(-kInf), result), x);
    return select(less(x, f(0)), f(kNan), above);
  }

  // Near 0 an odd polynomial; beyond 1 by what is missing to 1, e^(-x^2) times a polynomial of 1 / (x + 3).
  Id erf(Id x) {
    const Id size = at_most(abs(x), 6), square = mul(size, size);
    const Id series = polynomial(
        square, {-7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
                 -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225,
                 -0.02686617064323777, 0.11283791670945006, -0.37612638903183543, 0.12837916709551256});
    const Id near = add(size, mul(size, series));
    const Id missing =
        polynomial(div(f(1), add(size, f(3))),
                   {-18869.516370631904, 42231.872521452955, -38939.33820426925, 19141.050739874587,
                    -6093.6565386338125, 1587.0765230329214, -182.469576090648, 62.37025231425608, 9.787760610086625,
                    4.987166672704935, 1.6840218084061775, 0.5644211912388195, -2.8802148470534555e-06});
    const Id far = sub(f(1), mul(exp_of(negative(square), f(0)), missing));
    return select(is_nan(x), x, with_sign_of(x, select(less(size, f(1)), near, far)));
  }

  /// Sine, or cosine as the sine a quarter further on.
  Id sine(Id x, bool is_cosine) {
    const Id size = abs(x), is_small = less(size, f(0.78539816339744831));
    const Id turned = b_.variable(b_.u32(0)), angle = b_.variable(size);
    b_.branch(b_.is_not(is_small), [&] {
      const auto [quarter, left] = reduced(size);
      b_.set(turned, quarter);
      b_.set(angle, left);
    });
    const Id quarter = b_.add(b_.get(turned), b_.u32(is_cosine ? 1 : 0));
    const Id r = b_.get(angle), s = mul(r, r);
    const Id odd =
        polynomial(s, {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                       -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01});
    const Id even =
        polynomial(s, {-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                       2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02});
    const Id sine = add(r, mul(mul(r, s), odd));
    const Id half = mul(f(0.5), s), most = sub(f(1), half);
    const Id cosine = add(most, add(sub(sub(f(1), most), half), mul(mul(s, s), even)));
    const Id is_odd = b_.equal(and_(quarter, 1), b_.u32(1)), is_low = b_.equal(and_(quarter, 2), b_.u32(2));
    const Id value = select(is_odd, cosine, sine), turned_value = select(is_low, negative(value), value);
    const Id is_negative = b_.is_not(b_.less(high_of(x), b_.u32(kSign)));
    const Id result = is_cosine ? turned_value : select(is_negative, negative(turned_value), turned_value);
    return select(less(size, f(kInf)), result, f(kNan));
  }

  // What is left of x when y is taken away as often as it goes, bit by bit: see math.cpp.
  Id mod(Id x, Id y) {
    const Id size = abs(x), by = abs(y), zero = b_.u32(0);
    const Id high = shr(high_of(size), 20), low = shr(high_of(by), 20);
    // Subnormal: up to 52 bits lower than its exponent says.
    const Id steps = b_.add(b_.sub(high, low), select(b_.equal(low, zero), b_.u32(53), b_.u32(1)));
    const Id has_value = b_.both(less(size, f(kInf)), less(f(0), by));  // false for NaN
    const Id count = select(b_.both(has_value, b_.is_not(less(size, by))), steps, zero);
    const Id left = b_.variable(size);
    b_.loop(zero, count, b_.u32(1), [&](Id step) {
      const Id power = b_.sub(b_.add(count, b_.u32(UINT32_MAX)), step);
      const Id third = b_.div(power, b_.u32(3)), factor = power_of_two(b_.bitcast(third, Scalar::i32));
      const Id rest = power_of_two(b_.bitcast(b_.sub(power, b_.add(third, third)), Scalar::i32));
      const Id taken = mul(mul(mul(by, factor), factor), rest);  // 2^2098 is no number
      const Id before = b_.get(left);
      b_.set(left, select(less(before, taken), before, sub(before, taken)));
    });
    return select(b_.both(has_value, equal(y, y)), with_sign_of(x, b_.get(left)), f(kNan));
  }

  Id pow(Id x, Id y) {
    const Id size = abs(x);
    const Sum log = long_log(size);
    const Sum power = exact_product(y, log.high);
    const Id is_far = b_.is_not(less(abs(power.high), f(746)));
    const Id high = select(is_far, f(0), power.high);
    const Id low = select(is_far, f(0), add(power.low, mul(y, log.low)));
    const Id limit = select(less(power.high, f(0)), f(0), f(kInf));
    const Id finite = select(is_far, limit, exp_of(high, low));

    // 0, infinity and infinite powers: what grows becomes infinite, what shrinks 0, and 1 stays.
    const Id is_one = equal(size, f(1)), is_endless = equal(abs(y), f(kInf));
    const Id is_edge = b_.either(b_.either(equal(size, f(0)), equal(size, f(kInf))), is_endless);
    const Id differ = b_.math(Op::bit_xor, Scalar::boolean, {less(f(1), size), less(f(0), y)});
    const Id plain = select(is_edge, select(is_one, f(1), select(differ, f(0), f(kInf))), finite);

    const Id half = mul(y, f(0.5));
    const Id is_whole = b_.either(equal(floor(y), y), is_endless);
    const Id is_odd = b_.both(b_.both(is_whole, less(abs(y), f(0x1p53))), b_.is_not(equal(floor(half), half)));
    const Id is_negative = b_.is_not(b_.less(high_of(x), b_.u32(kSign)));
    const Id is_undefined = b_.both(b_.both(less(x, f(0)), less(f(-kInf), x)), b_.is_not(is_whole));
    const Id value = select(b_.both(is_negative, is_odd), negative(plain), plain);
    const Id number = select(b_.either(is_undefined, b_.either(is_nan(x), is_nan(y))), f(kNan), value);
    return select(b_.either(equal(x, f(1)), equal(y, f(0))), f(1), number);
  }

 private:
  // ---- notation ----

  Id f(double number) { return b_.constant(Scalar::f64, std::bit_cast<uint64_t>(number)); }
  Id add(Id x, Id y) { return b_.math(Op::add, Scalar::f64, {x, y}); }
  Id sub(Id x, Id y) { return add(x, negative(y)); }
  Id mul(Id x, Id y) { return b_.math(Op::mul, Scalar::f64, {x, y}); }
  Id div(Id x, Id y) { return b_.math(Op::div, Scalar::f64, {x, y}); }
  Id floor(Id x) { return b_.math(Op::floor, Scalar::f64, {x}); }
  Id abs(Id x) { return b_.math(Op::abs, Scalar::f64, {x}); }
  Id negative(Id x) { return b_.math(Op::neg, Scalar::f64, {x}); }
  Id less(Id x, Id y) { return b_.less(x, y); }
  Id equal(Id x, Id y) { return b_.equal(x, y); }
  Id select(Id condition, Id x, Id y) { return b_.select(condition, x, y); }
  // Numbers for NaN too.
  Id at_most(Id x, double most) { return select(less(x, f(most)), x, f(most)); }
  Id at_least(Id x, double least) { return select(less(f(least), x), x, f(least)); }
  Id is_nan(Id x) { return b_.is_not(b_.equal(x, x)); }
  Id low_of(Id x) { return b_.f64_word(x, 0); }
  Id high_of(Id x) { return b_.f64_word(x, 1); }
  Id and_(Id x, uint32_t mask) { return b_.math(Op::bit_and, Scalar::u32, {x, b_.u32(mask)}); }
  Id or_(Id x, Id y) { return b_.math(Op::bit_or, Scalar::u32, {x, y}); }
  Id shl(Id x, uint32_t count) { return b_.math(Op::shl, Scalar::u32, {x, b_.u32(count)}); }
  Id shr(Id x, uint32_t count) { return b_.math(Op::shr, Scalar::u32, {x, b_.u32(count)}); }
  Id to_int(Id x) { return b_.convert(x, Scalar::i32); }
  Id add_i(Id x, int64_t number) { return b_.add(x, b_.whole(Scalar::i32, number)); }
  Id at_most_i(Id x, int64_t most) {
    return select(b_.less(b_.whole(Scalar::i32, most), x), b_.whole(Scalar::i32, most), x);
  }
  Id with_sign_of(Id x, Id size) {
    return b_.f64_of(low_of(size), or_(and_(high_of(x), kSign), and_(high_of(size), ~kSign)));
  }
  /// From -1022 to 1023.
  Id power_of_two(Id exponent) { return b_.f64_of(b_.u32(0), shl(b_.bitcast(add_i(exponent, 1023), Scalar::u32), 20)); }
  /// The highest power first.
  Id polynomial(Id x, std::initializer_list<double> coefficients) {
    Id sum = kNoValue;
    for (const double each : coefficients) sum = sum == kNoValue ? f(each) : b_.fma(sum, x, f(each));
    return sum;
  }

  // ---- shared parts ----

  Id nearest_power(Id x) { return floor(add(mul(x, f(kLog2E)), f(0.5))); }

  /// e^(x + rest), for x from -746 to 746.
  Id exp_of(Id x, Id rest) {
    const Id n = nearest_power(x);
    const Id high = add(x, mul(n, f(-kLn2High))), low = sub(mul(n, f(kLn2Low)), rest);
    const Id r = sub(high, low), square = mul(r, r);
    const Id series =
        polynomial(square, {4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05,
                            -2.77777777770155933842e-03, 1.66666666666666019037e-01});
    const Id c = sub(r, mul(square, series));
    const Id inside = sub(f(1), sub(sub(low, div(mul(r, c), sub(f(2), c))), high));
    // Two steps: 2^-1075 is no number.
    const Id whole = to_int(n), first = b_.math(Op::shr, Scalar::i32, {whole, b_.whole(Scalar::i32, 1)});
    return mul(mul(inside, power_of_two(first)), power_of_two(b_.sub(whole, first)));
  }

  /// A positive number as 2^k m with m between the roots of 1/2 and 2.
  std::pair<Id, Id> parts_of(Id x) {
    const Id is_small = less(x, f(0x1p-1022)), own = select(is_small, mul(x, f(0x1p54)), x);
    const Id moved = b_.add(high_of(own), b_.u32(kOne - kHalfOfRoot2));
    const Id exponent = b_.convert(add_i(b_.bitcast(shr(moved, 20), Scalar::i32), -1023), Scalar::f64);
    const Id m = b_.f64_of(low_of(own), b_.add(and_(moved, 0xFFFFF), b_.u32(kHalfOfRoot2)));
    return {add(exponent, select(is_small, f(-54), f(0))), m};
  }

  /// log(1 + fraction) + k log 2 + correction, for 1 + fraction between the roots of 1/2 and 2; within a place.
  Id log_of(Id k, Id fraction, Id correction) {
    const Id s = div(fraction, add(f(2), fraction)), z = mul(s, s);
    const Id rest = mul(z, polynomial(z, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                                          2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                                          6.666666666666735130e-01}));
    const Id half_square = mul(f(0.5), mul(fraction, fraction));
    const Id low = add(mul(s, add(half_square, rest)), add(mul(k, f(kLn2Low)), correction));
    return add(add(sub(low, half_square), fraction), mul(k, f(kLn2High)));
  }

  /// The product without the last bit of its error, which the lower halves lose.
  Sum exact_product(Id x, Id y) {
    const auto upper = [&](Id z) { return b_.f64_of(and_(low_of(z), 0xF8000000u), high_of(z)); };
    const Id p = mul(x, y), xh = upper(x), yh = upper(y), xl = sub(x, xh), yl = sub(y, yh);
    return {p, add(add(add(sub(mul(xh, yh), p), mul(xh, yl)), mul(xl, yh)), mul(xl, yl))};
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

  /// The logarithm of a positive number, to about 65 bits: 2 atanh((m - 1) / (m + 1)) + k log 2.
  Sum long_log(Id x) {
    const auto [k, m] = parts_of(x);
    const Id top = sub(m, f(1)), bottom = add(m, f(1));
    const Id bottom_low = sub(m, sub(bottom, f(1)));
    const Id q = div(top, bottom);
    const Sum back = exact_product(q, bottom);
    const Id q_low = div(sub(sub(sub(top, back.high), back.low), mul(q, bottom_low)), bottom);
    const Sum square = exact_product(q, q);
    const Id square_low = add(square.low, mul(f(2), mul(q, q_low)));
    const Id s = square.high;
    // atanh(q) / q - 1 - q^2 / 3, which is small enough for one number.
    const Id tail = mul(mul(s, s), polynomial(s, {1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15,
                                                  1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5}));
    constexpr double kThird = 0x1.5555555555555p-2;
    const Sum third = exact_product(s, f(kThird));
    const Id third_low = add(third.low, add(mul(square_low, f(kThird)), mul(s, f(0x1.5555555555555p-56))));
    const Sum series = sum_of(third.high, add(tail, third_low));
    const Sum cubic = exact_product(q, series.high);
    const Id cubic_low = add(cubic.low, add(mul(q, series.low), mul(q_low, series.high)));
    const Sum half = sum_of(q, cubic.high);
    const Id half_low = add(half.low, add(q_low, cubic_low));
    // k times the upper part of log 2 is exact: it ends in zeros.
    const Sum whole = sum_of_any(mul(k, f(kLn2High)), mul(f(2), half.high));
    const Id low = add(whole.low, add(mul(f(2), half_low), mul(k, f(kLn2Low))));
    return sum_of(whole.high, low);
  }

  /// A number from 1/2 on modulo pi / 2: how many quarters, and what is left, by all the bits of 2 / pi that matter
  /// (Payne and Hanek).
  std::pair<Id, Id> reduced(Id size) {
    const Id stored = shr(high_of(size), 20), exponent = b_.sub(stored, b_.u32(1022));
    const std::array<Id, kFactor> factor = bits_from(exponent);
    // The mantissa, its first bit the highest of two words.
    const Id full = or_(and_(high_of(size), 0xFFFFF), b_.u32(1u << 20));
    const Id high = or_(shl(full, 11), shr(low_of(size), 21)), low = shl(low_of(size), 11);
    // Their product: two bits before the point, 126 behind it. Lower words are left out, but for what they carry.
    std::array<Id, 4> words{};
    std::vector<Id> carries;
    for (size_t i = 0; i < words.size(); ++i) {
      std::vector<Id> terms = std::move(carries);
      carries.clear();
      terms.push_back(b_.mul_high(factor[i], high));
      terms.push_back(b_.mul_high(factor[i + 1], low));
      terms.push_back(b_.mul(factor[i + 1], high));
      terms.push_back(b_.mul(factor[i + 2], low));
      words[i] = terms[0];
      for (size_t term = 1; term < terms.size(); ++term) {
        const Id sum = b_.add(words[i], terms[term]);
        carries.push_back(select(b_.less(sum, terms[term]), b_.u32(1), b_.u32(0)));
        words[i] = sum;
      }
      Id carried = carries[0];
      for (size_t each = 1; each < carries.size(); ++each) carried = b_.add(carried, carries[each]);
      carries = {carried};
    }
    const Id fraction = and_(words[3], 0x3FFFFFFF);
    const Id is_upper = b_.is_not(b_.less(fraction, b_.u32(0x20000000)));
    const Id centred = b_.bitcast(select(is_upper, b_.sub(fraction, b_.u32(0x40000000)), fraction), Scalar::i32);
    const Id quarter = b_.add(shr(words[3], 30), select(is_upper, b_.u32(1), b_.u32(0)));
    // From the highest word down: where they cancel, they do so exactly.
    Id left = mul(b_.convert(centred, Scalar::f64), f(0x1p96));
    left = add(left, mul(b_.convert(words[2], Scalar::f64), f(0x1p64)));
    left = add(left, mul(b_.convert(words[1], Scalar::f64), f(0x1p32)));
    left = add(left, b_.convert(words[0], Scalar::f64));
    return {quarter, mul(left, f(0x1.921fb54442d18p-126))};
  }

  /// Six words of 2 / pi, the lowest first, from a bit on that is counted from 66 bits before the point.
  static constexpr size_t kFactor = 6;
  std::array<Id, kFactor> bits_from(Id bit) {
    // 2 / pi behind 64 bits that are 0, and the two that the product has before its point.
    constexpr std::array<uint32_t, 39> kTwoByPi{
        0x00000000, 0x00000000, 0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770, 0x36D8A566, 0x4F10E410,
        0x7F9458EA, 0xF7AEF158, 0x6DC91B8E, 0x909374B8, 0x01924BBA, 0x82746487, 0x3F877AC7, 0x2C4A69CF,
        0xBA208D7D, 0x4BAED121, 0x3A671C09, 0xAD17DF90, 0x4E64758E, 0x60D4CE7D, 0x272117E2, 0xEF7E4A0E,
        0xC7FE25FF, 0xF7816603, 0xFBCBC462, 0xD6829B47, 0xDB4D9FB3, 0xC9F2C26D, 0xD3D18FD9, 0xA797FA8B,
        0x5D49EEB1, 0xFAF97C5E, 0xCF41CE7D, 0xE294A4BA, 0x9AFED7EC, 0x47E35742, 0x1580CC11};
    std::vector<Id> words;
    for (const uint32_t word : kTwoByPi) words.push_back(b_.u32(word));
    const Id which = shr(bit, 5), shift = and_(bit, 31);
    for (uint32_t step = 32; step > 0; step /= 2) {
      const Id moves = b_.is_not(b_.equal(and_(which, step), b_.u32(0)));
      const size_t needed = step == 32 ? kFactor + 1 : kFactor + step;  // no step comes behind the one of 32
      for (size_t i = 0; i < needed && i + step < words.size(); ++i)
        words[i] = select(moves, words[i + step], words[i]);
    }
    std::array<Id, kFactor> made{};
    for (size_t i = 0; i < kFactor; ++i) {
      const Id from_next =
          b_.math(Op::shr, Scalar::u32, {shr(words[i + 1], 1), b_.math(Op::bit_xor, Scalar::u32, {shift, b_.u32(31)})});
      made[kFactor - 1 - i] = or_(b_.math(Op::shl, Scalar::u32, {words[i], shift}), from_next);
    }
    return made;
  }

  Builder& b_;
};

}  // namespace

Id f64_function(Builder& b, Op op, Id x, Id y) {
  Functions make(b);
  switch (op) {
    case Op::exp: return make.exp(x);
    case Op::expm1: return make.expm1(x);
    case Op::tanh: return make.tanh(x);
    case Op::log: return make.log(x);
    case Op::log1p: return make.log1p(x);
    case Op::log2: return make.log2(x);
    case Op::erf: return make.erf(x);
    case Op::sin: return make.sine(x, false);
    case Op::cos: return make.sine(x, true);
    case Op::mod: return make.mod(x, y);
    case Op::pow: return make.pow(x, y);
    default: base::fail("codegen", "{} of f64 is not made of others", ir::name(op));
  }
}

}  // namespace tenon::codegen
