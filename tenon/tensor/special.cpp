// Functions that are neither rows of the op table nor short compositions: inverse trigonometric and hyperbolic
// functions, erfc, lgamma and its derivatives, and sums of exponentials.
//
// Their values come of the approximations of Cephes (S. L. Moshier), which are good to the last digits of f64, written
// with the table's ops: one kernel on every device. Their gradients are rules of their own, because the pieces of an
// approximation differentiate badly.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/real_function.h"
#include "tenon/tensor/record.h"

namespace tenon {

Tensor special::real_function(const Tensor& x, std::string_view name, const Rule& values, const Rule& slope) {
  const CustomFunction function{std::string(name),
                                [values](std::span<const Tensor> in) { return std::vector{values(in[0])}; },
                                [slope](std::span<const Tensor> in, std::span<const Tensor> grads) {
                                  return std::vector{mul(grads[0], slope(in[0]))};
                                }};
  return record::in_wide(x.to(record::real_type(x.dtype())), [&](const Tensor& w) { return apply(function, w); });
}

namespace {

using std::numbers::ln2;
using std::numbers::log2e;
using std::numbers::pi;

using special::polynomial;
using special::real_function;
using special::Rule;

Tensor with_sign_of(const Tensor& x, const Tensor& size) { return where(lt(x, 0.0), neg(size), size); }

// ---- arcus functions ----

// -0 is negative, too.
Tensor is_negative(const Tensor& x) { return logical_or(lt(x, 0.0), lt(div(1.0, x), 0.0)); }

Tensor atan2_values(const Tensor& y, const Tensor& x) {
  const Tensor a = abs(y), b = abs(x), both_infinite = logical_and(isinf(a), isinf(b)),
               both_zero = logical_and(eq(a, 0.0), eq(b, 0.0));
  const Tensor quotient = where(both_infinite, 1.0, where(both_zero, 0.0, div(a, b)));
  const Tensor first = atan(quotient);
  const Tensor angle = where(is_negative(x), sub(pi, first), first);
  const Tensor is_nan = logical_or(isnan(x), isnan(y));
  return where(is_nan, add(x, y), where(is_negative(y), neg(angle), angle));
}

}  // namespace

Tensor asin(const Tensor& x) {
  return real_function(
      x, "asin", [](const Tensor& w) { return atan(div(w, sqrt(mul(sub(1.0, w), add(1.0, w))))); },
      [](const Tensor& w) { return rsqrt(sub(1.0, square(w))); });
}

Tensor acos(const Tensor& x) {
  return real_function(
      x, "acos", [](const Tensor& w) { return mul(atan(sqrt(div(sub(1.0, w), add(1.0, w)))), 2.0); },
      [](const Tensor& w) { return neg(rsqrt(sub(1.0, square(w)))); });
}

namespace {

// Two operands as real tensors of one shape and dtype, f32 for integers; f16 and bf16 are computed in f32.
Tensor real_pair(std::string_view op, const Operand& a, const Operand& b, const CustomFunction& function) {
  const Operand operands[] = {a, b};
  const DType dtype = record::real_type(record::result_type(operands)), wide = accumulator(dtype);
  const auto values = record::unified(op, operands, wide);
  return apply(function, std::vector{tensor_of(values[0]), tensor_of(values[1])})[0].to(dtype);
}

}  // namespace

Tensor atan2(const Operand& y, const Operand& x) {
  static const CustomFunction function{
      "atan2", [](std::span<const Tensor> in) { return std::vector{atan2_values(in[0], in[1])}; },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor length = add(square(in[0]), square(in[1])), is_origin = eq(length, 0.0);  // flat there
        const Tensor share = where(is_origin, 0.0, div(grads[0], where(is_origin, 1.0, length)));
        return std::vector{mul(in[1], share), mul(neg(in[0]), share)};
      }};
  return real_pair("atan2", y, x, function);
}

// The smaller one over the larger one, so that no square leaves the range.
Tensor hypot(const Operand& a, const Operand& b) {
  static const auto values = [](const Tensor& p, const Tensor& q) {
    const Tensor x = abs(p), y = abs(q), large = maximum(x, y), small = minimum(x, y);
    const Tensor is_plain = logical_and(gt(large, 0.0), isfinite(large));
    const Tensor ratio = div(where(is_plain, small, 0.0), where(is_plain, large, 1.0));
    return where(logical_or(isinf(x), isinf(y)), std::numeric_limits<double>::infinity(),
                 mul(large, sqrt(add(square(ratio), 1.0))));
  };
  static const CustomFunction function{
      "hypot", [](std::span<const Tensor> in) { return std::vector{values(in[0], in[1])}; },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor length = hypot(in[0], in[1]);
        return std::vector{mul(grads[0], div(in[0], length)), mul(grads[0], div(in[1], length))};
      }};
  return real_pair("hypot", a, b, function);
}

Tensor logaddexp(const Operand& a, const Operand& b) {
  static const CustomFunction function{
      "logaddexp",
      [](std::span<const Tensor> in) {
        const Tensor sum = add(maximum(in[0], in[1]), log1p(exp(neg(abs(sub(in[0], in[1]))))));
        return std::vector{where(eq(in[0], in[1]), add(in[0], ln2), sum)};  // equal infinities have no difference
      },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        return std::vector{mul(grads[0], sigmoid(sub(in[0], in[1]))), mul(grads[0], sigmoid(sub(in[1], in[0])))};
      }};
  return real_pair("logaddexp", a, b, function);
}

Tensor logaddexp2(const Operand& a, const Operand& b) {
  static const CustomFunction function{
      "logaddexp2",
      [](std::span<const Tensor> in) {
        const Tensor rest = log1p(exp2(neg(abs(sub(in[0], in[1])))));
        const Tensor sum = add(maximum(in[0], in[1]), mul(rest, log2e));
        return std::vector{where(eq(in[0], in[1]), add(in[0], 1.0), sum)};  // equal infinities have no difference
      },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor difference = mul(sub(in[0], in[1]), ln2);
        return std::vector{mul(grads[0], sigmoid(difference)), mul(grads[0], sigmoid(neg(difference)))};
      }};
  return real_pair("logaddexp2", a, b, function);
}

// ---- area functions ----

namespace {

constexpr double kLarge = 1e9;  // beyond, x * x + 1 is x * x to the last digit of f64

}  // namespace

Tensor asinh(const Tensor& x) {
  return real_function(
      x, "asinh",
      [](const Tensor& w) {
        const Tensor size = abs(w), is_large = gt(size, kLarge), a = where(is_large, 1.0, size);
        const Tensor near = log1p(add(a, div(square(a), add(sqrt(add(square(a), 1.0)), 1.0))));
        return where(eq(w, 0.0), w, with_sign_of(w, where(is_large, add(log(size), ln2), near)));
      },
      [](const Tensor& w) { return rsqrt(add(square(w), 1.0)); });
}

Tensor acosh(const Tensor& x) {
  return real_function(
      x, "acosh",
      [](const Tensor& w) {
        const Tensor is_large = gt(w, kLarge), above = sub(where(is_large, 2.0, w), 1.0);
        const Tensor near = log1p(add(above, sqrt(mul(above, add(above, 2.0)))));
        const Tensor values = where(is_large, add(log(w), ln2), near);
        return where(lt(w, 1.0), std::numeric_limits<double>::quiet_NaN(), values);
      },
      [](const Tensor& w) { return rsqrt(sub(square(w), 1.0)); });
}

Tensor atanh(const Tensor& x) {
  return real_function(
      x, "atanh",
      [](const Tensor& w) {
        const Tensor size = abs(w);
        return where(eq(w, 0.0), w, with_sign_of(w, mul(log1p(div(mul(size, 2.0), sub(1.0, size))), 0.5)));
      },
      [](const Tensor& w) { return div(1.0, sub(1.0, square(w))); });
}

// ---- erfc ----

namespace {

// erfc(x) exp(x * x) for 1 <= x <= 30.
Tensor erfc_over_bell(const Tensor& size) {
  constexpr std::array kAbove{2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
                              4.86371970985681366614e1,   1.96520832956077098242e2,  5.26445194995477358631e2,
                              9.34528527171957607540e2,   1.02755188689515710272e3,  5.57535335369399327526e2};
  constexpr std::array kBelow{1.0,
                              1.32281951154744992508e1,
                              8.67072140885989742329e1,
                              3.54937778887819891062e2,
                              9.75708501743205489753e2,
                              1.82390916687909736289e3,
                              2.24633760868710981792e3,
                              1.65666309194161350182e3,
                              5.57535340817727675546e2};
  constexpr std::array kFarAbove{5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414,
                                 6.16021097993053585195,    7.40974269950448939160, 2.97886665372100240670};
  constexpr std::array kFarBelow{1.0,
                                 2.26052863220117276590,
                                 9.39603524938001434673,
                                 1.20489539808096656605e1,
                                 1.70814450747565897222e1,
                                 9.60896809063285878198,
                                 3.36907645100081516050};
  const Tensor near = clamp(size, {}, 8.0);
  return where(lt(size, 8.0), div(polynomial(near, kAbove), polynomial(near, kBelow)),
               div(polynomial(size, kFarAbove), polynomial(size, kFarBelow)));
}

}  // namespace

// Beyond 1 a rational function times e^(-x^2). The square is taken of x cut to 4 bits behind the point, which is exact,
// and the rest is a factor of its own: the exponential of a rounded square would have few digits.
Tensor erfc(const Tensor& x) {
  return real_function(
      x, "erfc",
      [](const Tensor& w) {
        const Tensor size = clamp(abs(w), {}, 30.0);  // erfc is 0 long before
        const Tensor cut = mul(floor(mul(size, 16.0)), 1.0 / 16);
        const Tensor bell = mul(exp(neg(square(cut))), exp(mul(sub(cut, size), add(cut, size))));
        const Tensor tail = mul(bell, erfc_over_bell(size));
        return where(lt(size, 1.0), sub(1.0, erf(w)), where(lt(w, 0.0), sub(2.0, tail), tail));
      },
      [](const Tensor& w) { return mul(exp(neg(square(w))), -2 / std::sqrt(pi)); });
}

// Far away by the series of 1 / x, where the rational function's powers would leave the range.
Tensor special_erfcx(const Tensor& x) {
  constexpr std::array kSeries{105.0 / 16, -15.0 / 8, 3.0 / 4, -1.0 / 2, 1.0};
  return real_function(
      x, "special_erfcx",
      [&](const Tensor& w) {
        const Tensor size = abs(w), is_far = gt(size, 30.0), inverse = div(1.0, where(is_far, size, 30.0));
        const Tensor far = mul(mul(inverse, 1 / std::sqrt(pi)), polynomial(square(inverse), kSeries));
        const Tensor tail = where(is_far, far, erfc_over_bell(clamp(size, 1.0, 30.0)));
        const Tensor is_central = lt(size, 1.0), central = where(is_central, w, 0.0);
        const Tensor positive = where(is_central, mul(exp(square(central)), erfc(central)), tail);
        const Tensor mirrored = sub(mul(exp(square(w)), 2.0), tail);
        return where(isnan(w), w, where(le(w, -1.0), mirrored, positive));
      },
      [](const Tensor& w) { return sub(mul(mul(w, special_erfcx(w)), 2.0), 2 / std::sqrt(pi)); });
}

// ---- the inverse of erf ----

namespace {

// Giles, "Approximating the erfinv function", 2010: two polynomials of w = -log((1 - x) (1 + x)).
Tensor erfinv_values(const Tensor& x) {
  static constexpr std::array kCentral{2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                       -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static constexpr std::array kTail{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                    -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor size = abs(x), w = neg(log(mul(sub(1.0, x), add(x, 1.0))));
  const Tensor tail = sub(sqrt(clamp(w, 5.0, 40.0)), 3.0);  // nothing below 1 has a w above 37 in f64
  Tensor y = mul(x, where(lt(w, 5.0), polynomial(sub(clamp(w, 0.0, 5.0), 2.5), kCentral), polynomial(tail, kTail)));
  // The polynomials have the digits of f32. Newton's steps bring those of f64; near 1 they are taken on erfc.
  for (int step = 0; x.dtype() == DType::f64 && step < 2; ++step) {
    const Tensor far = mul(sub(sub(1.0, size), erfc(abs(y))), sign(x));
    const Tensor distance = where(lt(size, 0.5), sub(erf(y), x), far);
    y = sub(y, mul(mul(distance, exp(square(y))), std::sqrt(pi) / 2));
  }
  y = where(lt(size, 1.0), y, mul(x, infinity));
  return where(le(size, 1.0), y, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

Tensor erfinv(const Tensor& x) {
  return real_function(x, "erfinv", erfinv_values,
                       [](const Tensor& w) { return mul(exp(square(erfinv(w))), std::sqrt(pi) / 2); });
}

// ---- the inverse of the sigmoid ----

// PyTorch's order: where eps is above 1 - eps, what is below eps becomes eps and all else 1 - eps.
Tensor logit(const Tensor& x, std::optional<double> eps) {
  const auto between = [eps](const Tensor& w) {
    return eps ? where(lt(w, *eps), *eps, where(gt(w, 1 - *eps), 1 - *eps, w)) : w;
  };
  const auto slope = [eps](const Tensor& w) {
    const Tensor outside = eps ? logical_or(lt(w, *eps), gt(w, 1 - *eps)) : logical_or(lt(w, 0.0), gt(w, 1.0));
    const double flat = eps ? 0 : std::numeric_limits<double>::quiet_NaN();
    return where(outside, flat, div(1.0, mul(w, sub(1.0, w))));
  };
  return real_function(
      x, "logit",
      [between](const Tensor& w) {
        const Tensor share = between(w);
        return log(div(share, sub(1.0, share)));
      },
      slope);
}

// ---- the gamma function ----

namespace {

// x less its nearest integer, which is exact: the tangent of pi x is that of pi times it, and so is the sine but for
// its sign. Less its floor, what is a little below an integer would lose its digits.
Tensor from_nearest(const Tensor& x) { return sub(x, round(x)); }

// Of x >= 0: by lgamma(2 + w) / w for |w| <= 1/2, a Chebyshev fit of 6e-19, to which steps of 1 bring all below 13;
// beyond by Stirling's series. What is near 1 or 2, where lgamma is 0, goes there without rounding: its last digits are
// those of w and of log(x).
Tensor positive_lgamma(const Tensor& v) {
  constexpr std::array kSeries{8.11614167470508450300e-4, -5.95061904284301438324e-4, 7.93650340457716943945e-4,
                               -2.77777777730099687205e-3, 8.33333333333331927722e-2};
  constexpr std::array kFrom2{
      -1.32199456661178744782e-7, 2.78740805211358997781e-7, -4.32523934456048163805e-7, 9.20052789496810049063e-7,
      -2.04390481070299067437e-6, 4.38470440459836032595e-6, -9.43871509921153266068e-6, 2.05055907558334531104e-5,
      -4.49263133791556974528e-5, 9.94576735581949820741e-5, -2.23154754005205077304e-4, 5.09669515411545834793e-4,
      -1.19275391184281568591e-3, 2.89051033103426685901e-3, -7.38555102867199839532e-3, 2.05808084277803800648e-2,
      -6.73523010531981034198e-2, 3.22467033424113235619e-1, 4.22784335098467139393e-1};
  constexpr std::array kShortFrom2{1.13472819946e-4, -2.53817095673e-4, 5.06517142952e-4, -1.1858600345e-3,
                                   2.89079532156e-3, -7.38617415563e-3, 2.05807994715e-2, -6.73522814721e-2,
                                   3.22467033469e-1, 4.22784335e-1};  // of f32: 1e-10
  const Tensor is_large = ge(v, 13.0), is_low = lt(v, 0.5), is_below = lt(v, 1.5);
  Tensor x = where(is_large, 2.0, v), factor = where(is_low, mul(x, add(x, 1.0)), where(is_below, x, 1.0));
  for (int i = 0; i < 11; ++i) {
    const Tensor above = ge(x, 2.5);
    x = where(above, sub(x, 1.0), x);
    factor = where(above, mul(factor, x), factor);
  }
  const Tensor w = where(is_low, x, sub(x, where(is_below, ones_like(x), 2.0))), steps = log(factor);
  const Tensor curve = v.dtype() == DType::f64 ? polynomial(w, kFrom2) : polynomial(w, kShortFrom2);
  const Tensor near = add(mul(w, curve), where(is_below, neg(steps), steps));
  const Tensor far_x = where(is_large, v, 13.0), inverse = div(1.0, far_x);
  const Tensor stirling = add(sub(mul(sub(far_x, 0.5), log(far_x)), far_x), std::log(2 * pi) / 2);
  const Tensor far = add(stirling, mul(polynomial(square(inverse), kSeries), inverse));
  const Tensor is_infinite = eq(v, std::numeric_limits<double>::infinity());
  return where(is_infinite, v, where(is_large, far, near));
}

Tensor lgamma_values(const Tensor& x) {
  const Tensor negative = lt(x, 0.0), mirrored = positive_lgamma(where(negative, sub(1.0, x), x));
  const Tensor wave = abs(sin(mul(from_nearest(x), pi)));
  const Tensor is_pole = logical_and(le(x, 0.0), eq(floor(x), x));
  const Tensor far = where(negative, sub(log(div(pi, wave)), mirrored), mirrored);
  const Tensor size = abs(x), made = where(lt(size, 1e-20), neg(log(size)), far);  // whose reciprocal may be infinite
  return where(is_pole, std::numeric_limits<double>::infinity(), made);
}

// Adds steps of 1 until x is at least 10, with what each step contributes.
std::pair<Tensor, Tensor> raised(const Tensor& v, const Rule& contribution) {
  Tensor x = v, total = zeros_like(v);
  for (int i = 0; i < 10; ++i) {
    const Tensor low = lt(x, 10.0);
    total = where(low, add(total, contribution(x)), total);
    x = where(low, add(x, 1.0), x);
  }
  return {x, total};
}

Tensor digamma_values(const Tensor& x) {
  constexpr std::array kSeries{1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
  const Tensor negative = lt(x, 0.0);
  const auto [w, steps] = raised(where(negative, sub(1.0, x), x), [](const Tensor& at) { return div(-1.0, at); });
  const Tensor inverse = div(1.0, w), z = square(inverse);
  const Tensor positive = add(steps, sub(sub(log(w), mul(inverse, 0.5)), mul(z, polynomial(z, kSeries))));
  const Tensor rest = from_nearest(x);
  const Tensor mirrored = sub(positive, div(pi, tan(mul(rest, pi))));
  const Tensor is_pole = logical_and(negative, eq(rest, 0.0));
  const Tensor made = where(negative, where(is_pole, std::numeric_limits<double>::quiet_NaN(), mirrored), positive);
  return where(eq(x, std::numeric_limits<double>::infinity()), x, made);
}

// The derivative of digamma.
Tensor trigamma(const Tensor& x) {
  constexpr std::array kSeries{7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6};
  const Tensor negative = lt(x, 0.0);
  const auto [w, steps] =
      raised(where(negative, sub(1.0, x), x), [](const Tensor& at) { return div(1.0, square(at)); });
  const Tensor inverse = div(1.0, w), z = square(inverse);
  const Tensor series = mul(mul(z, inverse), polynomial(z, kSeries));
  const Tensor positive = add(add(steps, inverse), add(mul(z, 0.5), series));
  const Tensor wave = sin(mul(where(negative, from_nearest(x), 0.5), pi));
  return where(negative, sub(square(div(pi, wave)), positive), positive);
}

}  // namespace

Tensor lgamma(const Tensor& x) { return real_function(x, "lgamma", lgamma_values, digamma); }
Tensor digamma(const Tensor& x) {
  return real_function(x, "digamma", digamma_values, [](const Tensor& w) { return polygamma(1, w); });
}

namespace {

// x^power by squaring: the logarithm of pow() would cost digits.
Tensor whole_power(const Tensor& x, int64_t power) {
  Tensor made = ones_like(x), squared = x;
  for (int64_t left = power; left > 0; left >>= 1) {
    if (left & 1) made = mul(made, squared);
    if (left > 1) squared = square(squared);
  }
  return made;
}

// The sum of (x + k)^-order for k = 0, 1, ..., x > 0: ten terms, and the rest by Euler and Maclaurin.
Tensor hurwitz_zeta(int64_t order, const Tensor& x) {
  constexpr int kTerms = 10;
  constexpr std::array kBernoulli{1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,    5.0 / 66,
                                  -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798};
  Tensor total = zeros_like(x);
  for (int k = 0; k < kTerms; ++k) total = add(total, whole_power(div(1.0, add(x, k)), order));
  const auto power = static_cast<double>(order);
  const Tensor end = add(x, kTerms), inverse = div(1.0, end), last = whole_power(inverse, order);
  total = add(add(total, div(whole_power(inverse, order - 1), power - 1)), mul(last, 0.5));
  Tensor term = mul(mul(last, inverse), power);  // power (power + 1) ... (power + 2 j - 2) / end^(power + 2 j - 1)
  double factorial = 2;
  for (size_t j = 1; j <= kBernoulli.size(); ++j) {
    const double last_factor = power + 2 * static_cast<double>(j) - 1;
    total = add(total, mul(term, kBernoulli[j - 1] / factorial));
    term = mul(mul(term, square(inverse)), last_factor * (last_factor + 1));
    factorial *= (2 * static_cast<double>(j) + 1) * (2 * static_cast<double>(j) + 2);
  }
  return total;
}

// The n-th derivative of cot(pi x) as a polynomial of the cotangent, highest power first: that of a power of cot is
// times -pi (1 + cot^2).
std::vector<double> derivative_of_cotangent(int64_t n) {
  std::vector<double> powers{0, 1};  // lowest first
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> next(powers.size() + 1, 0.0);
    for (size_t k = 1; k < powers.size(); ++k) {
      const double slope = -pi * static_cast<double>(k) * powers[k];
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    powers = std::move(next);
  }
  return {powers.rbegin(), powers.rend()};
}

// Of 1 and more; below 0 by the reflection with the derivative of the cotangent.
Tensor polygamma_values(int64_t n, const Tensor& x) {
  const double sign = n % 2 == 0 ? -1 : 1, infinity = std::numeric_limits<double>::infinity();
  const Tensor negative = lt(x, 0.0), zeta = hurwitz_zeta(n + 1, where(negative, sub(1.0, x), x));
  const Tensor positive = mul(zeta, sign * std::tgamma(static_cast<double>(n + 1)));
  // The cosine is the sine of what is missing to a half: 0 there, and exact around it.
  const Tensor rest = where(negative, from_nearest(x), 0.5), size = abs(rest);
  const Tensor cotangent = with_sign_of(rest, div(sin(mul(sub(0.5, size), pi)), sin(mul(size, pi))));
  const std::vector<double> powers = derivative_of_cotangent(n);
  Tensor wall = full_like(x, powers[0]);
  for (size_t i = 1; i < powers.size(); ++i) wall = add(mul(wall, cotangent), powers[i]);
  const Tensor mirrored = sub(mul(positive, -sign), mul(wall, pi));
  const Tensor is_pole = logical_and(le(x, 0.0), eq(floor(x), x));
  return where(is_pole, sign * infinity, where(negative, mirrored, positive));
}

}  // namespace

Tensor polygamma(int64_t n, const Tensor& x) {
  constexpr int64_t kMost = 170;  // whose factorial is the largest that f64 holds
  if (n < 0 || n > kMost) base::fail("polygamma", "takes derivatives from 0 to {}, not number {}", kMost, n);
  if (n == 0) return digamma(x);
  return real_function(
      x, "polygamma", [n](const Tensor& w) { return n == 1 ? trigamma(w) : polygamma_values(n, w); },
      [n](const Tensor& w) { return polygamma(n + 1, w); });
}
Tensor Tensor::polygamma(int64_t n) const { return tenon::polygamma(n, *this); }

Tensor mvlgamma(const Tensor& x, int64_t p) {
  constexpr int64_t kMost = 1000;
  if (p < 1 || p > kMost) base::fail("mvlgamma", "takes from 1 to {} dims, not {}", kMost, p);
  return record::in_wide(x.to(record::real_type(x.dtype())), [p](const Tensor& w) {
    Tensor total = lgamma(w);
    for (int64_t i = 1; i < p; ++i) total = add(total, lgamma(sub(w, static_cast<double>(i) / 2)));
    return add(total, static_cast<double>(p * (p - 1)) / 4 * std::log(pi));
  });
}

// ---- running sums of exponentials ----

// In log2(n) rounds, each of which joins an element with the one that lies twice as far before it.
Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  record::require_float("logcumsumexp", x);
  if (record::is_single("logcumsumexp", x, dim)) return tensor_of(record::in(x));
  const auto axis = static_cast<int64_t>(record::axis("logcumsumexp", dim, x.shape().size()));
  return record::in_wide(x, [&](const Tensor& wide) {
    Tensor sums = tensor_of(record::in(wide));
    const int64_t count = x.size(axis);
    for (int64_t step = 1; step < count; step *= 2) {
      const Tensor joined = logaddexp(sums.narrow(axis, step, count - step), sums.narrow(axis, 0, count - step));
      // In memory: the next round reads each sum twice, and would compute it as often.
      sums = cat({sums.narrow(axis, 0, step), joined}, axis).clone();
    }
    return sums;
  });
}

// ---- between two values ----

// From the nearer end, so that both ends are exact.
Tensor lerp(const Tensor& start, const Operand& end, const Operand& weight) {
  const Operand operands[] = {start, end, weight};
  const DType dtype = record::result_type(operands), wide = accumulator(dtype);
  record::require_float("lerp", start);
  const auto values = record::unified("lerp", operands, wide);  // 16-bit types are rounded once
  const Tensor a = tensor_of(values[0]), b = tensor_of(values[1]), w = tensor_of(values[2]), way = sub(b, a);
  return where(lt(abs(w), 0.5), add(a, mul(w, way)), sub(b, mul(way, sub(1.0, w)))).to(dtype);
}

namespace {

Number fitting(std::string_view op, const Number& value, DType dtype) {
  if (value.is_real() && !is_float(dtype)) base::fail(op, "value must be an integer for {}", name(dtype));
  return value;
}

}  // namespace

// The products are of the result's dtype: those of u8 values overflow in their own. 16-bit types are rounded once.
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  const Operand operands[] = {x, a, b};
  const DType dtype = record::result_type(operands);
  const DType wide = accumulator(dtype);
  const Tensor product = mul(mul(a.to(dtype).to(wide), b.to(dtype).to(wide)), fitting("addcmul", value, dtype));
  return wide == dtype ? add(x, product) : add(x.to(wide), product).to(dtype);
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  if (!is_float(a.dtype()) && !is_float(b.dtype()))
    base::fail("addcdiv", "takes floating-point values, got {} and {}", name(a.dtype()), name(b.dtype()));
  const Operand operands[] = {x, a, b};
  const DType dtype = record::result_type(operands);
  const DType wide = accumulator(dtype);
  const Tensor quotient = mul(div(a.to(dtype).to(wide), b.to(dtype).to(wide)), value);
  return wide == dtype ? add(x, quotient) : add(x.to(wide), quotient).to(dtype);
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  if (rtol < 0 || atol < 0) base::fail("isclose", "rtol and atol must not be negative, got {} and {}", rtol, atol);
  const Tensor same = eq(a, b);
  const Tensor x = a.detach().to(record::real_type(a.dtype())), y = b.detach().to(record::real_type(b.dtype()));
  const Tensor distance = abs(sub(x, y));
  Tensor close = logical_and(isfinite(distance), le(distance, add(mul(abs(y), rtol), atol)));
  close = logical_or(same, close);
  return equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
}

}  // namespace tenon
