// Activations: functions that stand between layers. Those that PyTorch computes in one kernel are rounded once.

#include <cmath>
#include <numbers>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

using record::in_wide;

// The smaller of x and 0, whose slope at 0 is that of x.
Tensor up_to_zero(const Tensor& x) { return where(gt(x, 0), 0.0, x); }

// Flat at the bounds; NaN has the slope of x, as in PyTorch's kernels of CUDA. Those of the CPU give 0 in vectors and 1
// in what is left behind them.
Tensor cut(const Tensor& x, const Number& low, const Number& high) {
  return where(le(x, low), low, where(ge(x, high), high, x));
}

}  // namespace

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

Tensor relu6(const Tensor& x) {
  if (x.dtype() == DType::boolean) base::fail("relu6", "is not defined on bool");
  return cut(x, 0, 6);
}

Tensor hardtanh(const Tensor& x, double min_val, double max_val) {
  if (min_val > max_val)
    base::fail("hardtanh", "needs a min_val that is at most the max_val, not {} and {}", min_val, max_val);
  if (is_float(x.dtype())) return cut(x, min_val, max_val);
  return clamp(x, static_cast<int64_t>(min_val), static_cast<int64_t>(max_val));
}

Tensor hardsigmoid(const Tensor& x) {
  record::require_float("hardsigmoid", x);
  return in_wide(x, [](const Tensor& w) { return div(clamp(add(w, 3.0), 0.0, 6.0), 6.0); });
}

Tensor celu(const Tensor& x, double alpha) {
  record::require_float("celu", x);
  if (alpha == 0) base::fail("celu", "alpha must not be 0");
  return in_wide(x, [&](const Tensor& w) {
    return where(gt(w, 0), w, mul(expm1(div(up_to_zero(w), alpha)), alpha));
  });
}

Tensor selu(const Tensor& x) {
  record::require_float("selu", x);
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  return in_wide(
      x, [](const Tensor& w) { return mul(where(gt(w, 0), w, mul(expm1(up_to_zero(w)), kAlpha)), kScale); });
}

Tensor logsigmoid(const Tensor& x) {
  record::require_float("logsigmoid", x);
  return in_wide(x, [](const Tensor& w) {
    const Tensor is_negative = lt(w, 0);
    return sub(where(is_negative, w, 0.0), log1p(exp(where(is_negative, w, neg(w)))));
  });
}

Tensor softsign(const Tensor& x) {
  return in_wide(x, [](const Tensor& w) { return div(w, add(abs(w), 1)); });
}
Tensor tanhshrink(const Tensor& x) { return sub(x, tanh(x)); }
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return softmax(neg(x), dim, dtype); }
Tensor threshold(const Tensor& x, double threshold, double value) {
  if (is_float(x.dtype())) return where(le(x, threshold), value, x);
  if (x.dtype() == DType::boolean) base::fail("threshold", "is not defined on bool");
  const Operand numbers[] = {x, static_cast<int64_t>(threshold), static_cast<int64_t>(value)};  // cut, as in PyTorch
  return where(le(x, numbers[1]), numbers[2], x);
}

Tensor hardshrink(const Tensor& x, double lambd) { return where(le(abs(x), lambd), 0, x); }

Tensor softshrink(const Tensor& x, double lambd) {
  record::require_float("softshrink", x);
  if (lambd < 0) base::fail("softshrink", "moves by at least 0, not by {}", lambd);
  return in_wide(x, [&](const Tensor& w) {  // 0 * w: zeros keep their sign
    return where(le(abs(w), lambd), mul(w, 0.0), where(gt(w, 0.0), sub(w, lambd), add(w, lambd)));
  });
}

Tensor glu(const Tensor& x, int64_t dim) {
  record::require_float("glu", x);
  const size_t axis = record::axis("glu", dim, x.shape().size());
  if (x.shape()[axis] % 2 != 0) base::fail("glu", "needs an even size along dim {}, not {}", dim, x.shape()[axis]);
  return in_wide(x, [&](const Tensor& w) {
    const std::vector<Tensor> parts = chunk(w, 2, dim);
    return mul(parts[0], sigmoid(parts[1]));
  });
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  record::require_float("prelu", x);
  if (weight.numel() == 1) return where(gt(x, 0), x, mul(weight.reshape(x.dim() == 0 ? Dims{} : Dims{1}), x));
  const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
  if (weight.dim() != 1 || weight.numel() != channels)
    base::fail("prelu", "needs one weight or {}, one for each channel, not {}", channels, ir::to_string(weight.shape()));
  Dims shape(static_cast<size_t>(x.dim() - 1), 1);
  shape[0] = channels;
  return where(gt(x, 0), x, mul(weight.reshape(shape), x));
}

Tensor rrelu(const Tensor& x, double lower, double upper, bool training, Generator* generator) {
  record::require_float("rrelu", x);
  if (!(lower <= upper)) base::fail("rrelu", "draws slopes from {} to {}: the first is larger", lower, upper);
  if (!training) return where(ge(x, 0), x, mul(x, (lower + upper) / 2));
  return where(ge(x, 0), x, mul(x, add(mul(rand_like(x, generator), upper - lower), lower)));
}

}  // namespace tenon
