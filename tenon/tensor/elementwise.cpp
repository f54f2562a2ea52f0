// Arithmetic, comparisons, mathematics and activations.

#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

using ir::Op;
using record::in_wide;

Tensor binary(std::string_view op, Op row, const Operand& a, const Operand& b, std::optional<DType> dtype = {}) {
  const Operand operands[] = {a, b};
  const auto values = record::unified(op, operands, dtype);
  return tensor_of(ir::binary(row, values[0], values[1]));
}

std::vector<ir::Value> unified_pair(std::string_view op, const Operand& a, const Operand& b) {
  const Operand operands[] = {a, b};
  return record::unified(op, operands);
}

DType result_of(const Operand& a, const Operand& b) {
  const Operand operands[] = {a, b};
  return record::result_type(operands);
}

// Ops on real numbers take integers and bool as f32.
Tensor real_unary(Op row, const Tensor& x) {
  return tensor_of(ir::unary(row, ir::cast(record::in(x), record::real_type(x.dtype()))));
}

// The same value as a tensor of its own: an op that changes nothing still returns something that can be written.
Tensor same(const Tensor& x) { return tensor_of(record::in(x)); }

Tensor as_bool(const Tensor& x) { return x.dtype() == DType::boolean ? x : ne(x, 0); }
Operand as_bool(const Operand& x) {
  if (x.is_tensor()) return as_bool(x.tensor());
  return Number(x.number().as_double() != 0);
}

void require_bits(std::string_view op, DType dtype) {
  if (is_float(dtype)) base::fail(op, "takes integers or bool, got {}", name(dtype));
}

void refuse_bool(std::string_view op, DType dtype, std::string_view instead) {
  if (dtype == DType::boolean) base::fail(op, "is not defined on bool; use {}", instead);
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b); }
Tensor operator<(const Operand& a, const Operand& b) { return lt(a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return le(a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return gt(a, b); }
Tensor operator>=(const Operand& a, const Operand& b) { return ge(a, b); }
Tensor operator==(const Operand& a, const Operand& b) { return eq(a, b); }
Tensor operator!=(const Operand& a, const Operand& b) { return ne(a, b); }
Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
Tensor operator<<(const Tensor& a, const Operand& b) { return binary("shift", Op::shl, a, b); }
Tensor operator>>(const Tensor& a, const Operand& b) { return binary("shift", Op::shr, a, b); }

// ---- arithmetic ----

Tensor add(const Operand& a, const Operand& b) {
  return binary("add", result_of(a, b) == DType::boolean ? Op::bit_or : Op::add, a, b);
}

Tensor sub(const Operand& a, const Operand& b) {
  const DType dtype = result_of(a, b);
  refuse_bool("sub", dtype, "logical_xor");
  const Operand operands[] = {a, b};
  const auto values = record::unified("sub", operands);
  return tensor_of(ir::sub(values[0], values[1]));
}

namespace {

// alpha * b in the dtype of the result: integers are not scaled by a real number.
Operand scaled(std::string_view op, const Operand& a, const Operand& b, Number alpha) {
  const DType dtype = result_of(a, b);
  if (alpha.is_real() && !is_float(dtype)) base::fail(op, "alpha must be an integer for {}", name(dtype));
  if (b.is_tensor()) return mul(b.tensor().to(dtype), alpha);
  if (is_float(dtype)) return b.number().as_double() * alpha.as_double();
  return b.number().as_int() * alpha.as_int();
}

}  // namespace

Tensor add(const Operand& a, const Operand& b, Number alpha) { return add(a, scaled("add", a, b, alpha)); }
Tensor sub(const Operand& a, const Operand& b, Number alpha) { return sub(a, scaled("sub", a, b, alpha)); }

Tensor mul(const Operand& a, const Operand& b) {
  return binary("mul", result_of(a, b) == DType::boolean ? Op::bit_and : Op::mul, a, b);
}

Tensor div(const Operand& a, const Operand& b) {
  return binary("div", Op::div, a, b, record::real_type(result_of(a, b)));
}

Tensor fmod(const Operand& a, const Operand& b) {
  refuse_bool("fmod", result_of(a, b), "integers");
  return binary("fmod", Op::mod, a, b);
}

Tensor remainder(const Operand& a, const Operand& b) {
  const DType dtype = result_of(a, b);
  refuse_bool("remainder", dtype, "integers");
  // An infinite dividend has no remainder, and that no slope: a NaN says so to the gradient. -0 changes nothing.
  const auto marked = [&](const Tensor& x) {
    const Tensor zero = full({}, -0.0, Options(x.dtype(), x.device()));
    return add(x, where(logical_and(isinf(x), ne(b, 0)), std::numeric_limits<double>::quiet_NaN(), zero));
  };
  const bool has_slope = a.is_tensor() && b.is_tensor() && is_float(a.tensor().dtype());
  if (has_slope) record::broadcast("remainder", a.tensor().shape(), b.tensor().shape());  // before others say so
  // In the dtype of the result: marked, a single number has the shape of the divisor and would decide the dtype.
  const Operand dividend = has_slope ? Operand(marked(a.tensor().to(dtype))) : a;
  const Tensor rest = binary("remainder", Op::mod, dividend, b, dtype);
  const Operand divisor = b.is_tensor() ? Operand(b.tensor().to(dtype)) : b;
  // C's remainder has the sign of the dividend: add the divisor where the signs differ.
  return where(logical_and(ne(rest, 0), ne(lt(rest, 0), lt(add(zeros_like(rest), divisor), 0))), add(rest, divisor),
               rest);
}

namespace {

// Of what has no slope wherever it has one: it takes part in the graph, with gradient 0.
std::vector<Tensor> flat_gradients(std::span<const Tensor> in, std::span<const Tensor>) {
  std::vector<Tensor> zeros;
  for (const Tensor& x : in) zeros.push_back(zeros_like(x));
  return zeros;
}

// The floor of the exact quotient: dividing first would round 1 / 0.1 up to 10. Flat, but for its steps.
Tensor real_floor_divide(const Operand& a, const Operand& b) {
  static const CustomFunction flat{
      "floor_divide",
      [](std::span<const Tensor> in) {
        const Tensor &x = in[0], &y = in[1], rest = fmod(x, y), plain = div(x, y);
        const Tensor crosses = logical_and(ne(rest, 0.0), ne(lt(rest, 0.0), lt(y, 0.0)));
        const Tensor quotient = sub(div(sub(x, rest), y), crosses.to(x.dtype()));
        const Tensor below = floor(quotient);
        const Tensor rounded = where(gt(sub(quotient, below), 0.5), add(below, 1.0), below);
        const Tensor signed_zero = mul(plain, 0.0);  // a zero has the sign of the quotient
        return std::vector{where(eq(y, 0.0), plain, where(eq(quotient, 0.0), signed_zero, rounded))};
      },
      flat_gradients};
  const Operand operands[] = {a, b};
  const auto values = record::unified("floor_divide", operands);
  const Tensor inputs[] = {tensor_of(values[0]), tensor_of(values[1])};
  return apply(flat, inputs)[0];
}

}  // namespace

Tensor floor_divide(const Operand& a, const Operand& b) {
  const DType dtype = result_of(a, b);
  refuse_bool("floor_divide", dtype, "integers");
  if (is_float(dtype)) return real_floor_divide(a, b);
  const Tensor quotient = binary("floor_divide", Op::idiv, a, b);
  const Tensor rest = binary("floor_divide", Op::mod, a, b);
  const Tensor divisor = add(zeros_like(rest), b);
  return where(logical_and(ne(rest, 0), ne(lt(rest, 0), lt(divisor, 0))), sub(quotient, 1), quotient);
}

namespace {

// By squaring, bit by bit: exact, and wrapping as integer products do. Negative powers are 0 but for 1 and -1.
Tensor whole_pow(const Tensor& base, const Operand& exponent) {
  Tensor result = ones_like(base), square = base;
  if (!exponent.is_tensor()) {
    for (int64_t left = exponent.number().as_int(); left > 0; left >>= 1) {
      if (left & 1) result = mul(result, square);
      if (left > 1) square = mul(square, square);
    }
    return result;
  }
  const Tensor power = exponent.tensor().to(DType::i64);
  for (int64_t bit = 0; bit < 32; ++bit) {
    result = mul(result, where(ne(bitwise_and(power >> bit, 1), 0), square, 1));
    square = mul(square, square);
  }
  const Tensor odd = ne(bitwise_and(power, 1), 0);
  const Tensor inverse = where(eq(base, 1), 1, where(eq(base, -1), where(odd, -1, ones_like(power)), 0));
  return where(lt(power, 0), inverse.to(base.dtype()), result);
}

}  // namespace

Tensor pow(const Operand& base, const Operand& exponent) {
  const DType dtype = result_of(base, exponent);
  if (dtype == DType::boolean) base::fail("pow", "is not defined on bool");
  if (!is_float(dtype)) {
    if (!exponent.is_tensor() && exponent.number().as_int() < 0) {
      base::fail("pow", "integers to negative powers are not integers; convert to a float dtype first");
    }
    const Operand operands[] = {base, exponent};
    const auto values = record::unified("pow", operands);
    return whole_pow(tensor_of(values[0]), exponent.is_tensor() ? Operand(tensor_of(values[1])) : exponent);
  }
  if (!exponent.is_tensor()) {
    const double power = exponent.number().as_double();
    const Tensor x = base.tensor().to(dtype);
    static const CustomFunction one{"pow", [](std::span<const Tensor> in) { return std::vector{ones_like(in[0])}; },
                                    flat_gradients};
    if (power == 0) return apply(one, x);
    if (power == 2) return mul(x, x);
    if (power == 0.5) return sqrt(x);
    if (power == 1) return same(x);
    if (power == 3) return in_wide(x, [](const Tensor& w) { return w * w * w; });
    if (power == -1) return reciprocal(x);
    if (power == -0.5) return rsqrt(x);
  }
  return binary("pow", Op::pow, base, exponent);
}

Tensor maximum(const Operand& a, const Operand& b) { return binary("maximum", Op::maximum, a, b); }

Tensor minimum(const Operand& a, const Operand& b) {
  const Operand operands[] = {a, b};
  const auto values = record::unified("minimum", operands);
  if (is_float(values[0].dtype()))
    return tensor_of(ir::neg(ir::binary(Op::maximum, ir::neg(values[0]), ir::neg(values[1]))));
  // Complementing reverses the order of integers of either sign without overflow.
  const auto flipped = [](const ir::Value& v) {
    return ir::binary(Op::bit_xor, v, v.dtype() == DType::boolean ? ir::full_like(v, 1) : ir::full_like(v, -1));
  };
  return tensor_of(flipped(ir::binary(Op::maximum, flipped(values[0]), flipped(values[1]))));
}

// ---- comparison and logic ----

Tensor lt(const Operand& a, const Operand& b) { return binary("lt", Op::less, a, b); }
Tensor gt(const Operand& a, const Operand& b) {
  const auto values = unified_pair("gt", a, b);
  return tensor_of(ir::less(values[1], values[0]));
}
Tensor eq(const Operand& a, const Operand& b) { return binary("eq", Op::equal, a, b); }
Tensor ne(const Operand& a, const Operand& b) {
  return tensor_of(ir::logical_not(value_of(binary("ne", Op::equal, a, b))));
}
Tensor le(const Operand& a, const Operand& b) {
  return tensor_of(
      ir::binary(Op::bit_or, value_of(binary("le", Op::less, a, b)), value_of(binary("le", Op::equal, a, b))));
}
Tensor ge(const Operand& a, const Operand& b) {
  const auto values = unified_pair("ge", a, b);
  return tensor_of(ir::binary(Op::bit_or, ir::less(values[1], values[0]), ir::equal(values[0], values[1])));
}

Tensor logical_and(const Operand& a, const Operand& b) {
  return binary("logical_and", Op::bit_and, as_bool(a), as_bool(b));
}
Tensor logical_or(const Operand& a, const Operand& b) {
  return binary("logical_or", Op::bit_or, as_bool(a), as_bool(b));
}
Tensor logical_xor(const Operand& a, const Operand& b) {
  return binary("logical_xor", Op::bit_xor, as_bool(a), as_bool(b));
}
Tensor logical_not(const Tensor& x) { return tensor_of(ir::logical_not(value_of(as_bool(x)))); }

Tensor bitwise_and(const Operand& a, const Operand& b) {
  require_bits("bitwise_and", result_of(a, b));
  return binary("bitwise_and", Op::bit_and, a, b);
}
Tensor bitwise_or(const Operand& a, const Operand& b) {
  require_bits("bitwise_or", result_of(a, b));
  return binary("bitwise_or", Op::bit_or, a, b);
}
Tensor bitwise_xor(const Operand& a, const Operand& b) {
  require_bits("bitwise_xor", result_of(a, b));
  return binary("bitwise_xor", Op::bit_xor, a, b);
}
Tensor bitwise_not(const Tensor& x) {
  require_bits("bitwise_not", x.dtype());
  return bitwise_xor(x, x.dtype() == DType::boolean ? Number(true) : Number(-1));
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
  if (condition.dtype() != DType::boolean)
    base::fail("where", "the condition must be bool, got {}", name(condition.dtype()));
  const Operand operands[] = {condition, a, b};
  const auto choices = std::span(operands).subspan(1);
  const DType dtype = record::result_type(choices);
  const Device device = record::common_device("where", operands);
  // The condition takes part in broadcasting but not in promotion.
  Dims shape = condition.shape();
  for (const Operand& choice : choices) {
    if (choice.is_tensor()) shape = record::broadcast("where", shape, choice.tensor().shape());
  }
  const auto prepared = [&](const Operand& choice, DType type) {
    return record::expanded("where", record::brought("where", choice, type, device), shape);
  };
  return tensor_of(ir::where(prepared(condition, DType::boolean), prepared(a, dtype), prepared(b, dtype)));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  if (mask.dtype() != DType::boolean) base::fail("masked_fill", "the mask must be bool, got {}", name(mask.dtype()));
  if (value.is_tensor() && value.tensor().dim() != 0) {
    base::fail("masked_fill", "the value must be a single number, got shape {}", ir::to_string(value.tensor().shape()));
  }
  record::require_same_device("masked_fill", x, mask);
  const Dims shape = record::broadcast("masked_fill", x.shape(), mask.shape());
  const Operand operands[] = {x, value};
  const Device device = record::common_device("masked_fill", operands);
  const auto prepared = [&](const Operand& operand, DType dtype) {
    return record::expanded("masked_fill", record::brought("masked_fill", operand, dtype, device), shape);
  };
  return tensor_of(ir::where(prepared(mask, DType::boolean), prepared(value, x.dtype()), prepared(x, x.dtype())));
}

// ---- mathematics ----

Tensor neg(const Tensor& x) {
  refuse_bool("neg", x.dtype(), "logical_not");
  return tensor_of(ir::neg(record::in(x)));
}
Tensor abs(const Tensor& x) {
  return x.dtype() == DType::boolean ? same(x) : tensor_of(ir::unary(Op::abs, record::in(x)));
}
Tensor sign(const Tensor& x) {
  if (x.dtype() == DType::boolean) return same(x);
  const auto direction = [](const Tensor& w) { return sub(gt(w, 0).to(w.dtype()), lt(w, 0).to(w.dtype())); };
  if (!is_float(x.dtype())) return direction(x);
  static const CustomFunction flat{
      "sign", [direction](std::span<const Tensor> in) { return std::vector{direction(in[0])}; }, flat_gradients};
  return apply(flat, x);
}
Tensor sqrt(const Tensor& x) { return real_unary(Op::sqrt, x); }
Tensor rsqrt(const Tensor& x) {
  return in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) { return div(1.0, sqrt(w)); });
}
Tensor square(const Tensor& x) { return x.dtype() == DType::boolean ? pow(x, 2) : mul(x, x); }
Tensor reciprocal(const Tensor& x) { return div(1.0, x); }
Tensor exp(const Tensor& x) { return real_unary(Op::exp, x); }
Tensor exp2(const Tensor& x) { return pow(2.0, x.to(record::real_type(x.dtype()))); }
Tensor expm1(const Tensor& x) { return real_unary(Op::expm1, x); }
Tensor log(const Tensor& x) { return real_unary(Op::log, x); }
Tensor log2(const Tensor& x) { return real_unary(Op::log2, x); }
Tensor log10(const Tensor& x) {
  return in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) { return mul(log(w), std::numbers::log10e); });
}
Tensor log1p(const Tensor& x) { return real_unary(Op::log1p, x); }
Tensor sin(const Tensor& x) { return real_unary(Op::sin, x); }
Tensor cos(const Tensor& x) { return real_unary(Op::cos, x); }
Tensor tan(const Tensor& x) {
  return in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) { return div(sin(w), cos(w)); });
}
Tensor tanh(const Tensor& x) { return real_unary(Op::tanh, x); }

// Each is the other's derivative, to the digits of small arguments: what they are composed of would lose them, and has
// a corner at 0.
Tensor sinh(const Tensor& x) {
  static const CustomFunction function{
      "sinh",
      [](std::span<const Tensor> in) {
        // e^|w| leaves the range before sinh does: large ones are multiplied from two halves. The others are made from
        // expm1, so that small arguments keep their digits.
        const Tensor &w = in[0], is_large = gt(abs(w), 20), half = exp(mul(abs(w), 0.5));
        const Tensor small = where(is_large, 0.0, w), large = mul(mul(half, 0.5), half);
        return std::vector{
            where(is_large, where(lt(w, 0), neg(large), large), mul(sub(expm1(small), expm1(neg(small))), 0.5))};
      },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        return std::vector{mul(grads[0], cosh(in[0]))};
      }};
  return in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) { return apply(function, w); });
}
Tensor cosh(const Tensor& x) {
  static const CustomFunction function{
      "cosh",
      [](std::span<const Tensor> in) {
        const Tensor half = exp(mul(abs(in[0]), 0.5));
        return std::vector{add(mul(mul(half, 0.5), half), mul(div(0.5, half), div(1.0, half)))};
      },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        return std::vector{mul(grads[0], sinh(in[0]))};
      }};
  return in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) { return apply(function, w); });
}
Tensor erf(const Tensor& x) { return real_unary(Op::erf, x); }
Tensor sigmoid(const Tensor& x) { return real_unary(Op::sigmoid, x); }

Tensor floor(const Tensor& x) { return is_float(x.dtype()) ? tensor_of(ir::unary(Op::floor, record::in(x))) : same(x); }
Tensor ceil(const Tensor& x) {
  if (!is_float(x.dtype())) return same(x);
  // Its slope is 0; through the two negations it would be -0.
  static const CustomFunction flat{
      "ceil", [](std::span<const Tensor> in) { return std::vector{neg(floor(neg(in[0])))}; }, flat_gradients};
  return apply(flat, x);
}
Tensor trunc(const Tensor& x) { return is_float(x.dtype()) ? where(lt(x, 0), ceil(x), floor(x)) : same(x); }
Tensor round(const Tensor& x) {
  if (!is_float(x.dtype())) return same(x);
  static const CustomFunction flat{
      "round",
      [](std::span<const Tensor> in) {
        const Tensor &w = in[0], below = floor(w), rest = sub(w, below);  // exact
        const Tensor odd = ne(fmod(below, 2.0), 0.0);
        const Tensor nearest =
            where(logical_or(gt(rest, 0.5), logical_and(eq(rest, 0.5), odd)), add(below, 1.0), below);
        return std::vector{where(eq(nearest, 0), mul(w, 0), nearest)};  // zero has the sign of the argument
      },
      flat_gradients};
  return apply(flat, x);
}

Tensor frac(const Tensor& x) { return sub(x, trunc(x)); }

Tensor isnan(const Tensor& x) { return ne(x, x); }
Tensor isinf(const Tensor& x) {
  if (!is_float(x.dtype())) return full(x.shape(), false, Options(DType::boolean, x.device()));
  return eq(abs(x), std::numeric_limits<double>::infinity());
}
Tensor isfinite(const Tensor& x) {
  if (!is_float(x.dtype())) return full(x.shape(), true, Options(DType::boolean, x.device()));
  return lt(abs(x), std::numeric_limits<double>::infinity());
}

namespace {

double highest(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504;
    case DType::bf16: return 3.3895313892515355e38;
    case DType::f64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

}  // namespace

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (!is_float(x.dtype())) return same(x);
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor finite = where(eq(x, infinity), posinf.value_or(highest(x.dtype())),
                              where(eq(x, -infinity), neginf.value_or(-highest(x.dtype())), x));
  return where(isnan(x), nan, finite);
}

namespace {

// At a bound that is a number, and at NaN, the result is flat; a tensor shares the gradient at ties evenly: both as in
// PyTorch.
Tensor bounded(const Tensor& x, const Operand& bound, bool from_below) {
  if (bound.is_tensor()) return from_below ? maximum(x, bound) : minimum(x, bound);
  const Tensor inside = from_below ? gt(x, bound) : lt(x, bound);
  return where(inside, x, is_float(x.dtype()) ? where(isnan(x), x.detach(), bound) : bound);
}

// Numbers as bounds, where no gradient asks what happens at them: one comparison each. x and a bound that are equal
// have the same bits but for 0, where the bound's sign counts.
Tensor bounded_flatly(const Tensor& x, std::optional<double> min, std::optional<double> max) {
  Tensor result = x;
  if (min) result = *min != 0 ? maximum(result, *min) : where(le(result, *min), *min, result);
  if (max) result = where(*max != 0 ? gt(result, *max) : ge(result, *max), *max, result);
  return result;
}

// The same with its gradient: none at the bounds, beyond them and for NaN.
Tensor bounded_by_numbers(const Tensor& x, std::optional<double> min, std::optional<double> max) {
  if (!grad_enabled() || !x.requires_grad()) return bounded_flatly(x, min, max);
  const CustomFunction function{
      "clamp", [=](std::span<const Tensor> in) { return std::vector{bounded_flatly(in[0], min, max)}; },
      [=](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor &w = in[0], above = min ? gt(w, *min) : Tensor(), below = max ? lt(w, *max) : Tensor();
        const Tensor inside = !min ? below : !max ? above : logical_and(above, below);
        return std::vector{where(inside, grads[0], 0.0)};
      }};
  return apply(function, std::vector{x})[0];
}

// Between two tensors, with PyTorch's gradients: a tie of x with one bound is shared, one with both is x's alone, and
// where the bounds have changed places everything is the upper one's.
Tensor between(const Tensor& x, const Tensor& min, const Tensor& max) {
  static const CustomFunction function{
      "clamp", [](std::span<const Tensor> in) { return std::vector{minimum(maximum(in[0], in[1]), in[2])}; },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor &w = in[0], &low = in[1], &high = in[2], &g = grads[0], half = mul(g, 0.5), none = zeros_like(g);
        const Tensor apart = lt(low, high), in_order = le(low, high);
        const Tensor at_low = logical_and(apart, eq(w, low)), at_high = logical_and(apart, eq(w, high));
        const Tensor below = lt(w, low), above = gt(w, high);
        return std::vector{
            where(logical_or(below, above), none, where(logical_or(at_low, at_high), half, g)),
            where(at_low, half, where(logical_and(in_order, below), g, none)),
            where(at_high, half, where(logical_or(gt(low, high), logical_and(in_order, above)), g, none))};
      }};
  const Operand operands[] = {x, min, max};
  const auto values = record::unified("clamp", operands);
  return apply(function, std::vector{tensor_of(values[0]), tensor_of(values[1]), tensor_of(values[2])})[0];
}

}  // namespace

Tensor clamp(const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) {
  if (!min && !max) base::fail("clamp", "takes min, max or both");
  if (min && max && min->is_tensor() && max->is_tensor()) return between(x, min->tensor(), max->tensor());
  const auto is_number = [](const std::optional<Operand>& bound) { return !bound || !bound->is_tensor(); };
  if (is_float(x.dtype()) && is_number(min) && is_number(max)) {
    const auto number = [](const std::optional<Operand>& bound) {
      return bound ? std::optional(bound->number().as_double()) : std::nullopt;
    };
    return bounded_by_numbers(x, number(min), number(max));
  }
  Tensor result = x;
  if (min) result = bounded(result, *min, true);
  if (max) result = bounded(result, *max, false);
  return result;
}

// ---- activations ----
// The branch that `where` does not take must stay finite, or its gradient 0 times infinity would be NaN.

Tensor relu(const Tensor& x) { return where(le(x, 0), 0, x); }

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  record::require_float("leaky_relu", x);
  return where(gt(x, 0), x, mul(x, negative_slope));
}

Tensor elu(const Tensor& x, double alpha) {
  record::require_float("elu", x);
  return in_wide(x, [&](const Tensor& w) { return where(gt(w, 0), w, mul(expm1(where(gt(w, 0), 0.0, w)), alpha)); });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  record::require_float("softplus", x);
  return in_wide(x, [&](const Tensor& w) {
    const Tensor scaled = mul(w, beta);
    const Tensor linear = gt(scaled, threshold);
    return where(linear, w, div(log1p(exp(where(linear, 0.0, scaled))), beta));
  });
}

Tensor silu(const Tensor& x) {
  record::require_float("silu", x);
  return in_wide(x, [](const Tensor& w) { return mul(w, sigmoid(w)); });
}

Tensor mish(const Tensor& x) {
  record::require_float("mish", x);
  return in_wide(x, [](const Tensor& w) { return mul(w, tanh(softplus(w))); });
}

Tensor hardswish(const Tensor& x) {
  record::require_float("hardswish", x);
  // At the corners the slope is that of the outer piece, as in PyTorch: 0 at -3 and 1 at 3. Left of them stands a
  // product with 0, as there: its zeros are negative, and the end of the line is NaN.
  return in_wide(x, [](const Tensor& w) {
    const Tensor below = le(w, -3.0), above = ge(w, 3.0), inner = where(logical_or(below, above), 0.0, w);
    return where(below, mul(w, 0.0), where(above, w, div(mul(inner, add(inner, 3.0)), 6.0)));
  });
}

Tensor gelu(const Tensor& x, std::string_view approximate) {
  record::require_float("gelu", x);
  if (approximate == "none") {
    return in_wide(x, [](const Tensor& w) { return mul(mul(w, 0.5), add(erf(mul(w, 1 / std::numbers::sqrt2)), 1.0)); });
  }
  if (approximate != "tanh") base::fail("gelu", "approximate is 'none' or 'tanh', got '{}'", approximate);
  // sqrt(2 / pi) * (x + 0.044715 x^3), multiplied out so that its gradient takes the fewest operations.
  return in_wide(x, [](const Tensor& w) {
    const double slope = std::sqrt(2 / std::numbers::pi);
    const Tensor inner = mul(w, add(mul(mul(w, w), 0.044715 * slope), slope));
    return mul(mul(w, 0.5), add(tanh(inner), 1.0));
  });
}

}  // namespace tenon
