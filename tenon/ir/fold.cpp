// Sums, products, quotients and roots of f32 operands, computed in f64 and rounded to f32, are those that f32 arithmetic
// gives: rounding twice is harmless where the wider type has at least 2 * 24 + 2 bits, and f64 has 53. The same holds for
// 16-bit floats.

#include "tenon/ir/fold.h"

#include <cmath>

#include "tenon/ir/build.h"

namespace tenon::ir {
namespace {

std::optional<double> on_reals(Op op, std::span<const double> x) {
  switch (op) {
    case Op::neg: return -x[0];
    case Op::sqrt: return std::sqrt(x[0]);
    case Op::add: return x[0] + x[1];
    case Op::mul: return x[0] * x[1];
    case Op::div: return x[0] / x[1];
    default: return std::nullopt;
  }
}

// Integers wrap around; constant_int cuts them to their dtype.
std::optional<int64_t> on_integers(Op op, std::span<const uint64_t> x) {
  switch (op) {
    case Op::neg: return static_cast<int64_t>(0 - x[0]);
    case Op::add: return static_cast<int64_t>(x[0] + x[1]);
    case Op::mul: return static_cast<int64_t>(x[0] * x[1]);
    default: return std::nullopt;
  }
}

Value spread(const Value& number, const Dims& shape) {
  return expand(reshape(number, Dims(shape.size(), 1)), shape);
}

}  // namespace

const ConstantAttrs* number_behind(const Value& value) {
  const Node* node = value.node.get();
  while (!node->evaluated() && (node->op() == Op::expand || node->op() == Op::reshape))
    node = node->input(0).node.get();
  return !node->evaluated() && node->op() == Op::constant ? &node->attrs_as<ConstantAttrs>() : nullptr;
}

bool is_one(const Value& x) {
  const ConstantAttrs* number = number_behind(x);
  if (!number || number->dtype == DType::boolean) return false;
  return is_float(number->dtype) ? number->as_double() == 1 : number->as_int() == 1;
}

std::optional<Value> folded(Op op, std::span<const Value> operands) {
  double reals[2] = {};
  uint64_t whole[2] = {};
  if (operands.empty() || operands.size() > 2) return std::nullopt;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i] || !(operands[i].type() == operands[0].type()) || operands[i].device() != operands[0].device())
      return std::nullopt;
    const ConstantAttrs* number = number_behind(operands[i]);
    if (!number || number->dtype == DType::boolean) return std::nullopt;
    reals[i] = is_float(number->dtype) ? number->as_double() : 0;
    whole[i] = number->bits;
  }
  const DType dtype = operands[0].dtype();
  const DeviceId device = operands[0].device();
  if (!is_float(dtype)) {
    const auto made = on_integers(op, {whole, operands.size()});
    return made ? std::optional(spread(constant_int(*made, dtype, device), operands[0].shape())) : std::nullopt;
  }
  const auto made = on_reals(op, {reals, operands.size()});
  if (!made || std::isnan(*made)) return std::nullopt;
  return spread(constant(*made, dtype, device), operands[0].shape());
}

std::optional<Value> folded_cast(const Value& x, DType dtype) {
  const ConstantAttrs* number = number_behind(x);
  if (!number || !is_float(number->dtype) || !is_float(dtype) || std::isnan(number->as_double())) return std::nullopt;
  return spread(constant(number->as_double(), dtype, x.device()), x.shape());
}

}  // namespace tenon::ir
