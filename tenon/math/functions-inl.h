// The functions of mathematics, once for all devices: templates over an arithmetic.
//
// An arithmetic A computes with vectors of a processor (backends/cpu/tile/math-inl.h), writes instructions of a kernel
// (codegen/functions.cpp) or takes numbers one by one (tests/math). It has the types Real, Word (32 bits of a whole
// number) and Truth, their operators, and what is named in the using-declaration below; whether a multiply-add rounds
// once is its affair: everything here holds either way. Range reduction and a polynomial each, in a straight line
// without branches. What a function gives is within 2 units of the last place (docs/functions-accuracy.md, which
// tests/math checks), the limits are exact, and NaN runs through.
//
// Included inside of a namespace, behind coefficients.h, and without a guard: Highway compiles it once per instruction
// set. TENON_MATH_INLINE says how its functions are inlined.

template <class A>
struct Functions : A {
  using A::A;
  using A::abs, A::at_least, A::at_most, A::copy_sign, A::equal, A::fma, A::fma_to, A::high_bits, A::is_odd, A::less,
      A::low_bits, A::negative_fma, A::number, A::polynomial, A::polynomial_by_pairs, A::power, A::select, A::shl,
      A::shr, A::real, A::sar, A::with_high_bits, A::word;
  using typename A::Real, typename A::Truth, typename A::Word;
  using C = math::Coefficients<A::kWide>;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  // ---- exponentials ----

  TENON_MATH_INLINE Real exp(const Real& x) const {
    if constexpr (A::kHasExp2) {
      return exp_by_exp2(x);
    } else {
      // Only x from below and the exponent from above have to be bounded: the polynomial of a large r is large.
      constexpr double kShift = C::kRounder + 2 * C::kBias;
      const Real bounded = at_least(x, C::kExpLeast), rounder = number(kShift);
      const Real sum = at_most(fma(bounded, number(C::kLog2E), rounder), kShift + C::kBias + 1);
      return scaled_twice(polynomial(math::series<C::kExp>, without_ln2(bounded, sum - rounder)), low_bits(sum));
    }
  }

  // Whole numbers are exact: nothing is left of them.
  TENON_MATH_INLINE Real exp2(const Real& x) const {
    constexpr double kShift = C::kRounder + 2 * C::kBias;
    const Real bounded = at_least(x, C::kExp2Least), rounder = number(kShift);
    const Real sum = at_most(bounded + rounder, kShift + C::kBias + 1), r = bounded - (sum - rounder);
    return scaled_twice(fma_to(math::series<math::kOne>, polynomial_by_pairs(math::series<C::kExp2>, r), r),
                        low_bits(sum));
  }

  // Computed at half its size, because the power above the highest is none; where that would be subnormal, e^x - 1 is
  // x.
  TENON_MATH_INLINE Real expm1(const Real& x) const {
    const Real bounded = at_least(at_most(x, C::kExpm1Most), C::kExpm1Least);
    const Whole n = nearest(bounded, C::kLog2E, C::kBias - 1);
    const Real two_to = power(n.bits), above = two_to - number(0.5);
    Real half;
    if constexpr (A::kWide) {  // what r loses is kept, and its square is added last
      const Real high = negative_fma(n.whole, number(C::kLn2High), bounded), low = n.whole * number(C::kLn2Low);
      const Real r = high - low, lost = (high - r) - low;
      half = fma(two_to, fma(r * r, polynomial(math::series<C::kExpm1>, r), lost), fma(two_to, r, above));
    } else {
      half = fma(two_to, expm1_reduced(without_ln2(bounded, n.whole)), above);
    }
    return select(less(abs(x), number(C::kExpm1Tiny)), x, half + half);
  }

  TENON_MATH_INLINE Real tanh(const Real& x) const {
    if constexpr (A::kHasExp2) {
      // 1 - 2 / (e^(2|x|) + 1), which is 1 from 9.02 on; an odd polynomial where that would lose digits.
      const Real size = abs(x), e = A::exp2_of_device(size * number(2 * C::kLog2E));
      const Real far = fma(A::reciprocal_of_device(e + number(1)), number(-2), number(1)), square = x * x;
      const Real near = fma(polynomial(math::series<C::kTanhNearer>, square) * square, size, size);
      return copy_sign(select(less(number(0.625), size), far, near), x);  // near: a NaN stays one
    } else {
      // Below 0.55, where tanh is 1/2, an odd polynomial; above, 1 - 1 / (e^(2|x|) / 2 + 1/2).
      const Real size = at_most(abs(x), C::kTanhMost), rounder = number(kTanhRounder), one = number(1);
      const Real sum = fma_to(math::series<kTanhRounder>, size, number(2 * C::kLog2E)), less_whole = rounder - sum;
      const Real r = fma(less_whole, number(C::kLn2Low / 2), fma(less_whole, number(C::kLn2High / 2), size));
      const Real e = fma_to(math::series<math::kOne>, polynomial_by_pairs(math::series<C::kTanhFar>, r), r);
      const Real far = one / fma_to(math::series<math::kHalf>, power(low_bits(sum)), e), square = size * size;
      const Real near = fma(square * size, polynomial(math::series<C::kTanhNear>, square), size);
      return copy_sign(select(less(size, number(0.55)), near, one - far), x);
    }
  }

  TENON_MATH_INLINE Real sigmoid(const Real& x) const {
    const Real one = number(1);
    if constexpr (A::kWide) {
      // 1 / (1 + e), or e / (1 + e) for what is below 0, less what the sum lost.
      const Real e = exp_of_device(-abs(x)), sum = one + e, lost = e - (sum - one);
      const Truth is_negative = less(x, number(0));
      const Real rough = select(is_negative, e, one) / sum;
      return rough - (rough * lost) * select(is_negative, one - rough, rough);
    } else if constexpr (A::kHasExp2) {
      // With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for what is below 0. What the reciprocal misses is found from e
      // itself, because 1 + e is rounded. Not of the quotient, where e may be so small that a part of it is 0.
      const Real e = exp_of_device(-abs(x)), rough = A::reciprocal_of_device(one + e);
      const Real share = fma(fma(-rough, e, one - rough), rough, rough);
      return select(less(x, number(0)), e, one) * share;
    } else {
      // s = 1 / (1 + e^|x|), or 1 - s for positive x. With e^|x| = 2^k + 2^k (e^r - 1) the sum is rounded once: 1 + 2^k
      // is exact up to k = 23, and from there on what it loses goes to the smaller summand. All of it is computed at
      // 2^-64 of its size, because s may be subnormal.
      const Real unit = number(0x1p-64), size = at_most(abs(x), 105);
      const Whole n = nearest(size, C::kLog2E, C::kBias - 64);
      const Real two_to = power(n.bits), e = expm1_reduced(without_ln2(size, n.whole));
      const Real sum = two_to + unit, lost = unit - (sum - two_to);
      const Real s = unit / (sum + fma(two_to, e, lost));
      return select(less(x, number(0)), s, one - s);
    }
  }

  // ---- logarithms ----

  TENON_MATH_INLINE Real log(const Real& x) const {
    const Split parts = split(x);
    return where_log_has_a_value(x, log_reduced(parts.mantissa - number(1), parts.exponent), x);
  }

  // The exponent is added last, so that powers of two come out exact.
  TENON_MATH_INLINE Real log2(const Real& x) const {
    const Split parts = split(x);
    const Real natural = log_reduced(parts.mantissa - number(1), number(0));
    return where_log_has_a_value(x, fma(natural, number(C::kLog2E), parts.exponent), x);
  }

  // 1 + x = (1 + f) 2^k, where f = x / 2^k + (1 / 2^k - 1) is made from x itself and so keeps the bits that 1 + x
  // loses. From some power of two on there are none to keep.
  TENON_MATH_INLINE Real log1p(const Real& x) const {
    const Real one = number(1), sum = one + x;
    const Binary parts = binary(sum);
    const Real unit = power(word(C::kBias) - parts.exponent);
    const Real f = select(less(x, number(C::kWholeFrom)), fma(x, unit, unit - one), parts.mantissa - one);
    return where_log_has_a_value(sum, copy_sign(log_reduced(f, real(parts.exponent)), x), x);
  }

  // ---- the error function ----

  TENON_MATH_INLINE Real erf(const Real& x) const {
    if constexpr (A::kWide) {  // beyond 1 by what is missing to 1, e^(-x^2) times a polynomial of 1 / (x + 3)
      const Real size = at_most(abs(x), 6), square = size * size, one = number(1);
      const Real near = fma(size, polynomial(math::series<C::kErfNear>, square), size);
      const Real missing = polynomial(math::series<C::kErfMissing>, one / (size + number(3)));
      const Real far = one - exp_of_sum(-square, number(0)) * missing;
      return copy_sign(select(less(size, one), near, far), x);  // near or far: a NaN stays one
    } else {
      // Below 0.8125 an odd polynomial; above, 1 - 2^q with q a polynomial for log2(erfc |x|). 1 from 3.92 on.
      const Real size = at_most(abs(x), 4), q = polynomial_by_pairs(math::series<C::kErfLog>, size);
      const Real rounder = number(C::kRounder + C::kBias), sum = q + rounder, rest = q + (rounder - sum);
      const Real two_to_rest =
          fma_to(math::series<math::kOne>, polynomial_by_pairs(math::series<C::kExp2>, rest), rest);
      const Real far = negative_fma(power(low_bits(sum)), two_to_rest, number(1)), square = size * size;
      const Real near = fma(size, polynomial(math::series<C::kErfNear>, square), size);
      return copy_sign(select(less(size, number(0.8125)), near, far), x);
    }
  }

  // ---- sine and cosine ----

  TENON_MATH_INLINE Real sin(const Real& x) const { return sine(x, 0, high_bits(x) & word(kSign)); }
  TENON_MATH_INLINE Real cos(const Real& x) const { return sine(x, 1, word(0)); }

  // ---- the inverse tangent ----

  // Up to 1 an odd polynomial; above, pi/2 - atan(1 / x), with pi/2 as the sum of two numbers. A NaN is not above 1,
  // and stays one.
  TENON_MATH_INLINE Real atan(const Real& x) const {
    const Real size = abs(x), one = number(1);
    const Truth is_far = less(one, size);
    const Real r = select(is_far, one / size, size), square = r * r, cube = square * r;
    const Real curve = polynomial(math::series<C::kAtan>, square);
    const Real far = (number(C::kHalfPi) - r) - fma(cube, curve, number(-C::kHalfPiLow));
    return copy_sign(select(is_far, far, fma(cube, curve, r)), x);
  }

  // ---- of two numbers ----

  // |x|^y = e^(y log |x|) with the product as a sum of two numbers: its error is multiplied by up to 100.
  Real pow(const Real& x, const Real& y) const {
    const Real size = abs(x), zero = number(0), one = number(1), infinity = number(kInfinity);
    const Sum log = log_as_sum(size), product = exact_product(y, log.high);
    const Truth is_far = !less(abs(product.high), number(C::kPowFar));
    const Real high = select(is_far, zero, product.high);
    const Real low = select(is_far, zero, product.low + y * log.low);
    const Real limit = select(less(product.high, zero), zero, infinity);
    const Real finite = select(is_far, limit, exp_of_sum(high, low));

    // 0, infinity and infinite powers: what grows becomes infinite, what shrinks 0, and 1 stays.
    const Truth is_endless = equal(abs(y), infinity);
    const Truth is_edge = equal(size, zero) | equal(size, infinity) | is_endless;
    const Truth shrinks = less(one, size) ^ less(zero, y);
    const Real edge = select(equal(size, one), one, select(shrinks, zero, infinity));
    const Real plain = select(is_edge, edge, finite);

    const Real half = y * number(0.5);
    const Truth is_whole = equal(A::floor(y), y) | is_endless;
    const Truth is_odd_power = is_whole & less(abs(y), number(C::kWholeFrom)) & !equal(A::floor(half), half);
    const Truth is_negative = A::is_below(word(kSign - 1), high_bits(x));
    const Truth is_undefined = less(x, zero) & less(number(-kInfinity), x) & !is_whole;
    const Truth is_nan = is_undefined | !equal(x, x) | !equal(y, y);
    const Real value = select(is_nan, number(kNan), select(is_negative & is_odd_power, -plain, plain));
    return select(equal(x, one) | equal(y, zero), one, value);
  }

  // What is left of x when y is taken away as often as it goes: bit by bit, from the highest power of two times y that
  // x may hold. What is left is always less than twice what is taken next, so every difference is exact.
  Real mod(const Real& x, const Real& y) const {
    const Real size = abs(x), by = abs(y);
    const auto exponent_of = [&](const Real& value) { return shr(math::by<C::kHighMantissa>, high_bits(value)); };
    const Word high = exponent_of(size), low = exponent_of(by);
    // Subnormal: lower than its exponent says by up to the bits of a mantissa.
    const Word steps = (high - low) + select(equal(low, word(0)), word(C::kPlaces + 1), word(1));
    const Truth has_value = less(size, number(kInfinity)) & less(number(0), by);  // false for NaN
    const Word count = select(has_value & !less(size, by), steps, word(0));
    const Real left = A::repeat(count, size, [&](const Real& before, const Word& step) {
      const Word exponent = (count - word(1)) - step, third = A::third(exponent);
      const auto two_to = [&](const Word& n) { return power(n + word(C::kBias)); };
      const Real factor = two_to(third);  // all of it at once is no number
      const Real taken = by * factor * factor * two_to(exponent - (third + third));
      return select(less(before, taken), before, before - taken);
    });
    return select(has_value & equal(y, y), copy_sign(left, x), number(kNan));
  }

  // ---- shared parts ----

  static constexpr uint32_t kSign = 0x80000000;
  static constexpr double kTanhRounder = C::kRounder + C::kBias - 1;

  /// The nearest whole number of x * scale, for less than 2^21, and in its low bits that number plus a bias.
  struct Whole {
    Real whole;
    Word bits;
  };
  TENON_MATH_INLINE Whole nearest(const Real& x, double scale, int bias) const {
    const Real rounder = number(C::kRounder + bias), sum = fma(x, number(scale), rounder);
    return {sum - rounder, low_bits(sum)};
  }
  /// x - whole * ln 2.
  TENON_MATH_INLINE Real without_ln2(const Real& x, const Real& whole) const {
    return negative_fma(whole, number(C::kLn2Low), negative_fma(whole, number(C::kLn2High), x));
  }
  /// x * 2^(exponent - 2 kBias) in two steps of half the size, because the powers of subnormal numbers are no
  /// exponents.
  TENON_MATH_INLINE Real scaled_twice(const Real& x, const Word& exponent) const {
    const Word half = sar(math::by<1>, exponent);
    return x * power(half) * power(exponent - half);
  }
  /// e^r - 1 for |r| <= ln 2 / 2.
  TENON_MATH_INLINE Real expm1_reduced(const Real& r) const {
    return fma(r * r, polynomial(math::series<C::kExpm1>, r), r);
  }

  TENON_MATH_INLINE Real exp_of_device(const Real& x) const {
    if constexpr (A::kIsKernel)
      return A::exp_of_language(x);
    else
      return exp(x);
  }

  // 2^n 2^r, where n is the whole number nearest to log2(e) x and r what is left of that, from x itself. 2^r is the
  // device's, whose error of 3 + 2 |r| places (Vulkan's promise) is small there. n is kept to the exponents of floats,
  // -126 to 127, as a share of these, because a clamp to 0 and 1 may cost nothing; r has what goes beyond them, and 2^r
  // knows infinity, 0 and NaN.
  Real exp_by_exp2(const Real& x) const {
    constexpr double kLeast = -126, kWidth = 253;
    const Real share = A::saturate(fma(x, number(C::kLog2E / kWidth), number(-kLeast / kWidth)));
    const Real sum = fma(share, number(kWidth), number(C::kRounder + C::kBias + kLeast));
    const Real n = sum + number(-C::kRounder - C::kBias);
    // Where products are rounded, whole multiples of a ln 2 in two parts, of which the first times n is exact.
    const Real rest = A::fuses() ? fma(x, number(C::kLog2ELow), fma(x, number(C::kLog2E), -n))
                                 : without_ln2(x, n) * number(C::kLog2E);
    return A::exp2_of_device(rest) * power(low_bits(sum));
  }

  /// e^(high + low) for |high| below kPowFar.
  TENON_MATH_INLINE Real exp_of_sum(const Real& high, const Real& low) const {
    const Whole n = nearest(high, C::kLog2E, 2 * C::kBias);
    return scaled_twice(number(1) + expm1_reduced(without_ln2(high, n.whole) + low), n.bits);
  }

  /// A positive normal number as m 2^k with sqrt(1/2) <= m < sqrt(2).
  struct Binary {
    Real mantissa;
    Word exponent;
  };
  TENON_MATH_INLINE Binary binary(const Real& x) const {
    const Word bits = high_bits(x), exponent = sar(math::by<C::kHighMantissa>, bits - word(C::kHalfOfRoot2));
    return {with_high_bits(x, bits - shl(math::by<C::kHighMantissa>, exponent)), exponent};
  }
  /// The same with k as a number, also of subnormal ones.
  struct Split {
    Real mantissa, exponent;
  };
  TENON_MATH_INLINE Split split(const Real& x) const {
    const Truth is_small = less(x, number(C::kSmallest));
    const Binary parts = binary(select(is_small, x * number(C::kGrow), x));
    return {parts.mantissa, real(parts.exponent) - select(is_small, number(C::kGrowPlaces), number(0))};
  }

  /// log(1 + f) + exponent * ln 2 for sqrt(1/2) <= 1 + f < sqrt(2).
  TENON_MATH_INLINE Real log_reduced(const Real& f, const Real& exponent) const {
    const Real high = number(C::kLn2High), low = number(C::kLn2Low);
    if constexpr (A::kWide) {
      const Real s = f / (number(2) + f), z = s * s, half_square = number(0.5) * (f * f);
      const Real rest = fma(s, fma(z, polynomial(math::series<C::kLog>, z), half_square), exponent * low);
      return fma(exponent, high, (rest - half_square) + f);
    } else {
      const Real square = f * f, tail = square * f * polynomial(math::series<C::kLog>, f);
      const Real y = negative_fma(square, number(0.5), fma(exponent, low, tail));
      return fma(exponent, high, f + y);
    }
  }
  /// y where x is positive and `from` is finite, `from` where it is infinite; -infinity for 0 and NaN for what is
  /// below.
  TENON_MATH_INLINE Real where_log_has_a_value(const Real& x, const Real& y, const Real& from) const {
    const Real nothing = select(equal(x, number(0)), number(-kInfinity), number(kNan));
    return select(less(number(0), x), select(less(from, number(kInfinity)), y, from), nothing);
  }

  /// How many quarters of a turn are in a number, in the two low bits, and what is left.
  struct Quarters {
    Word count;
    Real left;
  };
  /// sin(|x| + turn * pi/2) with a sign flipped in.
  TENON_MATH_INLINE Real sine(const Real& x, uint32_t turn, const Word& sign) const {
    const Real size = abs(x);
    const Quarters turned = quarters(size, turn);
    const Real r = turned.left, square = r * r;
    const Real sin_r = fma(square * r, polynomial(math::series<C::kSin>, square), r);
    const Real cos_r =
        fma_to(math::series<math::kOne>,
               fma_to(math::series<math::kMinusHalf>, polynomial(math::series<C::kCos>, square), square), square);
    const Word flip = sign ^ shl(math::by<31>, sar(math::by<1>, turned.count));
    const Real y = A::flipped(select(is_odd(turned.count), cos_r, sin_r), flip);
    if constexpr (A::kHasQuarters) return y;
    return select(less(size, number(kInfinity)), y, number(kNan));
  }

  TENON_MATH_INLINE Quarters quarters(const Real& size, uint32_t turn) const {
    if constexpr (A::kHasQuarters) {
      Word count;
      Real left;
      A::quarters(size, turn, count, left);
      return {count, left};
    } else {
      Quarters made{word(0), size};
      A::unless(less(size, number(std::numbers::pi / 4)), made.count, made.left, [&](Word& count, Real& left) {
        const Quarters found = quarters_of_any(size);
        count = found.count;
        left = found.left;
      });
      made.count = made.count + word(turn);
      return made;
    }
  }

  // Modulo pi / 2 by all the bits of 2 / pi that matter (Payne and Hanek), for numbers from 1/2 on. The mantissa, its
  // first bit the highest of one or two words, times as many bits of 2 / pi gives two bits before the point and 62 or
  // 126 behind it. Lower words are left out, but for what they carry.
  Quarters quarters_of_any(const Real& size) const {
    constexpr size_t kMantissa = A::kWide ? 2 : 1, kProduct = 2 * kMantissa, kFactor = kProduct + kMantissa;
    const Word bits = high_bits(size);
    const Word exponent = shr(math::by<C::kHighMantissa>, bits) - word(C::kBias - 1);
    const Word full = (bits & word((1u << C::kHighMantissa) - 1)) | word(1u << C::kHighMantissa);
    std::array<Word, kMantissa> mantissa{};
    if constexpr (A::kWide)
      mantissa = {{shl(math::by<11>, low_bits(size)), shl(math::by<11>, full) | shr(math::by<21>, low_bits(size))}};
    else
      mantissa = {{shl(math::by<8>, full)}};
    const std::array<Word, kFactor> factor = bits_of_two_by_pi<kFactor>(exponent, 2 - kMantissa);

    std::array<Word, kProduct> product{};
    Word carried = word(0);
    for (size_t i = 0; i < kProduct; ++i) {
      Word carries = word(0);
      product[i] = carried;
      const auto add = [&](const Word& term) {
        product[i] = product[i] + term;
        carries = carries + select(A::is_below(product[i], term), word(1), word(0));
      };
      for (size_t j = 0; j < kMantissa; ++j) {
        add(A::product(factor[i + kMantissa - j], mantissa[j]));
        add(A::upper_product(factor[i + kMantissa - 1 - j], mantissa[j]));
      }
      carried = carries;
    }

    const Word top = product[kProduct - 1], fraction = top & word(0x3FFFFFFF);
    const Truth is_upper = A::is_below(word(0x1FFFFFFF), fraction);
    const Word count = shr(math::by<30>, top) + select(is_upper, word(1), word(0));
    const Word centred = select(is_upper, fraction - word(0x40000000), fraction);

    // Three parts that are numbers as they are, from the highest down: where they cancel, they do so exactly.
    const Word low = product[0];
    Real a, b, c;
    if constexpr (A::kWide) {
      a = real(centred) * number(0x1p96);
      b = A::real_of_unsigned(product[2]) * number(0x1p64);
      c = A::real_of_unsigned(product[1]) * number(0x1p32) + A::real_of_unsigned(low);
    } else {
      a = real(sar(math::by<12>, centred)) * number(0x1p44);
      b = real(shl(math::by<8>, centred & word(0xFFF)) | shr(math::by<24>, low)) * number(0x1p24);
      c = real(low & word(0xFFFFFF));
    }
    const Sum upper = sum_of(a, b), left = sum_of_any(upper.high, upper.low + c);
    const Real quarter = number(C::kQuarter);
    const Sum turned = exact_product(left.high, quarter);
    const Real rest = turned.low + (left.high * number(C::kQuarterLow) + left.low * quarter);
    return {count, turned.high + rest};
  }

  /// Words of 2 / pi, the lowest first, from a bit on; the table begins with so many words to leave out.
  template <size_t kCount>
  std::array<Word, kCount> bits_of_two_by_pi(const Word& bit, size_t leave_out) const {
    constexpr size_t kMost = A::kWide ? 32 : 4;  // words that the largest exponent leaves behind it, as a power of two
    constexpr size_t kWords = A::kWide ? std::size(math::kTwoByPi) : 2 * kMost;
    std::vector<Word> words;
    for (size_t i = 0; i < kWords; ++i) words.push_back(word(math::kTwoByPi[i + leave_out]));
    const Word which = shr(math::by<5>, bit), shift = bit & word(31);
    for (uint32_t step = kMost; step > 0; step /= 2) {
      const Truth moves = !equal(which & word(step), word(0));
      const size_t needed = step == kMost ? kCount + 1 : kCount + step;  // no step comes behind the largest one
      for (size_t i = 0; i < needed && i + step < words.size(); ++i)
        words[i] = select(moves, words[i + step], words[i]);
    }
    std::array<Word, kCount> made{};
    for (size_t i = 0; i < kCount; ++i) {
      const Word from_next = A::shr_by(shr(math::by<1>, words[i + 1]), shift ^ word(31));
      made[kCount - 1 - i] = A::shl_by(words[i], shift) | from_next;
    }
    return made;
  }

  /// A number as the sum of two, the second below the last place of the first.
  struct Sum {
    Real high, low;
  };
  /// The product and its error, by halves of the factors, whose products are exact whether or not anything is fused. In
  /// f64 the last bit of the error is lost.
  Sum exact_product(const Real& x, const Real& y) const {
    const auto upper = [&](const Real& z) { return A::with_low_bits(z, low_bits(z) & word(C::kUpperHalf)); };
    const Real p = x * y, xh = upper(x), yh = upper(y), xl = x - xh, yl = y - yh;
    return {p, (((xh * yh - p) + xh * yl) + xl * yh) + xl * yl};
  }
  /// Of a number and a smaller one.
  Sum sum_of(const Real& large, const Real& small) const {
    const Real high = large + small;
    return {high, small - (high - large)};
  }
  Sum sum_of_any(const Real& x, const Real& y) const {
    const Real high = x + y, part = high - x;
    return {high, (x - (high - part)) + (y - part)};
  }

  /// The logarithm of a positive number, to about 40 bits, or 65: 2 atanh((m - 1) / (m + 1)) + k ln 2.
  Sum log_as_sum(const Real& x) const {
    const Split parts = split(x);
    const Real m = parts.mantissa, k = parts.exponent, two = number(2);
    const Real top = m - number(1), bottom = m + number(1), bottom_low = m - (bottom - number(1));
    const Real q = top / bottom;
    const Sum back = exact_product(q, bottom);
    const Real q_low = (((top - back.high) - back.low) - q * bottom_low) / bottom;
    const Sum square = exact_product(q, q);
    const Real square_low = square.low + two * (q * q_low), s = square.high;
    // atanh(q) / q - 1 - q^2 / 3, which is small enough for one number.
    const Real tail = (s * s) * polynomial(math::series<C::kAtanh>, s), kThird = number(C::kThird);
    const Sum third = exact_product(s, kThird);
    const Real third_low = third.low + (square_low * kThird + s * number(C::kThirdLow));
    const Sum series = sum_of(third.high, tail + third_low), cubic = exact_product(q, series.high);
    const Real cubic_low = cubic.low + (q * series.low + q_low * series.high);
    const Sum half = sum_of(q, cubic.high);
    const Real half_low = half.low + (q_low + cubic_low);
    // k times the upper part of ln 2 is exact: it ends in zeros.
    const Sum whole = sum_of_any(k * number(C::kLn2High), two * half.high);
    return sum_of(whole.high, whole.low + (two * half_low + k * number(C::kLn2Low)));
  }
};
