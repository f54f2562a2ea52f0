// Ops element by element, and their forms in place.

#include "arithmetic.h"
#include "functions.h"

namespace tenon::python {
namespace {

/// Towards 0, as C divides.
Tensor truncated(const Operand& a, const Operand& b) {
  const Tensor plain = tenon::div(a, b);
  if (is_float(a.is_tensor() ? a.tensor().dtype() : a.number().dtype()) ||
      is_float(b.is_tensor() ? b.tensor().dtype() : b.number().dtype()))
    return tenon::trunc(plain);
  return tenon::floor_divide(tenon::sub(a, arithmetic::fmod(a, b)), b);
}

Tensor divided(const Operand& a, const Operand& b, const py::object& rounding) {
  if (rounding.is_none()) return arithmetic::div(a, b);
  const std::string how = Convert<std::string>::from(rounding.ptr());
  if (how == "floor") return arithmetic::floor_divide(a, b);
  if (how == "trunc") return truncated(a, b);
  throw_value_error("there is no rounding mode '" + how + "'; there are None, 'floor' and 'trunc'");
}

bool is_one(Number number) { return number.as_double() == 1; }

}  // namespace

void note_elementwise() {
  define<"neg", "x", [](const Tensor& x) { return tenon::neg(x); }>("-x, element by element.");
  define<"abs", "x", [](const Tensor& x) { return tenon::abs(x); }>("The absolute values.");
  define<"sign", "x", [](const Tensor& x) { return tenon::sign(x); }>("-1, 0 or 1.");
  define<"sqrt", "x", [](const Tensor& x) { return tenon::sqrt(x); }>("Square roots.");
  define<"rsqrt", "x", [](const Tensor& x) { return tenon::rsqrt(x); }>("1 / sqrt(x).");
  define<"square", "x", [](const Tensor& x) { return tenon::square(x); }>("x * x.");
  define<"reciprocal", "x", [](const Tensor& x) { return tenon::reciprocal(x); }>("1 / x.");
  define<"exp", "x", [](const Tensor& x) { return tenon::exp(x); }>(
      "e to the power of each element.\n\n>>> import tenon\n>>> tenon.exp(tenon.zeros(2))\ntensor([1., 1.])");
  define<"exp2", "x", [](const Tensor& x) { return tenon::exp2(x); }>("2 to the power of each element.");
  define<"expm1", "x", [](const Tensor& x) { return tenon::expm1(x); }>("exp(x) - 1, exact near 0.");
  define<"log", "x", [](const Tensor& x) { return tenon::log(x); }>("Natural logarithms.");
  define<"log2", "x", [](const Tensor& x) { return tenon::log2(x); }>("Logarithms to base 2.");
  define<"log10", "x", [](const Tensor& x) { return tenon::log10(x); }>("Logarithms to base 10.");
  define<"log1p", "x", [](const Tensor& x) { return tenon::log1p(x); }>("log(1 + x), exact near 0.");
  define<"sin", "x", [](const Tensor& x) { return tenon::sin(x); }>("Sines.");
  define<"cos", "x", [](const Tensor& x) { return tenon::cos(x); }>("Cosines.");
  define<"tan", "x", [](const Tensor& x) { return tenon::tan(x); }>("Tangents.");
  define<"asin", "x", [](const Tensor& x) { return tenon::asin(x); }>("Inverse sines.");
  define<"acos", "x", [](const Tensor& x) { return tenon::acos(x); }>("Inverse cosines.");
  define<"atan", "x", [](const Tensor& x) { return tenon::atan(x); }>("Inverse tangents.");
  define<"tanh", "x", [](const Tensor& x) { return tenon::tanh(x); }>("Hyperbolic tangents.");
  define<"sinh", "x", [](const Tensor& x) { return tenon::sinh(x); }>("Hyperbolic sines.");
  define<"cosh", "x", [](const Tensor& x) { return tenon::cosh(x); }>("Hyperbolic cosines.");
  define<"asinh", "x", [](const Tensor& x) { return tenon::asinh(x); }>("Inverse hyperbolic sines.");
  define<"acosh", "x", [](const Tensor& x) { return tenon::acosh(x); }>("Inverse hyperbolic cosines.");
  define<"atanh", "x", [](const Tensor& x) { return tenon::atanh(x); }>("Inverse hyperbolic tangents.");
  define<"erf", "x", [](const Tensor& x) { return tenon::erf(x); }>("The error function.");
  define<"erfc", "x", [](const Tensor& x) { return tenon::erfc(x); }>(
      "1 - erf(x), to its last digits where that is small.");
  define<"lgamma", "x", [](const Tensor& x) { return tenon::lgamma(x); }>("The logarithm of |gamma(x)|.");
  define<"logit", "x, eps=None", [](const Tensor& x, std::optional<double> eps) { return logit(x, eps); }>(
      "log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.");
  define<"digamma", "x", [](const Tensor& x) { return tenon::digamma(x); }>("The derivative of lgamma.");
  define<"sigmoid", "x", [](const Tensor& x) { return tenon::sigmoid(x); }>("1 / (1 + exp(-x)).");
  define<"floor", "x", [](const Tensor& x) { return tenon::floor(x); }>("Rounds down.");
  define<"ceil", "x", [](const Tensor& x) { return tenon::ceil(x); }>("Rounds up.");
  define<"round", "x", [](const Tensor& x) { return tenon::round(x); }>(
      "Rounds to the nearest integer, halves to even.");
  define<"trunc", "x", [](const Tensor& x) { return tenon::trunc(x); }>("Rounds towards 0.");
  define<"frac", "x", [](const Tensor& x) { return tenon::frac(x); }>("x - trunc(x).");
  define<"signbit", "x", [](const Tensor& x) { return signbit(x); }>("Where elements are negative, -0 among them.");
  define<"sgn", "x", [](const Tensor& x) { return tenon::sign(x); }>("-1, 0 or 1.");
  define<"sinc", "x", [](const Tensor& x) { return sinc(x); }>("sin(pi x) / (pi x), and 1 at 0.");
  define<"deg2rad", "x", [](const Tensor& x) { return deg2rad(x); }>("Angles of degrees.");
  define<"rad2deg", "x", [](const Tensor& x) { return rad2deg(x); }>("Angles in degrees.");
  define<"isnan", "x", [](const Tensor& x) { return tenon::isnan(x); }>("Where elements are NaN.");
  define<"isinf", "x", [](const Tensor& x) { return tenon::isinf(x); }>("Where elements are infinite.");
  define<"isfinite", "x", [](const Tensor& x) { return tenon::isfinite(x); }>(
      "Where elements are neither infinite nor NaN.");
  define<"logical_not", "x", [](const Tensor& x) { return tenon::logical_not(x); }>("Where elements are 0.");
  define<"bitwise_not", "x", [](const Tensor& x) { return tenon::bitwise_not(x); }>(
      "All bits turned round; not, of bools.");
  define<"relu", "x", [](const Tensor& x) { return tenon::relu(x); }>(
      "max(x, 0).\n\n>>> import tenon\n>>> tenon.tensor([-1., 2.]).relu()\ntensor([0., 2.])");
  define<"silu", "x", [](const Tensor& x) { return tenon::silu(x); }>("x * sigmoid(x).");
  define<"mish", "x", [](const Tensor& x) { return tenon::mish(x); }>("x * tanh(softplus(x)).");
  define<"hardswish", "x", [](const Tensor& x) { return tenon::hardswish(x); }>("x * relu6(x + 3) / 6.");
  define<"absolute", "x", [](const Tensor& x) { return tenon::abs(x); }>("The absolute values.");
  define<"negative", "x", [](const Tensor& x) { return tenon::neg(x); }>("-x, element by element.");
  define<"leaky_relu", "x, negative_slope=0.01", [](const Tensor& x, double slope) { return leaky_relu(x, slope); }>(
      "x, or negative_slope * x below 0.");
  define<"elu", "x, alpha=1.0", [](const Tensor& x, double alpha) { return elu(x, alpha); }>(
      "x, or alpha * (exp(x) - 1) below 0.");
  define<"softplus", "x, beta=1.0, threshold=20.0", [](const Tensor& x, double beta, double threshold) {
    return softplus(x, beta, threshold);
  }>("log(1 + exp(beta * x)) / beta.");
  define<"gelu", "x, approximate='none'", [](const Tensor& x, const std::string& approximate) {
    return gelu(x, approximate);
  }>("x times the probability that a normal number is below x; approximate: 'none' or 'tanh'.");

  define<"mul", "a, b", [](const Operand& a, const Operand& b) { return arithmetic::mul(a, b); }>("a * b.");
  define<"div", "a, b, rounding_mode=None", [](const Operand& a, const Operand& b, const py::object& rounding) {
    return divided(a, b, rounding);
  }>("a / b, always real; with the rounding mode 'floor' or 'trunc' integers stay integers.");
  define<"true_divide", "a, b", [](const Operand& a, const Operand& b) { return arithmetic::div(a, b); }>("a / b.");
  define<"floor_divide", "a, b", [](const Operand& a, const Operand& b) { return arithmetic::floor_divide(a, b); }>(
      "a // b, rounded down.");
  define<"remainder", "a, b", [](const Operand& a, const Operand& b) { return arithmetic::remainder(a, b); }>(
      "a % b, with the sign of b.");
  define<"fmod", "a, b", [](const Tensor& a, const Operand& b) { return arithmetic::fmod(a, b); }>(
      "The remainder with the sign of a, as in C.");
  define<"pow", "a, b", [](const Operand& a, const Operand& b) { return tenon::pow(a, b); }>("a ** b.");
  define<"float_power", "a, b", [](const Operand& a, const Operand& b) { return float_power(a, b); }>(
      "a ** b in float64.");
  define<"copysign", "a, b", [](const Tensor& a, const Operand& b) { return copysign(a, b); }>(
      "|a| with the sign of b.");
  define<"heaviside", "x, values", [](const Tensor& x, const Tensor& values) { return heaviside(x, values); }>(
      "0 below 0, 1 above, and the values at 0.");
  define<"maximum", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::maximum(a, b); }>(
      "The larger of two, element by element.");
  define<"minimum", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::minimum(a, b); }>(
      "The smaller of two, element by element.");
  define<"atan2", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::atan2(a, b); }>(
      "The angle of (b, a), from -pi to pi.");
  define<"hypot", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::hypot(a, b); }>("sqrt(a * a + b * b).");
  define<"logaddexp", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::logaddexp(a, b); }>(
      "log(exp(a) + exp(b)).");
  define<"eq", "a, b", [](const Tensor& a, const Operand& b) { return tenon::eq(a, b); }>("Where a == b.");
  define<"ne", "a, b", [](const Tensor& a, const Operand& b) { return tenon::ne(a, b); }>("Where a != b.");
  define<"lt", "a, b", [](const Tensor& a, const Operand& b) { return tenon::lt(a, b); }>("Where a < b.");
  define<"le", "a, b", [](const Tensor& a, const Operand& b) { return tenon::le(a, b); }>("Where a <= b.");
  define<"gt", "a, b", [](const Tensor& a, const Operand& b) { return tenon::gt(a, b); }>("Where a > b.");
  define<"ge", "a, b", [](const Tensor& a, const Operand& b) { return tenon::ge(a, b); }>("Where a >= b.");
  define<"logical_and", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::logical_and(a, b); }>(
      "Where both are not 0.");
  define<"logical_or", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::logical_or(a, b); }>(
      "Where either is not 0.");
  define<"logical_xor", "a, b", [](const Tensor& a, const Tensor& b) { return tenon::logical_xor(a, b); }>(
      "Where exactly one is not 0.");
  define<"bitwise_and", "a, b", [](const Operand& a, const Operand& b) { return tenon::bitwise_and(a, b); }>("a & b.");
  define<"bitwise_or", "a, b", [](const Operand& a, const Operand& b) { return tenon::bitwise_or(a, b); }>("a | b.");
  define<"bitwise_xor", "a, b", [](const Operand& a, const Operand& b) { return tenon::bitwise_xor(a, b); }>("a ^ b.");
  define<"add", "a, b, alpha=1", [](const Operand& a, const Operand& b, Number alpha) {
    return is_one(alpha) ? arithmetic::add(a, b) : add(a, b, alpha);
  }>("a + alpha * b.");
  define<"sub", "a, b, alpha=1", [](const Operand& a, const Operand& b, Number alpha) {
    return is_one(alpha) ? arithmetic::sub(a, b) : sub(a, b, alpha);
  }>("a - alpha * b.");
  define<"rsub", "a, b, alpha=1", [](const Tensor& a, const Operand& b, Number alpha) {
    return is_one(alpha) ? arithmetic::sub(b, a) : sub(b, a, alpha);
  }>("b - alpha * a.");
  define<"bitwise_left_shift", "a, b", [](const Tensor& a, const Operand& b) { return (a << b); }>("a << b.");
  define<"bitwise_right_shift", "a, b", [](const Tensor& a, const Operand& b) { return (a >> b); }>("a >> b.");
  define<"lerp", "start, end, weight", [](const Tensor& start, const Operand& end, const Operand& weight) {
    return lerp(start, end, weight);
  }>("start + weight * (end - start).");
  define<"addcmul", "x, a, b, value=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
    return addcmul(x, a, b, value);
  }>("x + value * a * b.");
  define<"addcdiv", "x, a, b, value=1", [](const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
    return addcdiv(x, a, b, value);
  }>("x + value * a / b.");
  define<"isclose", "a, b, rtol=1e-5, atol=1e-8, equal_nan=False",
         [](const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
           return isclose(a, b, rtol, atol, equal_nan);
         }>("Where |a - b| <= atol + rtol * |b|.");
  define<"nan_to_num", "x, nan=0.0, posinf=None, neginf=None",
         [](const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
           return nan_to_num(x, nan, posinf, neginf);
         }>("Numbers in the place of NaN and infinities.");
  define<"clamp", "x, min=None, max=None", [](const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) {
    return arithmetic::clamp(x, std::move(min), std::move(max));
  }>("Values brought between min and max.");
  define<"clip", "x, min=None, max=None", [](const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) {
    return arithmetic::clamp(x, std::move(min), std::move(max));
  }>("As clamp.");
  define<"clamp_min", "x, min", [](const Tensor& x, const Operand& min) { return arithmetic::clamp(x, min, {}); }>(
      "At least min.");
  define<"clamp_max", "x, max", [](const Tensor& x, const Operand& max) { return arithmetic::clamp(x, {}, max); }>(
      "At most max.");
  define<"where", "condition, a, b", [](const Tensor& condition, const Operand& a, const Operand& b) {
    return where(condition, a, b);
  }>("a where the condition holds, else b.", kFunction);
  define<"where", "x, condition, other", [](const Tensor& x, const Tensor& condition, const Operand& other) {
    return x.where(condition, other);
  }>("This tensor where the condition holds, else the other.", kMethod);
  define<"masked_fill", "x, mask, value", [](const Tensor& x, const Tensor& mask, const Operand& value) {
    return masked_fill(x, mask, value);
  }>("The value where the mask is true.");
}

void note_in_place() {
  define<"neg_", "x", [](Tensor x) { return x.neg_(); }>("neg in place.", kMethod);
  define<"abs_", "x", [](Tensor x) { return x.abs_(); }>("abs in place.", kMethod);
  define<"sqrt_", "x", [](Tensor x) { return x.sqrt_(); }>("sqrt in place.", kMethod);
  define<"rsqrt_", "x", [](Tensor x) { return x.rsqrt_(); }>("rsqrt in place.", kMethod);
  define<"square_", "x", [](Tensor x) { return x.square_(); }>("square in place.", kMethod);
  define<"reciprocal_", "x", [](Tensor x) { return x.reciprocal_(); }>("reciprocal in place.", kMethod);
  define<"exp_", "x", [](Tensor x) { return x.exp_(); }>("exp in place.", kMethod);
  define<"log_", "x", [](Tensor x) { return x.log_(); }>("log in place.", kMethod);
  define<"sin_", "x", [](Tensor x) { return x.sin_(); }>("sin in place.", kMethod);
  define<"cos_", "x", [](Tensor x) { return x.cos_(); }>("cos in place.", kMethod);
  define<"tanh_", "x", [](Tensor x) { return x.tanh_(); }>("tanh in place.", kMethod);
  define<"sigmoid_", "x", [](Tensor x) { return x.sigmoid_(); }>("sigmoid in place.", kMethod);
  define<"relu_", "x", [](Tensor x) { return x.relu_(); }>("relu in place.", kMethod);
  define<"floor_", "x", [](Tensor x) { return x.floor_(); }>("floor in place.", kMethod);
  define<"ceil_", "x", [](Tensor x) { return x.ceil_(); }>("ceil in place.", kMethod);
  define<"round_", "x", [](Tensor x) { return x.round_(); }>("round in place.", kMethod);
  define<"trunc_", "x", [](Tensor x) { return x.trunc_(); }>("trunc in place.", kMethod);
  define<"zero_", "x", [](Tensor x) { return x.zero_(); }>("zero in place.", kMethod);
  define<"mul_", "x, other", [](Tensor x, const Operand& other) { return arithmetic::mul_(x, other); }>("mul in place.",
                                                                                                        kMethod);
  define<"div_", "x, other, rounding_mode=None", [](Tensor x, const Operand& other, const py::object& rounding) {
    return rounding.is_none() ? arithmetic::div_(x, other) : x.copy_(divided(x, other, rounding));
  }>("div in place.", kMethod);
  define<"remainder_", "x, other", [](Tensor x, const Operand& other) { return arithmetic::remainder_(x, other); }>(
      "remainder in place.", kMethod);
  define<"fmod_", "x, other", [](Tensor x, const Operand& other) { return arithmetic::fmod_(x, other); }>(
      "fmod in place.", kMethod);
  define<"pow_", "x, other", [](Tensor x, const Operand& other) { return x.pow_(other); }>("pow in place.", kMethod);
  define<"add_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) {
    return is_one(alpha) ? arithmetic::add_(x, other) : x.add_(other, alpha);
  }>("x += alpha * other.", kMethod);
  define<"sub_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) {
    return is_one(alpha) ? arithmetic::sub_(x, other) : x.sub_(other, alpha);
  }>("x -= alpha * other.", kMethod);
  define<"copy_", "x, source", [](Tensor x, const Operand& source) { return x.copy_(source); }>(
      "Takes over the values of another tensor, of any dtype and device.", kMethod);
  define<"fill_", "x, value", [](Tensor x, Number value) { return x.fill_(value); }>("Sets all elements.", kMethod);
  define<"lerp_", "x, end, weight", [](Tensor x, const Operand& end, const Operand& weight) {
    return x.lerp_(end, weight);
  }>("x += weight * (end - x).", kMethod);
  define<"addcmul_", "x, a, b, value=1", [](Tensor x, const Tensor& a, const Tensor& b, Number value) {
    return x.addcmul_(a, b, value);
  }>("x += value * a * b.", kMethod);
  define<"addcdiv_", "x, a, b, value=1", [](Tensor x, const Tensor& a, const Tensor& b, Number value) {
    return x.addcdiv_(a, b, value);
  }>("x += value * a / b.", kMethod);
  define<"clamp_", "x, min=None, max=None", [](Tensor x, std::optional<Operand> min, std::optional<Operand> max) {
    return arithmetic::clamp_(x, std::move(min), std::move(max));
  }>("clamp in place.", kMethod);
  define<"clip_", "x, min=None, max=None", [](Tensor x, std::optional<Operand> min, std::optional<Operand> max) {
    return arithmetic::clamp_(x, std::move(min), std::move(max));
  }>("As clamp_.", kMethod);
  define<"tril_", "x, diagonal=0", [](Tensor x, int64_t diagonal) { return x.tril_(diagonal); }>("tril in place.",
                                                                                                 kMethod);
  define<"triu_", "x, diagonal=0", [](Tensor x, int64_t diagonal) { return x.triu_(diagonal); }>("triu in place.",
                                                                                                 kMethod);
  define<"masked_fill_", "x, mask, value", [](Tensor x, const Tensor& mask, const Operand& value) {
    return x.masked_fill_(mask, value);
  }>("masked_fill in place.", kMethod);
  define<"masked_scatter_", "x, mask, source", [](Tensor x, const Tensor& mask, const Tensor& source) {
    return x.masked_scatter_(mask, source);
  }>("masked_scatter in place.", kMethod);
  define<"index_add_", "x, dim, index, source, alpha=1",
         [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) {
           return x.index_add_(dim, index, source, alpha);
         }>("index_add in place.", kMethod);
  define<"index_copy_", "x, dim, index, source", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source) {
    return x.index_copy_(dim, index, source);
  }>("index_copy in place.", kMethod);
  define<"index_fill_", "x, dim, index, value", [](Tensor x, int64_t dim, const Tensor& index, const Operand& value) {
    return x.index_fill_(dim, index, value);
  }>("index_fill in place.", kMethod);
  define<"scatter_", "x, dim, index, source, reduce=None",
         [](Tensor x, int64_t dim, const Tensor& index, const Operand& source, const py::object& reduce) {
           if (reduce.is_none()) return x.scatter_(dim, index, source);
           return x.scatter_reduce_(dim, index, arithmetic::spread(x, index, source), arithmetic::reduce_of(reduce),
                                    true);
         }>("scatter in place.", kMethod);
  define<"scatter_add_", "x, dim, index, source", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source) {
    return x.scatter_add_(dim, index, source);
  }>("scatter_add in place.", kMethod);
  define<"scatter_reduce_", "x, dim, index, source, reduce, include_self=True",
         [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool self) {
           return x.scatter_reduce_(dim, index, source, reduce, self);
         }>("scatter_reduce in place.", kMethod);
  define<"index_put_", "x, indices, values, accumulate=False",
         [](Tensor x, const std::vector<Tensor>& indices, const Operand& values, bool accumulate) {
           const std::vector<IndexEntry> entries(indices.begin(), indices.end());
           return x.index_put_(entries, values, accumulate);
         }>("x[indices] = values, or += with accumulate.", kMethod);
  define<"uniform_", "x, low=0.0, high=1.0, generator=None",
         [](Tensor x, double low, double high, Generator* generator) { return x.uniform_(low, high, generator); }>(
      "Draws new elements, even between low and high.", kMethod);
  define<"normal_", "x, mean=0.0, std=1.0, generator=None",
         [](Tensor x, double mean, double std, Generator* generator) { return x.normal_(mean, std, generator); }>(
      "Draws new elements, normally distributed.", kMethod);
  define<"bernoulli_", "x, p=0.5, generator=None", [](Tensor x, double p, Generator* generator) {
    return x.bernoulli_(p, generator);
  }>("Draws 1 with probability p, else 0.", kMethod);
}

}  // namespace tenon::python
