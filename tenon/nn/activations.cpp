// Each calls the op of the same name.

#include "tenon/nn/activations.h"

#include "tenon/base/error.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::nn {

Tensor ReLU::forward(const Tensor& x) const { return relu(x); }
Tensor LeakyReLU::forward(const Tensor& x) const { return leaky_relu(x, slope_); }
Tensor ELU::forward(const Tensor& x) const { return elu(x, alpha_); }
Tensor Softplus::forward(const Tensor& x) const { return softplus(x, beta_, threshold_); }
Tensor SiLU::forward(const Tensor& x) const { return silu(x); }
Tensor Mish::forward(const Tensor& x) const { return mish(x); }
Tensor Hardswish::forward(const Tensor& x) const { return hardswish(x); }
Tensor Tanh::forward(const Tensor& x) const { return tanh(x); }
Tensor Sigmoid::forward(const Tensor& x) const { return sigmoid(x); }
Tensor Softmax::forward(const Tensor& x) const { return softmax(x, dim_); }
Tensor ReLU6::forward(const Tensor& x) const { return relu6(x); }
Tensor SELU::forward(const Tensor& x) const { return selu(x); }
Tensor CELU::forward(const Tensor& x) const { return celu(x, alpha_); }
Tensor Hardsigmoid::forward(const Tensor& x) const { return hardsigmoid(x); }
Tensor LogSigmoid::forward(const Tensor& x) const { return logsigmoid(x); }
Tensor Softsign::forward(const Tensor& x) const { return softsign(x); }
Tensor Tanhshrink::forward(const Tensor& x) const { return tanhshrink(x); }
Tensor Hardshrink::forward(const Tensor& x) const { return hardshrink(x, lambd_); }
Tensor Softshrink::forward(const Tensor& x) const { return softshrink(x, lambd_); }
Tensor Threshold::forward(const Tensor& x) const { return threshold(x, threshold_, value_); }
Tensor RReLU::forward(const Tensor& x) const { return rrelu(x, lower_, upper_, is_training()); }
Tensor GLU::forward(const Tensor& x) const { return glu(x, dim_); }
Tensor Softmin::forward(const Tensor& x) const { return softmin(x, dim_); }
Tensor LogSoftmax::forward(const Tensor& x) const { return log_softmax(x, dim_); }

Hardtanh::Hardtanh(double least, double most) : least_(least), most_(most) {
  if (!(most > least)) base::fail("hardtanh", "the upper limit must lie above the lower one, got {} and {}", least, most);
}
Tensor Hardtanh::forward(const Tensor& x) const { return hardtanh(x, least_, most_); }

PReLU::PReLU(int64_t parameters, double first, const Options& options) {
  if (parameters < 1) base::fail("prelu", "takes at least one weight, got {}", parameters);
  weight = full({parameters}, first, Options(options.dtype.value_or(DType::f32), options.device)).clone();
  register_parameter("weight", weight);
}
Tensor PReLU::forward(const Tensor& x) const {
  const int64_t weights = weight.numel(), channels = x.dim() > 1 ? x.size(1) : 1;
  if (weights > 1 && weights != channels)
    base::fail("prelu", "{} weights do not fit {} channels of {}", weights, channels, ir::to_string(x.shape()));
  Dims shape(static_cast<size_t>(x.dim()), 1);
  if (weights > 1) shape[1] = weights;
  return where(gt(x, 0.0), x, mul(weight.reshape(shape), x));
}

GELU::GELU(std::string approximate) : approximate_(std::move(approximate)) {
  if (approximate_ != "none" && approximate_ != "tanh")
    base::fail("gelu", "approximate is \"none\" or \"tanh\", not \"{}\"", approximate_);
}
Tensor GELU::forward(const Tensor& x) const { return gelu(x, approximate_); }

}  // namespace tenon::nn
