// Written by scripts/make_functions.py from tenon/tensor/functions.def; do not edit.
//
// Functions and methods of Python.

// clang-format off
#include "computed.h"
#include "functions.h"

namespace tenon::python {

void note_functions() {
  define<"add", "x, other, alpha=1", [](const Operand& x, const Operand& other, Number alpha) { return tenon::add(x, other, alpha); }>(
      "x + alpha * other.", kBoth);
  define<"sub", "x, other, alpha=1", [](const Operand& x, const Operand& other, Number alpha) { return tenon::sub(x, other, alpha); }>(
      "x - alpha * other.", kBoth);
  define<"subtract", "x, other, alpha=1", [](const Operand& x, const Operand& other, Number alpha) { return tenon::subtract(x, other, alpha); }>(
      "As sub.", kBoth);
  define<"rsub", "x, other, alpha=1", [](const Tensor& x, const Operand& other, Number alpha) { return tenon::rsub(x, other, alpha); }>(
      "other - alpha * x.", kBoth);
  define<"mul", "x, other", [](const Operand& x, const Operand& other) { return tenon::mul(x, other); }>(
      "x * other.", kBoth);
  define<"multiply", "x, other", [](const Operand& x, const Operand& other) { return tenon::multiply(x, other); }>(
      "As mul.", kBoth);
  define<"div", "x, other, rounding_mode=None", [](const Operand& x, const Operand& other, const std::optional<std::string>& rounding_mode) { return tenon::div(x, other, rounding_mode); }>(
      "x / other, always real; with the rounding mode 'floor' or 'trunc' integers stay integers.", kBoth);
  define<"divide", "x, other, rounding_mode=None", [](const Operand& x, const Operand& other, const std::optional<std::string>& rounding_mode) { return tenon::divide(x, other, rounding_mode); }>(
      "As div.", kBoth);
  define<"true_divide", "x, other", [](const Operand& x, const Operand& other) { return tenon::true_divide(x, other); }>(
      "x / other.", kBoth);
  define<"floor_divide", "x, other", [](const Operand& x, const Operand& other) { return tenon::floor_divide(x, other); }>(
      "x // other, rounded down.", kBoth);
  define<"remainder", "x, other", [](const Operand& x, const Operand& other) { return tenon::remainder(x, other); }>(
      "x % other, with the sign of other.", kBoth);
  define<"fmod", "x, other", [](const Tensor& x, const Operand& other) { return tenon::fmod(x, other); }>(
      "The remainder with the sign of x, as in C.", kBoth);
  define<"gcd", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::gcd(x, other); }>(
      "The largest integer that divides both.", kBoth);
  define<"lcm", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::lcm(x, other); }>(
      "The smallest integer that both divide.", kBoth);
  define<"pow", "x, exponent", [](const Operand& x, const Operand& exponent) { return tenon::pow(x, exponent); }>(
      "x ** exponent.", kBoth);
  define<"float_power", "x, exponent", [](const Operand& x, const Operand& exponent) { return tenon::float_power(x, exponent); }>(
      "x ** exponent in float64.", kBoth);
  define<"lerp", "start, end, weight", [](const Tensor& start, const Operand& end, const Operand& weight) { return tenon::lerp(start, end, weight); }>(
      "start + weight * (end - start).", kBoth);
  define<"addcmul", "x, a, b, value=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number value) { return tenon::addcmul(x, a, b, value); }>(
      "x + value * a * b.", kBoth);
  define<"addcdiv", "x, a, b, value=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number value) { return tenon::addcdiv(x, a, b, value); }>(
      "x + value * a / b.", kBoth);
  define<"maximum", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::maximum(x, other); }>(
      "The larger of two, element by element.", kBoth);
  define<"minimum", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::minimum(x, other); }>(
      "The smaller of two, element by element.", kBoth);
  define<"atan2", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::atan2(x, other); }>(
      "The angle of (other, x), from -pi to pi.", kBoth);
  define<"arctan2", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::arctan2(x, other); }>(
      "As atan2.", kBoth);
  define<"hypot", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::hypot(x, other); }>(
      "sqrt(x * x + other * other).", kBoth);
  define<"fmax", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::fmax(x, other); }>(
      "The larger of two elements, or the one that is a number where the other is NaN.", kBoth);
  define<"fmin", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::fmin(x, other); }>(
      "The smaller of two elements, or the one that is a number where the other is NaN.", kBoth);
  define<"xlogy", "x, other", [](const Operand& x, const Operand& other) { return tenon::xlogy(x, other); }>(
      "x * log(other), and 0 where x is 0, whatever the other is but NaN.", kBoth);
  define<"special_xlog1py", "x, other", [](const Operand& x, const Operand& other) { return tenon::special_xlog1py(x, other); }>(
      "x * log(1 + other), and 0 where x is 0, whatever the other is but NaN.", kFunction);
  define<"logaddexp", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::logaddexp(x, other); }>(
      "log(exp(x) + exp(other)).", kBoth);
  define<"copysign", "x, other", [](const Tensor& x, const Operand& other) { return tenon::copysign(x, other); }>(
      "|x| with the sign of other.", kBoth);
  define<"heaviside", "x, values", [](const Tensor& x, const Tensor& values) { return tenon::heaviside(x, values); }>(
      "0 below 0, 1 above, and the values at 0.", kBoth);
  define<"clamp", "x, min=None, max=None", [](const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) { return tenon::clamp(x, std::move(min), std::move(max)); }>(
      "Values brought between min and max.", kBoth);
  define<"clip", "x, min=None, max=None", [](const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) { return tenon::clip(x, std::move(min), std::move(max)); }>(
      "As clamp.", kBoth);
  define<"clamp_min", "x, min", [](const Tensor& x, const Operand& min) { return tenon::clamp_min(x, min); }>(
      "At least min.", kBoth);
  define<"clamp_max", "x, max", [](const Tensor& x, const Operand& max) { return tenon::clamp_max(x, max); }>(
      "At most max.", kBoth);
  define<"masked_fill", "x, mask, value", [](const Tensor& x, const Tensor& mask, const Operand& value) { return tenon::masked_fill(x, mask, value); }>(
      "The value where the mask is true.", kBoth);
  define<"eq", "x, other", [](const Tensor& x, const Operand& other) { return tenon::eq(x, other); }>(
      "Where x == other.", kBoth);
  define<"ne", "x, other", [](const Tensor& x, const Operand& other) { return tenon::ne(x, other); }>(
      "Where x != other.", kBoth);
  define<"not_equal", "x, other", [](const Tensor& x, const Operand& other) { return tenon::not_equal(x, other); }>(
      "As ne.", kBoth);
  define<"lt", "x, other", [](const Tensor& x, const Operand& other) { return tenon::lt(x, other); }>(
      "Where x < other.", kBoth);
  define<"less", "x, other", [](const Tensor& x, const Operand& other) { return tenon::less(x, other); }>(
      "As lt.", kBoth);
  define<"le", "x, other", [](const Tensor& x, const Operand& other) { return tenon::le(x, other); }>(
      "Where x <= other.", kBoth);
  define<"less_equal", "x, other", [](const Tensor& x, const Operand& other) { return tenon::less_equal(x, other); }>(
      "As le.", kBoth);
  define<"gt", "x, other", [](const Tensor& x, const Operand& other) { return tenon::gt(x, other); }>(
      "Where x > other.", kBoth);
  define<"greater", "x, other", [](const Tensor& x, const Operand& other) { return tenon::greater(x, other); }>(
      "As gt.", kBoth);
  define<"ge", "x, other", [](const Tensor& x, const Operand& other) { return tenon::ge(x, other); }>(
      "Where x >= other.", kBoth);
  define<"greater_equal", "x, other", [](const Tensor& x, const Operand& other) { return tenon::greater_equal(x, other); }>(
      "As ge.", kBoth);
  define<"logical_and", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::logical_and(x, other); }>(
      "Where both are not 0.", kBoth);
  define<"logical_or", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::logical_or(x, other); }>(
      "Where either is not 0.", kBoth);
  define<"logical_xor", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::logical_xor(x, other); }>(
      "Where exactly one is not 0.", kBoth);
  define<"logical_not", "x", [](const Tensor& x) { return tenon::logical_not(x); }>(
      "Where elements are 0.", kBoth);
  define<"bitwise_and", "x, other", [](const Operand& x, const Operand& other) { return tenon::bitwise_and(x, other); }>(
      "x & other.", kBoth);
  define<"bitwise_or", "x, other", [](const Operand& x, const Operand& other) { return tenon::bitwise_or(x, other); }>(
      "x | other.", kBoth);
  define<"bitwise_xor", "x, other", [](const Operand& x, const Operand& other) { return tenon::bitwise_xor(x, other); }>(
      "x ^ other.", kBoth);
  define<"bitwise_not", "x", [](const Tensor& x) { return tenon::bitwise_not(x); }>(
      "All bits inverted; logical not of bools.", kBoth);
  define<"bitwise_left_shift", "x, other", [](const Tensor& x, const Operand& other) { return tenon::bitwise_left_shift(x, other); }>(
      "x << other.", kBoth);
  define<"bitwise_right_shift", "x, other", [](const Tensor& x, const Operand& other) { return tenon::bitwise_right_shift(x, other); }>(
      "x >> other.", kBoth);
  define<"isclose", "x, other, rtol=1e-5, atol=1e-8, equal_nan=False", [](const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) { return tenon::isclose(x, other, rtol, atol, equal_nan); }>(
      "Where |x - other| <= atol + rtol * |other|.", kBoth);
  define<"isnan", "x", [](const Tensor& x) { return tenon::isnan(x); }>(
      "Where elements are NaN.", kBoth);
  define<"isinf", "x", [](const Tensor& x) { return tenon::isinf(x); }>(
      "Where elements are infinite.", kBoth);
  define<"isfinite", "x", [](const Tensor& x) { return tenon::isfinite(x); }>(
      "Where elements are neither infinite nor NaN.", kBoth);
  define<"signbit", "x", [](const Tensor& x) { return tenon::signbit(x); }>(
      "Where elements are negative, -0 among them.", kBoth);
  define<"isin", "elements, test_elements, assume_unique=False, invert=False", [](const Tensor& elements, const Operand& test_elements, bool assume_unique, bool invert) { return tenon::isin(elements, test_elements, assume_unique, invert); }>(
      "Whether each element is one of the others, or with invert none of them.", kBoth);
  define<"allclose", "x, other, rtol=1e-5, atol=1e-8, equal_nan=False", [](const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) { return computed([&] { return tenon::allclose(x, other, rtol, atol, equal_nan); }); }>(
      "Whether all elements are close. Reads both.", kBoth);
  define<"equal", "x, other", [](const Tensor& x, const Tensor& other) { return computed([&] { return tenon::equal(x, other); }); }>(
      "Whether shapes and all elements are equal. Reads both.", kBoth);
  define<"neg", "x", [](const Tensor& x) { return tenon::neg(x); }>(
      "-x, element by element.", kBoth);
  define<"negative", "x", [](const Tensor& x) { return tenon::negative(x); }>(
      "As neg.", kBoth);
  define<"abs", "x", [](const Tensor& x) { return tenon::abs(x); }>(
      "The absolute values.", kBoth);
  define<"absolute", "x", [](const Tensor& x) { return tenon::absolute(x); }>(
      "As abs.", kBoth);
  define<"sign", "x", [](const Tensor& x) { return tenon::sign(x); }>(
      "-1, 0 or 1.", kBoth);
  define<"sgn", "x", [](const Tensor& x) { return tenon::sgn(x); }>(
      "As sign.", kBoth);
  define<"sqrt", "x", [](const Tensor& x) { return tenon::sqrt(x); }>(
      "Square roots.", kBoth);
  define<"rsqrt", "x", [](const Tensor& x) { return tenon::rsqrt(x); }>(
      "1 / sqrt(x).", kBoth);
  define<"square", "x", [](const Tensor& x) { return tenon::square(x); }>(
      "x * x.", kBoth);
  define<"reciprocal", "x", [](const Tensor& x) { return tenon::reciprocal(x); }>(
      "1 / x.", kBoth);
  define<"exp", "x", [](const Tensor& x) { return tenon::exp(x); }>(
      "e to the power of each element.\n\n>>> import tenon\n>>> tenon.exp(tenon.zeros(2))\ntensor([1., 1.])", kBoth);
  define<"exp2", "x", [](const Tensor& x) { return tenon::exp2(x); }>(
      "2 to the power of each element.", kBoth);
  define<"expm1", "x", [](const Tensor& x) { return tenon::expm1(x); }>(
      "exp(x) - 1, exact near 0.", kBoth);
  define<"log", "x", [](const Tensor& x) { return tenon::log(x); }>(
      "Natural logarithms.", kBoth);
  define<"log2", "x", [](const Tensor& x) { return tenon::log2(x); }>(
      "Logarithms to base 2.", kBoth);
  define<"log10", "x", [](const Tensor& x) { return tenon::log10(x); }>(
      "Logarithms to base 10.", kBoth);
  define<"log1p", "x", [](const Tensor& x) { return tenon::log1p(x); }>(
      "log(1 + x), exact near 0.", kBoth);
  define<"sin", "x", [](const Tensor& x) { return tenon::sin(x); }>(
      "Sines.", kBoth);
  define<"cos", "x", [](const Tensor& x) { return tenon::cos(x); }>(
      "Cosines.", kBoth);
  define<"tan", "x", [](const Tensor& x) { return tenon::tan(x); }>(
      "Tangents.", kBoth);
  define<"asin", "x", [](const Tensor& x) { return tenon::asin(x); }>(
      "Inverse sines.", kBoth);
  define<"arcsin", "x", [](const Tensor& x) { return tenon::arcsin(x); }>(
      "As asin.", kBoth);
  define<"acos", "x", [](const Tensor& x) { return tenon::acos(x); }>(
      "Inverse cosines.", kBoth);
  define<"arccos", "x", [](const Tensor& x) { return tenon::arccos(x); }>(
      "As acos.", kBoth);
  define<"atan", "x", [](const Tensor& x) { return tenon::atan(x); }>(
      "Inverse tangents.", kBoth);
  define<"arctan", "x", [](const Tensor& x) { return tenon::arctan(x); }>(
      "As atan.", kBoth);
  define<"sinh", "x", [](const Tensor& x) { return tenon::sinh(x); }>(
      "Hyperbolic sines.", kBoth);
  define<"cosh", "x", [](const Tensor& x) { return tenon::cosh(x); }>(
      "Hyperbolic cosines.", kBoth);
  define<"tanh", "x", [](const Tensor& x) { return tenon::tanh(x); }>(
      "Hyperbolic tangents.", kBoth);
  define<"asinh", "x", [](const Tensor& x) { return tenon::asinh(x); }>(
      "Inverse hyperbolic sines.", kBoth);
  define<"arcsinh", "x", [](const Tensor& x) { return tenon::arcsinh(x); }>(
      "As asinh.", kBoth);
  define<"acosh", "x", [](const Tensor& x) { return tenon::acosh(x); }>(
      "Inverse hyperbolic cosines.", kBoth);
  define<"arccosh", "x", [](const Tensor& x) { return tenon::arccosh(x); }>(
      "As acosh.", kBoth);
  define<"atanh", "x", [](const Tensor& x) { return tenon::atanh(x); }>(
      "Inverse hyperbolic tangents.", kBoth);
  define<"arctanh", "x", [](const Tensor& x) { return tenon::arctanh(x); }>(
      "As atanh.", kBoth);
  define<"erf", "x", [](const Tensor& x) { return tenon::erf(x); }>(
      "The error function.", kBoth);
  define<"erfc", "x", [](const Tensor& x) { return tenon::erfc(x); }>(
      "1 - erf(x), to its last digits where that is small.", kBoth);
  define<"erfinv", "x", [](const Tensor& x) { return tenon::erfinv(x); }>(
      "The number whose erf() is x: infinite at -1 and 1, NaN beyond.", kBoth);
  define<"lgamma", "x", [](const Tensor& x) { return tenon::lgamma(x); }>(
      "The logarithm of |gamma(x)|.", kBoth);
  define<"digamma", "x", [](const Tensor& x) { return tenon::digamma(x); }>(
      "The derivative of lgamma.", kBoth);
  define<"polygamma", "n, x", [](int64_t n, const Tensor& x) { return tenon::polygamma(n, x); }>(
      "The n-th derivative of digamma.", kFunction);
  define<"polygamma", "x, n", [](const Tensor& x, int64_t n) { return x.polygamma(n); }>(
      "The n-th derivative of digamma.", kMethod);
  define<"mvlgamma", "x, p", [](const Tensor& x, int64_t p) { return tenon::mvlgamma(x, p); }>(
      "The logarithm of the multivariate gamma function of p dims.", kBoth);
  define<"i0", "x", [](const Tensor& x) { return tenon::i0(x); }>(
      "The modified Bessel function of the first kind of order 0.", kBoth);
  define<"special_i0e", "x", [](const Tensor& x) { return tenon::special_i0e(x); }>(
      "exp(-|x|) * i0(x).", kFunction);
  define<"special_i1", "x", [](const Tensor& x) { return tenon::special_i1(x); }>(
      "The modified Bessel function of the first kind of order 1.", kFunction);
  define<"special_i1e", "x", [](const Tensor& x) { return tenon::special_i1e(x); }>(
      "exp(-|x|) times that of order 1.", kFunction);
  define<"special_erfcx", "x", [](const Tensor& x) { return tenon::special_erfcx(x); }>(
      "exp(x * x) * erfc(x).", kFunction);
  define<"special_ndtr", "x", [](const Tensor& x) { return tenon::special_ndtr(x); }>(
      "The probability that a normal number is below x.", kFunction);
  define<"special_log_ndtr", "x", [](const Tensor& x) { return tenon::special_log_ndtr(x); }>(
      "The logarithm of the probability that a normal number is below x.", kFunction);
  define<"special_ndtri", "x", [](const Tensor& x) { return tenon::special_ndtri(x); }>(
      "The number that a normal one is below with probability x.", kFunction);
  define<"special_entr", "x", [](const Tensor& x) { return tenon::special_entr(x); }>(
      "-x * log(x), 0 at 0 and -inf below.", kFunction);
  define<"logit", "x, eps=None", [](const Tensor& x, std::optional<double> eps) { return tenon::logit(x, eps); }>(
      "log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.", kBoth);
  define<"floor", "x", [](const Tensor& x) { return tenon::floor(x); }>(
      "Rounds down.", kBoth);
  define<"ceil", "x", [](const Tensor& x) { return tenon::ceil(x); }>(
      "Rounds up.", kBoth);
  define<"trunc", "x", [](const Tensor& x) { return tenon::trunc(x); }>(
      "Rounds towards 0.", kBoth);
  define<"fix", "x", [](const Tensor& x) { return tenon::fix(x); }>(
      "As trunc.", kBoth);
  define<"frac", "x", [](const Tensor& x) { return tenon::frac(x); }>(
      "x - trunc(x).", kBoth);
  define<"sinc", "x", [](const Tensor& x) { return tenon::sinc(x); }>(
      "sin(pi x) / (pi x), and 1 at 0.", kBoth);
  define<"deg2rad", "x", [](const Tensor& x) { return tenon::deg2rad(x); }>(
      "From degrees to radians.", kBoth);
  define<"rad2deg", "x", [](const Tensor& x) { return tenon::rad2deg(x); }>(
      "From radians to degrees.", kBoth);
  define<"nan_to_num", "x, nan=0.0, posinf=None, neginf=None", [](const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) { return tenon::nan_to_num(x, nan, posinf, neginf); }>(
      "Numbers in the place of NaN and infinities.", kBoth);
  define<"sigmoid", "x", [](const Tensor& x) { return tenon::sigmoid(x); }>(
      "1 / (1 + exp(-x)).", kBoth);
  define<"relu", "x", [](const Tensor& x) { return tenon::relu(x); }>(
      "max(x, 0).\n\n>>> import tenon\n>>> tenon.tensor([-1., 2.]).relu()\ntensor([0., 2.])", kBoth);
  define<"leaky_relu", "x, negative_slope=0.01", [](const Tensor& x, double negative_slope) { return tenon::leaky_relu(x, negative_slope); }>(
      "x, or negative_slope * x below 0.", kBoth);
  define<"elu", "x, alpha=1.0", [](const Tensor& x, double alpha) { return tenon::elu(x, alpha); }>(
      "x, or alpha * (exp(x) - 1) below 0.", kBoth);
  define<"softplus", "x, beta=1.0, threshold=20.0", [](const Tensor& x, double beta, double threshold) { return tenon::softplus(x, beta, threshold); }>(
      "log(1 + exp(beta * x)) / beta.", kBoth);
  define<"silu", "x", [](const Tensor& x) { return tenon::silu(x); }>(
      "x * sigmoid(x).", kBoth);
  define<"mish", "x", [](const Tensor& x) { return tenon::mish(x); }>(
      "x * tanh(softplus(x)).", kBoth);
  define<"hardswish", "x", [](const Tensor& x) { return tenon::hardswish(x); }>(
      "x * relu6(x + 3) / 6.", kBoth);
  define<"gelu", "x, approximate='none'", [](const Tensor& x, const std::string& approximate) { return tenon::gelu(x, approximate); }>(
      "x times the probability that a normal number is below x; approximate: 'none' or 'tanh'.", kBoth);
  define<"relu6", "x", [](const Tensor& x) { return tenon::relu6(x); }>(
      "min(max(x, 0), 6).", kBoth);
  define<"hardtanh", "x, min_val=-1.0, max_val=1.0", [](const Tensor& x, double min_val, double max_val) { return tenon::hardtanh(x, min_val, max_val); }>(
      "x between min_val and max_val, which are cut to integers for a tensor of them.", kBoth);
  define<"hardsigmoid", "x", [](const Tensor& x) { return tenon::hardsigmoid(x); }>(
      "relu6(x + 3) / 6.", kBoth);
  define<"celu", "x, alpha=1.0", [](const Tensor& x, double alpha) { return tenon::celu(x, alpha); }>(
      "x, or alpha * (exp(x / alpha) - 1) below 0.", kBoth);
  define<"selu", "x", [](const Tensor& x) { return tenon::selu(x); }>(
      "ELU with the two numbers that keep means and variances; Klambauer et al., 2017.", kBoth);
  define<"glu", "x, dim=-1", [](const Tensor& x, int64_t dim) { return tenon::glu(x, dim); }>(
      "The first half along a dim times the sigmoid of the second.", kBoth);
  define<"logsigmoid", "x", [](const Tensor& x) { return tenon::logsigmoid(x); }>(
      "log(sigmoid(x)).", kBoth);
  define<"softsign", "x", [](const Tensor& x) { return tenon::softsign(x); }>(
      "x / (1 + |x|).", kBoth);
  define<"tanhshrink", "x", [](const Tensor& x) { return tenon::tanhshrink(x); }>(
      "x - tanh(x).", kBoth);
  define<"hardshrink", "x, lambd=0.5", [](const Tensor& x, double lambd) { return tenon::hardshrink(x, lambd); }>(
      "x, or 0 between -lambd and lambd.", kBoth);
  define<"softshrink", "x, lambd=0.5", [](const Tensor& x, double lambd) { return tenon::softshrink(x, lambd); }>(
      "x moved by lambd towards 0, and 0 between -lambd and lambd.", kBoth);
  define<"threshold", "x, threshold, value", [](const Tensor& x, double threshold, double value) { return tenon::threshold(x, threshold, value); }>(
      "x above a threshold, else a value.", kBoth);
  define<"prelu", "x, weight", [](const Tensor& x, const Tensor& weight) { return tenon::prelu(x, weight); }>(
      "x, or weight * x below 0: one weight for all, or one for each channel.", kBoth);
  define<"rrelu", "x, lower=0.125, upper=0.3333333333333333, training=False, generator=None", [](const Tensor& x, double lower, double upper, bool training, Generator* generator) { return tenon::rrelu(x, lower, upper, training, generator); }>(
      "x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits.", kFunction);
  define<"softmin", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) { return tenon::softmin(x, dim, dtype); }>(
      "softmax(-x).", kBoth);
  define<"softmax", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) { return tenon::softmax(x, dim, dtype); }>(
      "exp(x) / sum(exp(x)) along a dim.", kBoth);
  define<"log_softmax", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) { return tenon::log_softmax(x, dim, dtype); }>(
      "log(softmax(x)) along a dim.", kBoth);
  define<"sum", "x, dim=None, keepdim=False, dtype=None", [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) { return tenon::sum(x, dim, keepdim, dtype); }>(
      "Sums over dims, or over all.\n\n>>> import tenon\n>>> tenon.ones(2, 3).sum(1)\ntensor([3., 3.])", kBoth);
  define<"nansum", "x, dim=None, keepdim=False, dtype=None", [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) { return tenon::nansum(x, dim, keepdim, dtype); }>(
      "Sums in which NaN counts as 0.", kBoth);
  define<"mean", "x, dim=None, keepdim=False, dtype=None", [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) { return tenon::mean(x, dim, keepdim, dtype); }>(
      "Means over dims, or over all.", kBoth);
  define<"nanmean", "x, dim=None, keepdim=False, dtype=None", [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) { return tenon::nanmean(x, dim, keepdim, dtype); }>(
      "Means in which NaN does not count.", kBoth);
  define<"prod", "x, dim=None, keepdim=False, dtype=None", [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) { return tenon::prod(x, dim, keepdim, dtype); }>(
      "Products over dims, or over all.", kBoth);
  define<"amax", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) { return tenon::amax(x, dim, keepdim); }>(
      "The largest over dims, or over all.", kBoth);
  define<"amin", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) { return tenon::amin(x, dim, keepdim); }>(
      "The smallest over dims, or over all.", kBoth);
  define<"argmax", "x, dim=None, keepdim=False", [](const Tensor& x, std::optional<int64_t> dim, bool keepdim) { return tenon::argmax(x, dim, keepdim); }>(
      "Where the largest element stands: of all, laid flat, or along a dim.", kBoth);
  define<"argmin", "x, dim=None, keepdim=False", [](const Tensor& x, std::optional<int64_t> dim, bool keepdim) { return tenon::argmin(x, dim, keepdim); }>(
      "Where the smallest element stands.", kBoth);
  define<"any", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) { return tenon::any(x, dim, keepdim); }>(
      "Whether any element is not 0.", kBoth);
  define<"all", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) { return tenon::all(x, dim, keepdim); }>(
      "Whether all elements are not 0.", kBoth);
  define<"count_nonzero", "x, dim=None", [](const Tensor& x, const Axes& dim) { return tenon::count_nonzero(x, dim); }>(
      "How many elements are not 0.", kBoth);
  define<"dist", "x, other, p=2.0", [](const Tensor& x, const Tensor& other, double p) { return tenon::dist(x, other, p); }>(
      "The p-norm of a difference.", kBoth);
  define<"logsumexp", "x, dim, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) { return tenon::logsumexp(x, dim, keepdim); }>(
      "log(sum(exp(x))) along dims.", kBoth);
  define<"cumsum", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) { return tenon::cumsum(x, dim, dtype); }>(
      "Running sums along a dim.", kBoth);
  define<"cumprod", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) { return tenon::cumprod(x, dim, dtype); }>(
      "Running products along a dim.", kBoth);
  define<"cummax", "x, dim", [](const Tensor& x, int64_t dim) { return tenon::cummax(x, dim); }>(
      "The largest elements up to every place along a dim, and where the last one of each is; NaN is above all.", kBoth);
  define<"cummin", "x, dim", [](const Tensor& x, int64_t dim) { return tenon::cummin(x, dim); }>(
      "The smallest elements up to every place along a dim, and where the last one of each is; NaN is below all.", kBoth);
  define<"logcumsumexp", "x, dim", [](const Tensor& x, int64_t dim) { return tenon::logcumsumexp(x, dim); }>(
      "The logarithms of the sums of exp(x) up to every place along a dim.", kBoth);
  define<"diff", "x, n=1, dim=-1, prepend=None, append=None", [](const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& prepend, const std::optional<Tensor>& append) { return tenon::diff(x, n, dim, prepend.value_or(Tensor()), append.value_or(Tensor())); }>(
      "Differences of neighbours, n times over, with elements put before and after them first.", kBoth);
  define<"histc", "x, bins=100, min=0, max=0", [](const Tensor& x, int64_t bins, double min, double max) { return tenon::histc(x, bins, min, max); }>(
      "How many elements lie in each of so many bins between min and max, or between the least and the largest element.", kBoth);
  define<"trapezoid", "y, x=None, dx=None, dim=-1", [](const Tensor& y, const std::optional<Tensor>& x, std::optional<double> dx, int64_t dim) { return tenon::trapezoid(y, x.value_or(Tensor()), dx, dim); }>(
      "The area below lines between points at heights y: at places x, or at distances dx, which is 1 unless given.", kFunction);
  define<"trapz", "y, x=None, dx=None, dim=-1", [](const Tensor& y, const std::optional<Tensor>& x, std::optional<double> dx, int64_t dim) { return tenon::trapz(y, x.value_or(Tensor()), dx, dim); }>(
      "As trapezoid.", kFunction);
  define<"cov", "x, correction=1, fweights=None, aweights=None", [](const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights, const std::optional<Tensor>& aweights) { return tenon::cov(x, correction, fweights.value_or(Tensor()), aweights.value_or(Tensor())); }>(
      "Covariances of rows, whose columns are observations: counted fweights times, of the importance aweights.", kBoth);
  define<"corrcoef", "x", [](const Tensor& x) { return tenon::corrcoef(x); }>(
      "How rows go together, from -1 to 1; their columns are observations.", kBoth);
  define<"kthvalue", "x, k, dim=-1, keepdim=False", [](const Tensor& x, int64_t k, int64_t dim, bool keepdim) { return tenon::kthvalue(x, k, dim, keepdim); }>(
      "The k-th smallest element along a dim, counted from 1, and where it stands.", kBoth);
  define<"mode", "x, dim=-1, keepdim=False", [](const Tensor& x, int64_t dim, bool keepdim) { return tenon::mode(x, dim, keepdim); }>(
      "The element that occurs most often along a dim, the smallest of several, and where the last one stands.", kBoth);
  define<"quantile", "x, q, dim=None, keepdim=False, interpolation='linear'", [](const Tensor& x, const Operand& q, std::optional<int64_t> dim, bool keepdim, const std::string& interpolation) { return tenon::quantile(x, q, dim, keepdim, interpolation); }>(
      "Below which a share q of the elements lies; a vector of q gives a first dim. interpolation: 'linear', 'lower', 'higher', 'nearest' or 'midpoint'.", kBoth);
  define<"nanquantile", "x, q, dim=None, keepdim=False, interpolation='linear'", [](const Tensor& x, const Operand& q, std::optional<int64_t> dim, bool keepdim, const std::string& interpolation) { return tenon::nanquantile(x, q, dim, keepdim, interpolation); }>(
      "As quantile, of the elements that are not NaN.", kBoth);
  define<"sort", "x, dim=-1, descending=False, stable=True", [](const Tensor& x, int64_t dim, bool descending, bool stable) { return tenon::sort(x, dim, descending, stable); }>(
      "Values and indices in order; always stable.", kBoth);
  define<"argsort", "x, dim=-1, descending=False, stable=True", [](const Tensor& x, int64_t dim, bool descending, bool stable) { return tenon::argsort(x, dim, descending, stable); }>(
      "The indices that sort; always stable.", kBoth);
  define<"topk", "x, k, dim=-1, largest=True, sorted=True", [](const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted) { return tenon::topk(x, k, dim, largest, sorted); }>(
      "The k largest elements along a dim, and where they stand; always sorted.", kBoth);
  define<"reshape", "x, *shape", [](const Tensor& x, const Dims& shape) { return tenon::reshape(x, shape); }>(
      "The same elements in another shape; one size may be -1.\n\n>>> import tenon\n>>> tenon.arange(4).reshape(2, -1)\ntensor([[0, 1],\n        [2, 3]])", kBoth);
  define<"reshape_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.reshape_as(other); }>(
      "The same elements in the shape of another tensor.", kMethod);
  define<"view", "x, *shape", [](const Tensor& x, const Dims& shape) { return x.view(shape); }>(
      "As reshape, but fails where it would have to copy.", kMethod);
  define<"view_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.view_as(other); }>(
      "As view, in the shape of another tensor.", kMethod);
  define<"flatten", "x, start_dim=0, end_dim=-1", [](const Tensor& x, int64_t start_dim, int64_t end_dim) { return tenon::flatten(x, start_dim, end_dim); }>(
      "Joins dims.", kBoth);
  define<"ravel", "x", [](const Tensor& x) { return tenon::ravel(x); }>(
      "All elements in one dim.", kBoth);
  define<"unflatten", "x, dim, sizes", [](const Tensor& x, int64_t dim, const Dims& sizes) { return tenon::unflatten(x, dim, sizes); }>(
      "Splits a dim into several; one size may be -1.", kBoth);
  define<"permute", "x, *dims", [](const Tensor& x, const Dims& dims) { return tenon::permute(x, dims); }>(
      "The dims in another order.", kBoth);
  define<"transpose", "x, dim0, dim1", [](const Tensor& x, int64_t dim0, int64_t dim1) { return tenon::transpose(x, dim0, dim1); }>(
      "Two dims exchanged.", kBoth);
  define<"swapdims", "x, dim0, dim1", [](const Tensor& x, int64_t dim0, int64_t dim1) { return tenon::swapdims(x, dim0, dim1); }>(
      "As transpose.", kBoth);
  define<"swapaxes", "x, axis0, axis1", [](const Tensor& x, int64_t axis0, int64_t axis1) { return tenon::swapaxes(x, axis0, axis1); }>(
      "As transpose.", kBoth);
  define<"t", "x", [](const Tensor& x) { return tenon::t(x); }>(
      "A matrix with rows and columns exchanged.", kBoth);
  define<"movedim", "x, source, destination", [](const Tensor& x, const Axes& source, const Axes& destination) { return tenon::movedim(x, source, destination); }>(
      "Moves dims to other places; the rest keep their order.", kBoth);
  define<"moveaxis", "x, source, destination", [](const Tensor& x, const Axes& source, const Axes& destination) { return tenon::moveaxis(x, source, destination); }>(
      "As movedim.", kBoth);
  define<"expand", "x, *shape", [](const Tensor& x, const Dims& shape) { return tenon::expand(x, shape); }>(
      "Dims of size 1 repeated without memory; -1 keeps a size.", kBoth);
  define<"expand_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.expand_as(other); }>(
      "Expanded to the shape of another.", kMethod);
  define<"broadcast_to", "x, shape", [](const Tensor& x, const Dims& shape) { return tenon::broadcast_to(x, shape); }>(
      "Expanded to a shape.", kBoth);
  define<"unsqueeze", "x, dim", [](const Tensor& x, int64_t dim) { return tenon::unsqueeze(x, dim); }>(
      "With one more dim of size 1.", kBoth);
  define<"diagonal", "x, offset=0, dim1=0, dim2=1", [](const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) { return tenon::diagonal(x, offset, dim1, dim2); }>(
      "Elements (i, i + offset) of two dims, as a last one.", kBoth);
  define<"select", "x, dim, index", [](const Tensor& x, int64_t dim, int64_t index) { return tenon::select(x, dim, index); }>(
      "One position along a dim, which disappears.", kBoth);
  define<"split_with_sizes", "x, split_sizes, dim=0", [](const Tensor& x, const Dims& split_sizes, int64_t dim) { return tenon::split_with_sizes(x, split_sizes, dim); }>(
      "Parts of several sizes along a dim.", kBoth);
  define<"chunk", "x, chunks, dim=0", [](const Tensor& x, int64_t chunks, int64_t dim) { return tenon::chunk(x, chunks, dim); }>(
      "So many parts along a dim.", kBoth);
  define<"unbind", "x, dim=0", [](const Tensor& x, int64_t dim) { return tenon::unbind(x, dim); }>(
      "All positions along a dim.", kBoth);
  define<"unfold", "x, dimension, size, step", [](const Tensor& x, int64_t dimension, int64_t size, int64_t step) { return tenon::unfold(x, dimension, size, step); }>(
      "Windows of `size` elements along a dim, `step` apart, as a last dim.", kBoth);
  define<"as_strided", "x, size, stride, storage_offset=None", [](const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) { return tenon::as_strided(x, size, stride, storage_offset); }>(
      "Elements of the memory that x lies in, so many steps apart along each dim, from an offset on, which is that of x unless given: a view, or a copy where an element is shown twice.", kBoth);
  define<"flip", "x, *dims", [](const Tensor& x, const Axes& dims) { return tenon::flip(x, dims); }>(
      "Elements along dims in the other order.", kBoth);
  define<"fliplr", "x", [](const Tensor& x) { return tenon::fliplr(x); }>(
      "Elements along dim 1 in the other order.", kBoth);
  define<"flipud", "x", [](const Tensor& x) { return tenon::flipud(x); }>(
      "Elements along dim 0 in the other order.", kBoth);
  define<"pad", "x, pad, value=0.0", [](const Tensor& x, const Dims& pad, Number value) { return tenon::pad(x, pad, value); }>(
      "More elements before and after, last dim first; negative sizes cut.", kBoth);
  define<"cat", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) { return tenon::cat(tensors, dim); }>(
      "Tensors one after the other along a dim.", kFunction);
  define<"concat", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) { return tenon::concat(tensors, dim); }>(
      "As cat.", kFunction);
  define<"concatenate", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) { return tenon::concatenate(tensors, dim); }>(
      "As cat.", kFunction);
  define<"stack", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) { return tenon::stack(tensors, dim); }>(
      "Tensors along a new dim.", kFunction);
  define<"hstack", "tensors", [](const std::vector<Tensor>& tensors) { return tenon::hstack(tensors); }>(
      "Side by side: along dim 1, vectors along dim 0.", kFunction);
  define<"vstack", "tensors", [](const std::vector<Tensor>& tensors) { return tenon::vstack(tensors); }>(
      "As rows.", kFunction);
  define<"row_stack", "tensors", [](const std::vector<Tensor>& tensors) { return tenon::row_stack(tensors); }>(
      "As vstack.", kFunction);
  define<"column_stack", "tensors", [](const std::vector<Tensor>& tensors) { return tenon::column_stack(tensors); }>(
      "Side by side; vectors are columns.", kFunction);
  define<"dstack", "tensors", [](const std::vector<Tensor>& tensors) { return tenon::dstack(tensors); }>(
      "Along dim 2.", kFunction);
  define<"meshgrid", "*tensors, indexing='ij'", [](const SeveralTensors& tensors, const std::string& indexing) { return tenon::meshgrid(tensors.all, indexing); }>(
      "Vectors as coordinates of a grid. indexing: 'ij', or 'xy', where the first varies along dim 1.", kFunction);
  define<"repeat", "x, *repeats", [](const Tensor& x, const Dims& repeats) { return tenon::repeat(x, repeats); }>(
      "The tensor side by side, so often along each dim.", kBoth);
  define<"tile", "x, *dims", [](const Tensor& x, const Dims& dims) { return tenon::tile(x, dims); }>(
      "As repeat; dims that are not named stay as they are.", kBoth);
  define<"repeat_interleave", "x, repeats, dim=None", [](const Tensor& x, const Operand& repeats, std::optional<int64_t> dim) { return computed([&] { return tenon::repeat_interleave(x, repeats, dim); }); }>(
      "Each element, or slice along dim, so many times in a row. Repeats given as a tensor are read at once.", kBoth);
  define<"tril", "x, diagonal=0", [](const Tensor& x, int64_t diagonal) { return tenon::tril(x, diagonal); }>(
      "The lower triangle; the rest is 0.", kBoth);
  define<"triu", "x, diagonal=0", [](const Tensor& x, int64_t diagonal) { return tenon::triu(x, diagonal); }>(
      "The upper triangle; the rest is 0.", kBoth);
  define<"diag", "x, diagonal=0", [](const Tensor& x, int64_t diagonal) { return tenon::diag(x, diagonal); }>(
      "A matrix's diagonal, or a matrix with this one.", kBoth);
  define<"diag_embed", "x, offset=0, dim1=-2, dim2=-1", [](const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) { return tenon::diag_embed(x, offset, dim1, dim2); }>(
      "Matrices with the elements of the last dim on a diagonal; their rows and columns are dim1 and dim2.", kBoth);
  define<"trace", "x", [](const Tensor& x) { return tenon::trace(x); }>(
      "The sum of a matrix's diagonal.", kBoth);
  define<"renorm", "x, p, dim, maxnorm", [](const Tensor& x, double p, int64_t dim, double maxnorm) { return tenon::renorm(x, p, dim, maxnorm); }>(
      "Slices along a dim made smaller where their p-norm is above a number.", kBoth);
  define<"channel_shuffle", "x, groups", [](const Tensor& x, int64_t groups) { return tenon::channel_shuffle(x, groups); }>(
      "The channels of dim 1, which are in groups, in an order in which each group has some of all.", kFunction);
  define<"gather", "x, dim, index", [](const Tensor& x, int64_t dim, const Tensor& index) { return tenon::gather(x, dim, index); }>(
      "out[i][j] = x[i][index[i][j]] for dim 1, and so on.", kBoth);
  define<"take", "x, index", [](const Tensor& x, const Tensor& index) { return tenon::take(x, index); }>(
      "x laid flat, picked by an index of any shape; negative ones count from the end.", kBoth);
  define<"take_along_dim", "x, indices, dim=None", [](const Tensor& x, const Tensor& indices, std::optional<int64_t> dim) { return tenon::take_along_dim(x, indices, dim); }>(
      "gather, with both broadcast along the other dims; without a dim, of both laid flat.", kBoth);
  define<"index_select", "x, dim, index", [](const Tensor& x, int64_t dim, const Tensor& index) { return tenon::index_select(x, dim, index); }>(
      "Slices along a dim, picked by a vector.", kBoth);
  define<"index_add", "x, dim, index, source, alpha=1", [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) { return tenon::index_add(x, dim, index, source, alpha); }>(
      "A copy with alpha * source added to the slices named.", kBoth);
  define<"index_copy", "x, dim, index, source", [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) { return tenon::index_copy(x, dim, index, source); }>(
      "A copy with slices replaced.", kBoth);
  define<"index_fill", "x, dim, index, value", [](const Tensor& x, int64_t dim, const Tensor& index, const Operand& value) { return tenon::index_fill(x, dim, index, value); }>(
      "A copy with slices filled.", kBoth);
  define<"scatter", "x, dim, index, source, reduce=None", [](const Tensor& x, int64_t dim, const Tensor& index, const Operand& source, const std::optional<std::string>& reduce) { return tenon::scatter(x, dim, index, source, reduce); }>(
      "A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=. The last of several sources for one element counts, and it alone gets a gradient.", kBoth);
  define<"scatter_add", "x, dim, index, source", [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) { return tenon::scatter_add(x, dim, index, source); }>(
      "The same with +=.", kBoth);
  define<"scatter_reduce", "x, dim, index, source, reduce, include_self=True", [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool include_self) { return tenon::scatter_reduce(x, dim, index, source, reduce, include_self); }>(
      "The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count.", kBoth);
  define<"index_reduce", "x, dim, index, source, reduce, include_self=True", [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool include_self) { return tenon::index_reduce(x, dim, index, source, reduce, include_self); }>(
      "A copy with the slices named joined with those of source, by reduce: 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count.", kBoth);
  define<"select_scatter", "x, src, dim, index", [](const Tensor& x, const Tensor& src, int64_t dim, int64_t index) { return tenon::select_scatter(x, src, dim, index); }>(
      "A copy with one position along a dim replaced.", kBoth);
  define<"slice_scatter", "x, src, dim=0, start=None, end=None, step=1", [](const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) { return tenon::slice_scatter(x, src, dim, start, end, step); }>(
      "A copy with a slice along a dim replaced.", kBoth);
  define<"diagonal_scatter", "x, src, offset=0, dim1=0, dim2=1", [](const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) { return tenon::diagonal_scatter(x, src, offset, dim1, dim2); }>(
      "A copy with a diagonal replaced.", kBoth);
  define<"masked_scatter", "x, mask, source", [](const Tensor& x, const Tensor& mask, const Tensor& source) { return tenon::masked_scatter(x, mask, source); }>(
      "A copy with the elements of source, in order, where the mask is true.", kBoth);
  define<"unravel_index", "indices, shape", [](const Tensor& indices, const Dims& shape) { return tenon::unravel_index(indices, shape); }>(
      "Positions in a tensor laid flat as one tensor of positions for each dim.", kFunction);
  define<"searchsorted", "sorted_sequence, values, out_int32=False, right=False, side=None, sorter=None", [](const Tensor& sorted_sequence, const Operand& values, bool out_int32, bool right, const std::optional<std::string>& side, const std::optional<Tensor>& sorter) { return tenon::searchsorted(sorted_sequence, values, out_int32, right, side, sorter.value_or(Tensor())); }>(
      "Where values would have to be inserted in the last dim: before equal ones, or after them with right or side='right'. A sorter is the order of what is not sorted.", kBoth);
  define<"bucketize", "x, boundaries, out_int32=False, right=False", [](const Operand& x, const Tensor& boundaries, bool out_int32, bool right) { return tenon::bucketize(x, boundaries, out_int32, right); }>(
      "Between which of the sorted boundaries elements lie; right: a boundary belongs to what lies above it.", kBoth);
  define<"one_hot", "index, num_classes=-1", [](const Tensor& index, int64_t num_classes) { return computed([&] { return tenon::one_hot(index, num_classes); }); }>(
      "1 at each index, else 0; num_classes is one more than the largest index unless given.", kBoth);
  define<"masked_select", "x, mask", [](const Tensor& x, const Tensor& mask) { return computed([&] { return tenon::masked_select(x, mask); }); }>(
      "The elements where the mask is true, as a vector.", kBoth);
  define<"bincount", "x, weights=None, minlength=0", [](const Tensor& x, const std::optional<Tensor>& weights, int64_t minlength) { return computed([&] { return tenon::bincount(x, weights.value_or(Tensor()), minlength); }); }>(
      "How often each of 0, 1, ... occurs in a vector, or the sum of the weights of those elements.", kBoth);
  define<"matmul", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::matmul(a, b); }>(
      "a @ b.", kBoth);
  define<"mm", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::mm(a, b); }>(
      "The product of two matrices.", kBoth);
  define<"bmm", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::bmm(a, b); }>(
      "The products of two batches of matrices.", kBoth);
  define<"mv", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::mv(a, b); }>(
      "A matrix times a vector.", kBoth);
  define<"dot", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::dot(a, b); }>(
      "The product of two vectors.", kBoth);
  define<"vdot", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::vdot(a, b); }>(
      "As dot.", kBoth);
  define<"inner", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::inner(x, other); }>(
      "Sums of products along the last dims; of numbers, their product.", kBoth);
  define<"kron", "x, other", [](const Tensor& x, const Tensor& other) { return tenon::kron(x, other); }>(
      "Every element of the first times all of the second.", kBoth);
  define<"cross", "x, other, dim=None", [](const Tensor& x, const Tensor& other, std::optional<int64_t> dim) { return tenon::cross(x, other, dim); }>(
      "The product of vectors of three elements that stands at right angles to both; along the first dim of 3 unless one is given.", kBoth);
  define<"outer", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::outer(a, b); }>(
      "All products of elements of two vectors.", kBoth);
  define<"addmm", "x, a, b, beta=1, alpha=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return tenon::addmm(x, a, b, beta, alpha); }>(
      "beta * x + alpha * (a @ b).", kBoth);
  define<"addmv", "x, a, b, beta=1, alpha=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return tenon::addmv(x, a, b, beta, alpha); }>(
      "beta * x + alpha * (a @ b), of a matrix and a vector.", kBoth);
  define<"baddbmm", "x, a, b, beta=1, alpha=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return tenon::baddbmm(x, a, b, beta, alpha); }>(
      "beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out.", kBoth);
  define<"addr", "x, a, b, beta=1, alpha=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return tenon::addr(x, a, b, beta, alpha); }>(
      "beta * x + alpha * outer(a, b).", kBoth);
  define<"pdist", "x, p=2.0", [](const Tensor& x, double p) { return tenon::pdist(x, p); }>(
      "The p-norm distances between all pairs of rows of a matrix.", kFunction);
  define<"einsum", "equation, *operands", [](const std::string& equation, const SeveralTensors& operands) { return tenon::einsum(equation, operands.all); }>(
      "Sums of products, by letters: einsum('ij,jk->ik', a, b).", kFunction);
  define<"bernoulli", "probabilities, generator=None", [](const Tensor& probabilities, Generator* generator) { return computed([&] { return tenon::bernoulli(probabilities, generator); }); }>(
      "1 with the probability given by each element, else 0. One beyond 0..1 is refused, outside of captured functions.", kBoth);
  define<"multinomial", "weights, num_samples, replacement=False, generator=None", [](const Tensor& weights, int64_t num_samples, bool replacement, Generator* generator) { return computed([&] { return tenon::multinomial(weights, num_samples, replacement, generator); }); }>(
      "Indices drawn with the weights of the last dim, which need no particular sum. Weights that are negative or not finite, or sum to 0, are refused, outside of captured functions.", kBoth);
}

}  // namespace tenon::python
