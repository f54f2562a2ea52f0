// The stateless halves of layers, as torch.nn.functional has them.

#pragma once

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::nn {

/// x (..., in) times the transpose of weight (out, in), plus bias (out).
///   nn::linear(tensor({1.0, 2.0}), tensor({{3.0, 4.0}}), tensor({5.0}));  // [16.]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());
/// x (..., in) times weight (in, out), plus bias (out).
///   nn::affine(tensor({1.0, 2.0}), tensor({{3.0}, {4.0}}));  // [11.]
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());
/// x (..., m) times weight (out, m, n) times y (..., n) for each of `out`, plus bias (out).
///   nn::bilinear(ones({1, 2}), ones({1, 3}), ones({4, 2, 3})).shape();  // (1, 4)
Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias = Tensor());
/// Rows of weight (count, width) picked by index. The row of padding_idx, which counts from the end where it is
/// negative, gets no gradient.
///   nn::embedding(tensor({{1, 2}, {3, 4}}), tensor({1, 0}));  // [[3 4] [1 2]]
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {});
/// Normalises over the trailing dims, whose sizes are those of `weight` or, without one, `shape`.
///   nn::layer_norm(tensor({1.0, 2.0, 3.0}), {3});  // [-1.225 0. 1.225]
Tensor layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight = Tensor(), const Tensor& bias = Tensor(),
                  double eps = 1e-5);
/// Divides by the root of the mean square over the trailing dims.
///   nn::rms_norm(tensor({3.0, 3.0}), {2});  // [1 1]
Tensor rms_norm(const Tensor& x, const Dims& shape, const Tensor& weight = Tensor(), double eps = 1e-6);
/// Zeroes elements with probability p and scales the rest by 1 / (1 - p); nothing when not training.
///   nn::dropout(tensor({1.0, 2.0}), 0.5, false);  // [1. 2.]
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// The same with whole channels of (batch, channels, length) or (channels, length).
///   nn::dropout1d(ones({2, 3, 4})).shape();  // (2, 3, 4)
Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// The same with whole channels of (batch, channels, ...).
///   nn::dropout2d(images).shape();  // (2, 3, 8, 8)
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// Sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et al., 2017.
///   nn::alpha_dropout(x).shape();  // (2, 3)
Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// Draws from the classes of logits, along a dim, so that gradients go through; hard: the draw itself is 0 and 1, its
/// gradient that of the soft one. Jang et al., 2016.
///   nn::gumbel_softmax(zeros({2, 3}), 1, true).sum();  // 2.0
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t dim = -1,
                      Generator* generator = nullptr);

/// Who may look where, and how scores become weights.
struct AttentionOptions {
  Tensor mask;                     // additive, or bool with true meaning "may look"; broadcast to (..., T, S)
  bool causal = false;             // row t sees columns 0..t
  std::optional<double> scale;     // 1/sqrt(width) unless given
  bool gqa = false;                // fewer key/value heads than query heads, each shared by a group
  double dropout = 0;              // the chance of a weight to be dropped; the others grow by what is missing
  Generator* generator = nullptr;  // of the dropout; the default one unless given
};
/// softmax(scale * query @ key^T + mask) @ value over (..., heads, T, width). A row that may look at nothing, by a bool
/// mask or one of -inf, gives 0 and has no gradient.
///   const Tensor q = randn({2, 4, 8, 16});
///   nn::scaled_dot_product_attention(q, q, q, {.causal = true}).shape();  // (2, 4, 8, 16)
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

}  // namespace tenon::nn
