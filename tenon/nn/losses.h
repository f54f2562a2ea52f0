// Losses, with PyTorch's names, defaults and reductions.

#pragma once

#include <functional>

#include "tenon/tensor/ops.h"

namespace tenon::nn {

/// What becomes of the losses of all elements or samples: nothing, their mean, their sum, or their sum over the batch's
/// size.
enum class Reduction : uint8_t { none, mean, sum, batchmean };

/// How cross_entropy() and nll_loss() count classes and samples.
struct CrossEntropyOptions {
  Tensor weight;                          // per class
  int64_t ignore_index = -100;            // targets that do not count
  Reduction reduction = Reduction::mean;  // of the losses of all samples
  double label_smoothing = 0;             // share of a target's probability that is spread over all classes
};
/// logits (N, C, ...) or (C); target class indices (N, ...), or probabilities in the shape of the logits.
///   nn::cross_entropy(tensor({{0.0, 0.0}}), tensor({1}));  // 0.6931
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
/// Takes log-probabilities; label_smoothing is for cross_entropy.
///   nn::nll_loss(tensor({{-1.0, -2.0}}), tensor({1}));  // 2.0
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const CrossEntropyOptions& options = {});
/// Squares of the differences.
///   nn::mse_loss(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 2.0
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Sizes of the differences.
///   nn::l1_loss(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 1.0
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Half the square of a difference below delta, and a straight line above.
///   nn::huber_loss(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 0.75
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1, Reduction reduction = Reduction::mean);
/// The same divided by beta, which takes delta's place.
///   nn::smooth_l1_loss(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 0.75
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1, Reduction reduction = Reduction::mean);
/// x is a probability: beyond 0..1, where PyTorch raises, the loss is NaN, because values are not looked at before they
/// are needed.
///   nn::binary_cross_entropy(tensor({0.5}), tensor({1.0}));  // 0.6931
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// The same of sigmoid(logits), without its rounding.
///   nn::binary_cross_entropy_with_logits(tensor({0.0}), tensor({1.0}));  // 0.6931
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Reduction reduction = Reduction::mean);
/// How binary cross entropies count elements.
struct BinaryCrossEntropyOptions {
  Tensor weight;                          // of each element; it is broadcast
  Tensor pos_weight;                      // of positive targets, for logits only; it is broadcast
  Reduction reduction = Reduction::mean;  // of the losses of all elements
};
/// As above, with weights.
///   nn::binary_cross_entropy(tensor({0.5}), tensor({1.0}), {.weight = tensor({2.0})});  // 1.386
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const BinaryCrossEntropyOptions& options);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options);
/// x is log-probabilities, target is probabilities (or log-probabilities with log_target).
///   nn::kl_div(tensor({-0.6931472}), tensor({0.5}));  // 0.0
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, bool log_target = false);

// Targets of the next three are 1 or -1.

/// a and b (N, D), or (D): 1 - cos(a, b) where the target is 1, and max(0, cos(a, b) - margin) where it is -1.
///   nn::cosine_embedding_loss(tensor({{1.0, 0.0}}), tensor({{0.0, 1.0}}), tensor({1.0}));  // 1.0
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::mean);
/// max(0, margin - target * (a - b)): a is to be larger where the target is 1.
///   nn::margin_ranking_loss(tensor({1.0}), tensor({3.0}), tensor({1.0}));  // 2.0
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                           Reduction reduction = Reduction::mean);
/// x where the target is 1, and max(0, margin - x) where it is -1.
///   nn::hinge_embedding_loss(tensor({0.25}), tensor({-1.0}));  // 0.75
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);
/// log(1 + exp(-target * x)).
///   nn::soft_margin_loss(tensor({0.0}), tensor({1.0}));  // 0.6931
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

/// How multi_margin_loss() counts classes and samples.
struct MultiMarginOptions {
  double p = 1;                           // 1 or 2
  double margin = 1;                      // by which the target's number is to be larger
  Tensor weight;                          // per class
  Reduction reduction = Reduction::mean;  // of the losses of all samples
};
/// x (N, C) or (C), target class indices: the mean over other classes of max(0, margin - x[target] + x[other])^p.
///   nn::multi_margin_loss(tensor({{1.0, 0.5}}), tensor({0}));  // 0.25
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginOptions& options = {});

/// What a distance is, and by how much they are to differ.
struct TripletMarginOptions {
  double margin = 1;                      // by which the negative is to be farther away
  double p = 2;                           // of the norm that is the distance
  double eps = 1e-6;                      // added to differences
  bool swap = false;                      // takes the smaller of the distances of anchor and positive to negative
  Reduction reduction = Reduction::mean;  // of the losses of all samples
};
/// (..., D) each: max(0, margin + |anchor - positive| - |anchor - negative|).
///   nn::triplet_margin_loss(tensor({{0.0}}), tensor({{1.0}}), tensor({{3.0}}));  // 0.0
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});

/// The same with a distance of one's own.
struct TripletDistanceOptions {
  std::function<Tensor(const Tensor&, const Tensor&)> distance;  // pairwise_distance() unless given
  double margin = 1;
  bool swap = false;  // takes the smaller of the distances of anchor and positive to negative
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + distance(anchor, positive) - distance(anchor, negative)).
///   nn::triplet_margin_with_distance_loss(tensor({{0.0}}), tensor({{1.0}}), tensor({{3.0}}), {.margin = 2});  // 0.0
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletDistanceOptions& options = {});

/// How unlikely counts are; x is the logarithm of what is expected, or that itself.
struct PoissonNllOptions {
  bool log_input = true;  // x is the logarithm
  bool full = false;      // with Stirling's term
  double eps = 1e-8;      // added to x before its logarithm is taken
  Reduction reduction = Reduction::mean;
};
/// exp(x) - target * x, or x - target * log(x).
///   nn::poisson_nll_loss(tensor({0.0}), tensor({1.0}));  // 1.0
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllOptions& options = {});
/// How gaussian_nll_loss() takes variances.
struct GaussianNllOptions {
  bool full = false;  // with the constant term
  double eps = 1e-6;  // the least variance
  Reduction reduction = Reduction::mean;
};
/// How unlikely targets are around x with variances, a tensor like x, one for each row, or a number; NaN where one is
/// negative.
///   nn::gaussian_nll_loss(tensor({1.0}), tensor({2.0}), 1);  // 0.5
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Operand& variance,
                         const GaussianNllOptions& options = {});
/// x (N, C) or (C): how far classes that are none of a sample's come near those that are. Targets are classes in the
/// shape of x, and end at the first -1.
///   nn::multilabel_margin_loss(tensor({{1.0, 0.0}}), tensor({{0, -1}}));  // 0.0
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Binary cross entropies of logits (..., C), their mean over the classes.
///   nn::multilabel_soft_margin_loss(tensor({{0.0, 0.0}}), tensor({{1.0, 0.0}}));  // 0.6931
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight = Tensor(),
                                   Reduction reduction = Reduction::mean);

/// The cosine of the angle between a and b along a dim.
///   nn::cosine_similarity(tensor({{1.0, 0.0}}), tensor({{1.0, 1.0}}));  // [0.7071]
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8);
/// The p-norm of a - b + eps along the last dim.
///   nn::pairwise_distance(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}));  // [5]
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6, bool keepdim = false);

}  // namespace tenon::nn
