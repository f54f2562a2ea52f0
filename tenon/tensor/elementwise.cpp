// Arithmetic, comparisons and mathematics.

#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/base/zero_division.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/composed.h"
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
Tensor operator<<(const Tensor& a, const Operand& b) { return bitwise_left_shift(a, b); }
Tensor operator>>(const Tensor& a, const Operand& b) { return bitwise_right_shift(a, b); }

// ---- arithmetic ----

namespace {

// Whether a dtype holds a number exactly; those that are as wide as f32 count as if they did.
bool holds(DType dtype, double value) {
  if ((dtype != DType::f16 && dtype != DType::bf16) || value == 0 || !std::isfinite(value)) return true;
  const bool is_half = dtype == DType::f16;
  const int digits = is_half ? 11 : 8, least = is_half ? -24 : -133, most = is_half ? 16 : 128;
  int exponent = 0;
  std::frexp(value, &exponent);
  if (exponent > most) return false;
  const double unit = std::ldexp(1.0, std::max(exponent - digits, least));
  return value / unit == std::trunc(value / unit);
}

// A 16-bit tensor and a number that its dtype cannot hold, 65536 or 0.1, are combined in f32 and the result is rounded
// once, as in PyTorch: rounding the number first would make infinity of it, or lose its last digits.
template <typename F>
Tensor rounded_once(const Operand& a, const Operand& b, F&& f) {
  const Operand& x = a.is_tensor() ? a : b;
  const Operand& number = a.is_tensor() ? b : a;
  if (!x.is_tensor() || number.is_tensor() || holds(x.tensor().dtype(), number.number().as_double())) return f(a, b);
  const Operand wide = x.tensor().to(DType::f32);
  return (a.is_tensor() ? f(wide, b) : f(a, wide)).to(x.tensor().dtype());
}

Tensor plain_sum(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) {
    return binary("add", result_of(x, y) == DType::boolean ? Op::bit_or : Op::add, x, y);
  });
}

Tensor plain_difference(const Operand& a, const Operand& b) {
  refuse_bool("sub", result_of(a, b), "logical_xor");
  return rounded_once(a, b, [](const Operand& x, const Operand& y) {
    const Operand operands[] = {x, y};
    const auto values = record::unified("sub", operands);
    return tensor_of(ir::sub(values[0], values[1]));
  });
}

bool is_one(Number number) { return number.as_double() == 1 && number.kind() != Number::Kind::boolean; }

// alpha * b in the dtype of the result: integers are not scaled by a real number.
Operand scaled(std::string_view op, const Operand& a, const Operand& b, Number alpha) {
  const DType dtype = result_of(a, b);
  if (alpha.is_real() && !is_float(dtype)) base::fail(op, "alpha must be an integer for {}", name(dtype));
  if (dtype == DType::boolean) {
    if (b.is_tensor()) return logical_and(b, alpha.as_int() != 0);
    return Number(b.number().as_int() != 0 && alpha.as_int() != 0);
  }
  if (alpha.kind() == Number::Kind::boolean)
    base::fail(op, "an alpha that is a bool is for bool alone, not for {}", name(dtype));
  if (b.is_tensor()) return mul(b.tensor().to(dtype), alpha);
  if (is_float(dtype)) return b.number().as_double() * alpha.as_double();
  return b.number().as_int() * alpha.as_int();
}

// Integers divided by the number 0: an error before anything is recorded. A tensor's zeros are found too late for one.
void refuse_zero(std::string_view op, const Operand& a, const Operand& b) {
  if (b.is_tensor() || b.number().is_real() || b.number().as_int() != 0 || is_float(result_of(a, b))) return;
  base::fail_zero_division(op, "integers cannot be divided by the number 0");
}

// Towards 0, as C divides.
Tensor truncated_quotient(const Operand& a, const Operand& b) {
  if (is_float(result_of(a, b))) return trunc(true_divide(a, b));
  return floor_divide(sub(a, fmod(a, b)), b);
}

}  // namespace

Tensor add(const Operand& a, const Operand& b, Number alpha) {
  return is_one(alpha) ? plain_sum(a, b) : plain_sum(a, scaled("add", a, b, alpha));
}
Tensor sub(const Operand& a, const Operand& b, Number alpha) {
  return is_one(alpha) ? plain_difference(a, b) : plain_difference(a, scaled("sub", a, b, alpha));
}
Tensor rsub(const Operand& a, const Operand& b, Number alpha) { return sub(b, a, alpha); }

Tensor mul(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) {
    return binary("mul", result_of(x, y) == DType::boolean ? Op::bit_and : Op::mul, x, y);
  });
}

Tensor true_divide(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) {
    return binary("div", Op::div, x, y, record::real_type(result_of(x, y)));
  });
}

Tensor div(const Operand& a, const Operand& b, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return true_divide(a, b);
  if (*rounding_mode == "floor") return floor_divide(a, b);
  if (*rounding_mode == "trunc") return truncated_quotient(a, b);
  base::fail("div", "there is no rounding mode '{}'; there are 'floor' and 'trunc'", *rounding_mode);
}

Tensor fmod(const Operand& a, const Operand& b) {
  refuse_bool("fmod", result_of(a, b), "integers");
  refuse_zero("fmod", a, b);
  return binary("fmod", Op::mod, a, b);
}

// Euclid's algorithm, in as many steps as neighbours among Fibonacci's numbers take, which need the most.
Tensor gcd(const Tensor& a, const Tensor& b) {
  const DType dtype = result_of(a, b);
  if (!is_integer(dtype)) base::fail("gcd", "takes integers, got {} and {}", name(a.dtype()), name(b.dtype()));
  const int steps = dtype == DType::u8 ? 12 : dtype == DType::i32 ? 45 : 91;
  const auto values = unified_pair("gcd", abs(a), abs(b));
  Tensor x = tensor_of(values[0]), y = tensor_of(values[1]);
  for (int i = 0; i < steps; ++i) {
    const Tensor rest = binary("gcd", Op::mod, x, y);  // of 0, 0
    x = where(eq(y, 0), x, y);
    y = rest;
  }
  return abs(x);
}

Tensor lcm(const Tensor& a, const Tensor& b) {
  const Tensor divisor = gcd(a, b);
  return abs(mul(floor_divide(a, divisor), b));
}

Tensor remainder(const Operand& a, const Operand& b) {
  const DType dtype = result_of(a, b);
  refuse_bool("remainder", dtype, "integers");
  refuse_zero("remainder", a, b);
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
  refuse_zero("floor_divide", a, b);
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
  const int64_t bits = exponent.tensor().dtype() == DType::u8 || exponent.tensor().dtype() == DType::boolean ? 8
                       : exponent.tensor().dtype() == DType::i32                                             ? 31
                                                                                                             : 63;
  for (int64_t bit = 0; bit < bits; ++bit) {
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

Tensor Tensor::operator-() const { return neg(); }
Tensor Tensor::operator!() const { return logical_not(); }
Tensor Tensor::operator~() const { return bitwise_not(); }

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

Tensor bitwise_left_shift(const Operand& a, const Operand& b) { return binary("shift", Op::shl, a, b); }
Tensor bitwise_right_shift(const Operand& a, const Operand& b) { return binary("shift", Op::shr, a, b); }

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

Tensor Tensor::where(const Tensor& condition, const Operand& other) const {
  return tenon::where(condition, *this, other);
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
Tensor exp2(const Tensor& x) { return real_unary(Op::exp2, x); }
Tensor expm1(const Tensor& x) { return real_unary(Op::expm1, x); }
Tensor log(const Tensor& x) { return real_unary(Op::log, x); }
Tensor log2(const Tensor& x) { return real_unary(Op::log2, x); }
Tensor log10(const Tensor& x) {
  return in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) { return mul(log(w), std::numbers::log10e); });
}
Tensor log1p(const Tensor& x) { return real_unary(Op::log1p, x); }
Tensor sin(const Tensor& x) { return real_unary(Op::sin, x); }
Tensor cos(const Tensor& x) { return real_unary(Op::cos, x); }
Tensor atan(const Tensor& x) { return real_unary(Op::atan, x); }
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
namespace {

// Integers to tens, hundreds, ...: halves to the even one.
Tensor whole_round(const Tensor& x, int64_t zeros) {
  constexpr int64_t kMostDigits = 18;
  if (zeros > kMostDigits) return mul(x, 0);
  int64_t unit = 1;
  for (int64_t i = 0; i < zeros; ++i) unit *= 10;
  const Tensor wide = x.to(DType::i64), below = floor_divide(wide, unit), rest = sub(wide, mul(below, unit));
  const Tensor is_half = eq(rest, unit / 2), is_odd = ne(bitwise_and(below, 1), 0);
  const Tensor goes_up = logical_or(gt(rest, unit / 2), logical_and(is_half, is_odd));
  return mul(add(below, goes_up.to(DType::i64)), unit).to(x.dtype());
}

}  // namespace

Tensor round(const Tensor& x, int64_t decimals) {
  if (decimals == 0) return round(x);
  if (!is_float(x.dtype())) return decimals > 0 ? same(x) : whole_round(x, -decimals);
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return record::in_wide(x, [&](const Tensor& w) {
    return decimals > 0 ? div(round(mul(w, scale)), scale) : mul(round(div(w, scale)), scale);
  });
}

Tensor round(const Tensor& x) { return is_float(x.dtype()) ? tensor_of(ir::unary(Op::round, record::in(x))) : same(x); }

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

// Numbers as bounds, which are operands: with others it is the same function.
struct NumberBounds {
  Tensor min, max;  // undefined where there is none
  bool min_is_zero, max_is_zero;
};

// Where no gradient asks what happens at them: one comparison each. x and a bound that are equal have the same bits but
// for 0, where the bound's sign counts.
Tensor bounded_flatly(const Tensor& x, const NumberBounds& bounds) {
  const Tensor &min = bounds.min, &max = bounds.max;
  Tensor result = x;
  if (min.defined()) result = bounds.min_is_zero ? where(le(result, min), min, result) : maximum(result, min);
  if (max.defined()) result = bounds.max_is_zero ? where(ge(result, max), max, result) : minimum(result, max);
  return result;
}

// The same with its gradient: none at the bounds, beyond them and for NaN.
Tensor bounded_with_gradient(const Tensor& x, const NumberBounds& bounds) {
  const CustomFunction function{
      "clamp", [=](std::span<const Tensor> in) { return std::vector{bounded_flatly(in[0], bounds)}; },
      [=](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor& w = in[0];
        const Tensor above = bounds.min.defined() ? gt(w, bounds.min) : Tensor();
        const Tensor below = bounds.max.defined() ? lt(w, bounds.max) : Tensor();
        const Tensor inside = !above.defined() ? below : !below.defined() ? above : logical_and(above, below);
        return std::vector{where(inside, grads[0], 0.0)};
      }};
  return apply(function, std::vector{x})[0];
}

Tensor bounded_by_numbers(const Tensor& x, std::optional<double> min, std::optional<double> max) {
  std::vector<Tensor> operands{x};
  for (const std::optional<double>& bound : {min, max}) {
    if (bound) operands.push_back(tensor_of(record::number("clamp", Number(*bound), x.dtype(), x.device().id)));
  }
  const bool min_is_zero = min == 0.0, max_is_zero = max == 0.0;
  return composed(
      "clamp", {min.has_value(), max.has_value(), min_is_zero, max_is_zero}, operands, [&](std::span<const Tensor> in) {
        const NumberBounds bounds{min ? in[1] : Tensor(), max ? in.back() : Tensor(), min_is_zero, max_is_zero};
        const bool has_gradient = grad_enabled() && in[0].requires_grad();
        return std::vector{has_gradient ? bounded_with_gradient(in[0], bounds) : bounded_flatly(in[0], bounds)};
      })[0];
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

// Bounds of integers that lie beyond their dtype are the dtype's own: clamp(-1, 300) of u8 changes nothing.
std::optional<Operand> within(DType dtype, std::optional<Operand> bound, bool is_upper) {
  if (!bound || bound->is_tensor() || bound->number().kind() != Number::Kind::integer) return bound;
  if (dtype != DType::u8 && dtype != DType::i32) return bound;
  const int64_t value = bound->number().as_int();
  const int64_t least = dtype == DType::u8 ? 0 : std::numeric_limits<int32_t>::min();
  const int64_t most = dtype == DType::u8 ? 255 : std::numeric_limits<int32_t>::max();
  if (value >= least && value <= most) return bound;
  if (is_upper == (value > most)) return Operand(is_upper ? most : least);
  base::fail("clamp", "no {} is {} {}", name(dtype), is_upper ? "at most" : "at least", value);
}

}  // namespace

Tensor clamp(const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) {
  if (!min && !max) base::fail("clamp", "takes min, max or both");
  min = within(x.dtype(), std::move(min), false);
  max = within(x.dtype(), std::move(max), true);
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

Tensor clamp_min(const Tensor& x, const Operand& min) { return clamp(x, min, {}); }
Tensor clamp_max(const Tensor& x, const Operand& max) { return clamp(x, {}, max); }

}  // namespace tenon
