// The stateless halves of layers, as torch.nn.functional has them.

#pragma once

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::nn {

/// x (..., in) times the transpose of weight (out, in), plus bias (out).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());
/// x (..., in) times weight (in, out), plus bias (out).
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());
/// x (..., m) times weight (out, m, n) times y (..., n) for each of `out`, plus bias (out).
Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias = Tensor());
/// Rows of weight (count, width) picked by index. The row of padding_idx, which counts from the end where it is
/// negative, gets no gradient.
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {});
/// Normalises over the trailing dims, whose sizes are those of `weight` or, without one, `shape`.
Tensor layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight = Tensor(), const Tensor& bias = Tensor(),
                  double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Dims& shape, const Tensor& weight = Tensor(), double eps = 1e-6);
/// Zeroes elements with probability p and scales the rest by 1 / (1 - p); nothing when not training.
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// The same with whole channels of (batch, channels, length) or (channels, length).
Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// The same with whole channels of (batch, channels, ...).
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// Sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et al., 2017.
Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// Draws from the classes of logits, along a dim, so that gradients go through; hard: the draw itself is 0 and 1, its
/// gradient that of the soft one. Jang et al., 2016.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t dim = -1,
                      Generator* generator = nullptr);

struct AttentionOptions {
  Tensor mask;                  // additive, or bool with true meaning "may look"; broadcast to (..., T, S)
  bool causal = false;          // row t sees columns 0..t
  std::optional<double> scale;  // 1/sqrt(width) unless given
  bool gqa = false;             // fewer key/value heads than query heads, each shared by a group
  double dropout = 0;           // the chance of a weight to be dropped; the others grow by what is missing
  Generator* generator = nullptr;
};
/// softmax(scale * query @ key^T + mask) @ value over (..., heads, T, width). A row that may look at nothing, by a bool
/// mask or one of -inf, gives 0 and has no gradient.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

}  // namespace tenon::nn
