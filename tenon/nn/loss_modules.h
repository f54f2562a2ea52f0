// Losses as modules, for programs that choose one at run time; their arithmetic is that of losses.h.
//
//   nn::CrossEntropyLoss loss({.label_smoothing = 0.1});
//   loss(logits, targets).backward();

#pragma once

#include "tenon/nn/ctc_loss.h"
#include "tenon/nn/losses.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

/// Those that compare an input with a target and have nothing but a reduction.
template <typename Self, Tensor (*F)(const Tensor&, const Tensor&, Reduction)>
class PlainLoss : public ModuleOf<Self> {
 public:
  explicit PlainLoss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  Tensor forward(const Tensor& x, const Tensor& target) const { return F(x, target, reduction_); }

 private:
  Reduction reduction_;
};
/// Those that have one number, too.
template <typename Self, Tensor (*F)(const Tensor&, const Tensor&, double, Reduction)>
class LossWithNumber : public ModuleOf<Self> {
 public:
  explicit LossWithNumber(double number = 1, Reduction reduction = Reduction::mean)
      : number_(number), reduction_(reduction) {}
  Tensor forward(const Tensor& x, const Tensor& target) const { return F(x, target, number_, reduction_); }

 private:
  double number_;
  Reduction reduction_;
};
/// Those that compare two inputs and take 1 or -1 as a target.
template <typename Self, Tensor (*F)(const Tensor&, const Tensor&, const Tensor&, double, Reduction)>
class PairLoss : public ModuleOf<Self> {
 public:
  explicit PairLoss(double margin = 0, Reduction reduction = Reduction::mean)
      : margin_(margin), reduction_(reduction) {}
  Tensor forward(const Tensor& a, const Tensor& b, const Tensor& target) const {
    return F(a, b, target, margin_, reduction_);
  }

 private:
  double margin_;
  Reduction reduction_;
};

/// mse_loss() as a module.
///   nn::MSELoss()(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 2.0
class MSELoss : public PlainLoss<MSELoss, mse_loss> {
  using PlainLoss::PlainLoss;
};
/// l1_loss() as a module.
///   nn::L1Loss()(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 1.0
class L1Loss : public PlainLoss<L1Loss, l1_loss> {
  using PlainLoss::PlainLoss;
};
/// soft_margin_loss() as a module.
///   nn::SoftMarginLoss()(tensor({0.0}), tensor({1.0}));  // 0.6931
class SoftMarginLoss : public PlainLoss<SoftMarginLoss, soft_margin_loss> {
  using PlainLoss::PlainLoss;
};
/// multilabel_margin_loss() as a module.
///   nn::MultiLabelMarginLoss()(tensor({{1.0, 0.5}}), tensor({{0, -1}}));  // 0.25
class MultiLabelMarginLoss : public PlainLoss<MultiLabelMarginLoss, multilabel_margin_loss> {
  using PlainLoss::PlainLoss;
};
/// huber_loss() as a module; the number is delta.
///   nn::HuberLoss(0.5)(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 0.4375
class HuberLoss : public LossWithNumber<HuberLoss, huber_loss> {  // delta
  using LossWithNumber::LossWithNumber;
};
/// smooth_l1_loss() as a module; the number is beta.
///   nn::SmoothL1Loss(0.5)(tensor({1.0, 2.0}), tensor({1.0, 4.0}));  // 0.875
class SmoothL1Loss : public LossWithNumber<SmoothL1Loss, smooth_l1_loss> {  // beta
  using LossWithNumber::LossWithNumber;
};
/// hinge_embedding_loss() as a module; the number is the margin.
///   nn::HingeEmbeddingLoss()(tensor({0.25}), tensor({-1.0}));  // 0.75
class HingeEmbeddingLoss : public LossWithNumber<HingeEmbeddingLoss, hinge_embedding_loss> {  // margin
  using LossWithNumber::LossWithNumber;
};
/// cosine_embedding_loss() as a module.
///   nn::CosineEmbeddingLoss()(tensor({{1.0, 0.0}}), tensor({{0.0, 1.0}}), tensor({1.0}));  // 1.0
class CosineEmbeddingLoss : public PairLoss<CosineEmbeddingLoss, cosine_embedding_loss> {
  using PairLoss::PairLoss;
};
/// margin_ranking_loss() as a module.
///   nn::MarginRankingLoss()(tensor({1.0}), tensor({3.0}), tensor({1.0}));  // 2.0
class MarginRankingLoss : public PairLoss<MarginRankingLoss, margin_ranking_loss> {
  using PairLoss::PairLoss;
};

/// kl_div() as a module.
///   nn::KLDivLoss(nn::Reduction::batchmean)(tensor({{-0.6931472}}), tensor({{0.5}}));  // 0.0
class KLDivLoss : public ModuleOf<KLDivLoss> {
 public:
  explicit KLDivLoss(Reduction reduction = Reduction::mean, bool log_target = false)
      : reduction_(reduction), log_target_(log_target) {}
  Tensor forward(const Tensor& x, const Tensor& target) const { return kl_div(x, target, reduction_, log_target_); }

 private:
  Reduction reduction_;
  bool log_target_;
};

// Weights are buffers: they move with the module and are part of its state.

/// A loss with options that hold a weight, which is a buffer.
template <typename Self, typename Options, Tensor (*F)(const Tensor&, const Tensor&, const Options&)>
class WeightedLoss : public ModuleOf<Self> {
 public:
  explicit WeightedLoss(Options options = {}) : options_(std::move(options)) {
    if (options_.weight.defined()) this->register_buffer("weight", options_.weight);
    if constexpr (requires { options_.pos_weight; }) {
      if (options_.pos_weight.defined()) this->register_buffer("pos_weight", options_.pos_weight);
    }
  }
  Tensor forward(const Tensor& x, const Tensor& target) const { return F(x, target, options_); }

 private:
  Options options_;
};

/// cross_entropy() as a module.
///   nn::CrossEntropyLoss({.label_smoothing = 0.1})(tensor({{0.0, 0.0}}), tensor({1}));  // 0.6931
class CrossEntropyLoss : public WeightedLoss<CrossEntropyLoss, CrossEntropyOptions, cross_entropy> {
  using WeightedLoss::WeightedLoss;
};
/// nll_loss() as a module.
///   nn::NLLLoss()(tensor({{-1.0, -2.0}}), tensor({1}));  // 2.0
class NLLLoss : public WeightedLoss<NLLLoss, CrossEntropyOptions, nll_loss> {
  using WeightedLoss::WeightedLoss;
};
/// binary_cross_entropy() as a module.
///   nn::BCELoss()(tensor({0.5}), tensor({1.0}));  // 0.6931
class BCELoss : public WeightedLoss<BCELoss, BinaryCrossEntropyOptions, binary_cross_entropy> {
  using WeightedLoss::WeightedLoss;
};
/// binary_cross_entropy_with_logits() as a module.
///   nn::BCEWithLogitsLoss()(tensor({0.0}), tensor({1.0}));  // 0.6931
class BCEWithLogitsLoss
    : public WeightedLoss<BCEWithLogitsLoss, BinaryCrossEntropyOptions, binary_cross_entropy_with_logits> {
  using WeightedLoss::WeightedLoss;
};
/// multi_margin_loss() as a module.
///   nn::MultiMarginLoss()(tensor({{1.0, 0.5}}), tensor({0}));  // 0.25
class MultiMarginLoss : public WeightedLoss<MultiMarginLoss, MultiMarginOptions, multi_margin_loss> {
  using WeightedLoss::WeightedLoss;
};

/// multilabel_soft_margin_loss() as a module; the weight, one for each class, is a buffer.
///   nn::MultiLabelSoftMarginLoss()(tensor({{0.0, 0.0}}), tensor({{1.0, 0.0}}));  // 0.6931
class MultiLabelSoftMarginLoss : public ModuleOf<MultiLabelSoftMarginLoss> {
 public:
  explicit MultiLabelSoftMarginLoss(Tensor weight = Tensor(), Reduction reduction = Reduction::mean)
      : weight_(std::move(weight)), reduction_(reduction) {
    if (weight_.defined()) register_buffer("weight", weight_);
  }
  Tensor forward(const Tensor& x, const Tensor& target) const {
    return multilabel_soft_margin_loss(x, target, weight_, reduction_);
  }

 private:
  Tensor weight_;
  Reduction reduction_;
};
/// poisson_nll_loss() as a module.
///   nn::PoissonNLLLoss()(tensor({0.0}), tensor({1.0}));  // 1.0
class PoissonNLLLoss : public ModuleOf<PoissonNLLLoss> {
 public:
  explicit PoissonNLLLoss(const PoissonNllOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) const { return poisson_nll_loss(x, target, options_); }

 private:
  PoissonNllOptions options_;
};
/// gaussian_nll_loss() as a module.
///   nn::GaussianNLLLoss()(tensor({1.0}), tensor({2.0}), 1);  // 0.5
class GaussianNLLLoss : public ModuleOf<GaussianNLLLoss> {
 public:
  explicit GaussianNLLLoss(const GaussianNllOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target, const Operand& variance) const {
    return gaussian_nll_loss(x, target, variance, options_);
  }

 private:
  GaussianNllOptions options_;
};
/// ctc_loss() as a module.
///   const Tensor log_probabilities = log_softmax(zeros({4, 1, 3}), -1);
///   nn::CTCLoss()(log_probabilities, tensor({{1, 2}}), tensor({4}), tensor({2})).shape();  // ()
class CTCLoss : public ModuleOf<CTCLoss> {
 public:
  explicit CTCLoss(const CtcLossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) const {
    return ctc_loss(log_probabilities, targets, input_lengths, target_lengths, options_);
  }

 private:
  CtcLossOptions options_;
};

/// triplet_margin_loss() as a module.
///   nn::TripletMarginLoss()(tensor({{0.0}}), tensor({{1.0}}), tensor({{3.0}}));  // 0.0
class TripletMarginLoss : public ModuleOf<TripletMarginLoss> {
 public:
  explicit TripletMarginLoss(const TripletMarginOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const {
    return triplet_margin_loss(anchor, positive, negative, options_);
  }

 private:
  TripletMarginOptions options_;
};
/// triplet_margin_with_distance_loss() as a module.
///   nn::TripletMarginWithDistanceLoss({.margin = 2})(tensor({{0.0}}), tensor({{1.0}}), tensor({{3.0}}));  // 0.0
class TripletMarginWithDistanceLoss : public ModuleOf<TripletMarginWithDistanceLoss> {
 public:
  explicit TripletMarginWithDistanceLoss(TripletDistanceOptions options = {}) : options_(std::move(options)) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const {
    return triplet_margin_with_distance_loss(anchor, positive, negative, options_);
  }

 private:
  TripletDistanceOptions options_;
};

// Distances, which have no reduction.

/// cosine_similarity() as a module.
///   nn::CosineSimilarity()(tensor({{1.0, 0.0}}), tensor({{1.0, 1.0}}));  // [0.7071]
class CosineSimilarity : public ModuleOf<CosineSimilarity> {
 public:
  explicit CosineSimilarity(int64_t dim = 1, double eps = 1e-8) : dim_(dim), eps_(eps) {}
  Tensor forward(const Tensor& a, const Tensor& b) const { return cosine_similarity(a, b, dim_, eps_); }

 private:
  int64_t dim_;
  double eps_;
};
/// pairwise_distance() as a module.
///   nn::PairwiseDistance()(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}));  // [5]
class PairwiseDistance : public ModuleOf<PairwiseDistance> {
 public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false)
      : p_(p), eps_(eps), keepdim_(keepdim) {}
  Tensor forward(const Tensor& a, const Tensor& b) const { return pairwise_distance(a, b, p_, eps_, keepdim_); }

 private:
  double p_, eps_;
  bool keepdim_;
};

}  // namespace tenon::nn
