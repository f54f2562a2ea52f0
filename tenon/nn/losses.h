// Losses, with PyTorch's names, defaults and reductions.

#pragma once

#include "tenon/tensor/ops.h"

namespace tenon::nn {

enum class Reduction : uint8_t { none, mean, sum, batchmean };

struct CrossEntropyOptions {
  Tensor weight;  // per class
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;
};
/// logits (N, C, ...) or (C); target class indices (N, ...), or probabilities in the shape of the logits.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
/// Takes log-probabilities.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const CrossEntropyOptions& options = {});
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1, Reduction reduction = Reduction::mean);
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1, Reduction reduction = Reduction::mean);
/// x is a probability.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Reduction reduction = Reduction::mean);
/// x is log-probabilities, target is probabilities (or log-probabilities with log_target).
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, bool log_target = false);

}  // namespace tenon::nn
