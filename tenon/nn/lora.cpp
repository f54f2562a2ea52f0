// Two thin products; the scale goes onto the narrow one between them.

#include "tenon/nn/lora.h"

#include <cmath>

#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::nn {

Lora::Lora(int64_t in, int64_t out, const LoraOptions& lora, const Options& options)
    : scale_(lora.alpha / static_cast<double>(std::max<int64_t>(1, lora.rank))), dropout_(lora.dropout) {
  if (lora.rank <= 0) base::fail("lora", "the rank must be positive, got {}", lora.rank);
  if (!(lora.dropout >= 0 && lora.dropout < 1)) base::fail("lora", "dropout must lie in 0..1, got {}", lora.dropout);
  lora_A = empty({lora.rank, in}, options);
  init::kaiming_uniform_(lora_A, std::sqrt(5.0));
  lora_B = zeros({out, lora.rank}, options).clone().eval();
  register_parameter("lora_A", lora_A);
  register_parameter("lora_B", lora_B);
}

Tensor Lora::forward(const Tensor& x) const {
  const Tensor given = is_training() && dropout_ > 0 ? dropout(x, dropout_) : x;
  return linear(linear(given, lora_A) * scale_, lora_B);
}

Tensor Lora::delta() const { return matmul(lora_A.transpose(0, 1), lora_B.transpose(0, 1)) * scale_; }

}  // namespace tenon::nn
