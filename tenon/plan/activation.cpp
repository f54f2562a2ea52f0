// An interpreter for the few ops that activations are made of, in f64.

#include "tenon/plan/activation.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <span>

namespace tenon::plan {
namespace {

using ir::Instr;
using ir::Op;

std::optional<double> apply(Op op, std::span<const double> x) {
  switch (op) {
    case Op::cast: return x[0];
    case Op::neg: return -x[0];
    case Op::add: return x[0] + x[1];
    case Op::mul: return x[0] * x[1];
    case Op::div: return x[0] / x[1];
    case Op::tanh: return std::tanh(x[0]);
    case Op::exp: return std::exp(x[0]);
    case Op::sigmoid: return 1 / (1 + std::exp(-x[0]));
    default: return std::nullopt;
  }
}

std::optional<double> value_of(const Expression& expression, std::span<const double> reads) {
  std::vector<double> values;
  for (const Instr& instr : expression.code) {
    if (!is_float(instr.dtype)) return std::nullopt;
    std::optional<double> value;
    if (instr.kind == Instr::Kind::load) value = reads[instr.buffer];
    if (instr.kind == Instr::Kind::number) value = ir::ConstantAttrs{instr.dtype, {}, instr.bits}.as_double();
    if (instr.kind == Instr::Kind::apply) {
      double args[3] = {};
      for (size_t i = 0; i < instr.args.size(); ++i) args[i] = values[instr.args[i]];
      value = apply(instr.op, {args, instr.args.size()});
    }
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(values.back());
}

bool agree(const std::optional<double>& value, double expected) {
  constexpr double kClose = 1e-5;  // constants are rounded to f32
  return value && std::abs(*value - expected) <= kClose * std::max(1.0, std::abs(expected));
}

constexpr double kSlope = 0.044715;
const double kScale = std::sqrt(2 / std::numbers::pi);
constexpr double kPlaces[] = {-5.3, -2.1, -0.9, -0.31, 0.0, 0.17, 0.77, 1.9, 3.4, 6.1};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(kScale * (x + kSlope * x * x * x))); }
double gelu_slope(double x) {
  const double t = std::tanh(kScale * (x + kSlope * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kScale * (1 + 3 * kSlope * x * x);
}

}  // namespace

bool computes_gelu(const Expression& expression) {
  if (expression.reads.size() != 1) return false;
  for (const double x : kPlaces) {
    if (!agree(value_of(expression, {&x, 1}), gelu(x))) return false;
  }
  return true;
}

bool computes_gelu_slope(const Expression& expression, size_t factor) {
  if (expression.reads.size() != 2) return false;
  for (const double x : kPlaces) {
    double reads[2] = {x, x};
    reads[factor] = 1.7 - 0.6 * x;
    if (!agree(value_of(expression, reads), reads[factor] * gelu_slope(x))) return false;
  }
  return true;
}

}  // namespace tenon::plan
