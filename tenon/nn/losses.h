// Losses, with PyTorch's names, defaults and reductions.

#pragma once

#include <functional>

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
/// Takes log-probabilities; label_smoothing is for cross_entropy.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const CrossEntropyOptions& options = {});
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1, Reduction reduction = Reduction::mean);
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1, Reduction reduction = Reduction::mean);
/// x is a probability: beyond 0..1, where PyTorch raises, the loss is NaN, because values are not looked at before they
/// are needed.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Reduction reduction = Reduction::mean);
struct BinaryCrossEntropyOptions {
  Tensor weight;      // of each element; it is broadcast
  Tensor pos_weight;  // of positive targets, for logits only; it is broadcast
  Reduction reduction = Reduction::mean;
};
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const BinaryCrossEntropyOptions& options);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options);
/// x is log-probabilities, target is probabilities (or log-probabilities with log_target).
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, bool log_target = false);

// Targets of the next three are 1 or -1.

/// a and b (N, D), or (D): 1 - cos(a, b) where the target is 1, and max(0, cos(a, b) - margin) where it is -1.
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::mean);
/// max(0, margin - target * (a - b)): a is to be larger where the target is 1.
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                           Reduction reduction = Reduction::mean);
/// x where the target is 1, and max(0, margin - x) where it is -1.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);
/// log(1 + exp(-target * x)).
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

struct MultiMarginOptions {
  double p = 1;  // 1 or 2
  double margin = 1;
  Tensor weight;  // per class
  Reduction reduction = Reduction::mean;
};
/// x (N, C) or (C), target class indices: the mean over other classes of max(0, margin - x[target] + x[other])^p.
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginOptions& options = {});

struct TripletMarginOptions {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;  // takes the smaller of the distances of anchor and positive to negative
  Reduction reduction = Reduction::mean;
};
/// (..., D) each: max(0, margin + |anchor - positive| - |anchor - negative|).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});

struct TripletDistanceOptions {
  std::function<Tensor(const Tensor&, const Tensor&)> distance;  // pairwise_distance() unless given
  double margin = 1;
  bool swap = false;  // takes the smaller of the distances of anchor and positive to negative
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + distance(anchor, positive) - distance(anchor, negative)).
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletDistanceOptions& options = {});

/// How unlikely counts are; x is the logarithm of what is expected, or that itself.
struct PoissonNllOptions {
  bool log_input = true;
  bool full = false;  // with Stirling's term
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllOptions& options = {});
struct GaussianNllOptions {
  bool full = false;  // with the constant term
  double eps = 1e-6;  // the least variance
  Reduction reduction = Reduction::mean;
};
/// How unlikely targets are around x with variances, a tensor like x, one for each row, or a number; NaN where one is
/// negative.
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Operand& variance,
                         const GaussianNllOptions& options = {});
/// x (N, C) or (C): how far classes that are none of a sample's come near those that are. Targets are classes in the
/// shape of x, and end at the first -1.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Binary cross entropies of logits (..., C), their mean over the classes.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight = Tensor(),
                                   Reduction reduction = Reduction::mean);

/// The cosine of the angle between a and b along a dim.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8);
/// The p-norm of a - b + eps along the last dim.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6, bool keepdim = false);

}  // namespace tenon::nn
