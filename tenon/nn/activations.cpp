// Each calls the op of the same name.

#include "tenon/nn/activations.h"

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

GELU::GELU(std::string approximate) : approximate_(std::move(approximate)) {
  if (approximate_ != "none" && approximate_ != "tanh")
    base::fail("gelu", "approximate is \"none\" or \"tanh\", not \"{}\"", approximate_);
}
Tensor GELU::forward(const Tensor& x) const { return gelu(x, approximate_); }

}  // namespace tenon::nn
