// A softmax over many classes whose rare ones stand in clusters: Grave et al., 2016, "Efficient softmax approximation
// for GPUs".
//
// The head gives the logits of the most frequent classes and one of each cluster. A cluster's classes have a softmax of
// their own, over fewer features the rarer they are, so that a vocabulary costs a fraction of its matrix. Every cluster
// is computed for every row: shapes depend on no values, and a captured function can hold the layer.

#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"

namespace tenon::nn {

/// Of logits of the head (N, first classes + clusters) and of each cluster (N, its classes), or of one row of each: the
/// log-probability of every target, and the mean of their negatives.
///   const Tensor head = zeros({1, 3}), cluster = zeros({1, 4});       // classes 0 and 1, and a cluster of 4
///   nn::adaptive_log_softmax(head, {{cluster}}, tensor({0})).second;  // 1.099
std::pair<Tensor, Tensor> adaptive_log_softmax(const Tensor& head, std::span<const Tensor> clusters,
                                               const Tensor& target);
/// Those of all classes, (N, classes).
///   nn::adaptive_log_probabilities(zeros({1, 3}), {{zeros({1, 4})}}).shape();  // (1, 6)
Tensor adaptive_log_probabilities(const Tensor& head, std::span<const Tensor> clusters);

/// How the layers of an adaptive softmax are made.
struct AdaptiveSoftmaxOptions {
  double div_value = 4;    // cluster i, counted from 1, has in / div_value^i features
  bool head_bias = false;  // of the head's logits
  Options options = {};    // of the parameters
};

/// Log-probabilities of classes that are sorted by frequency, the most frequent first. Classes below the first cutoff
/// stand in the head, those between two cutoffs, or behind the last one, in a cluster.
///   nn::AdaptiveLogSoftmaxWithLoss layer(16, 1000, {10, 100});
///   auto [output, loss] = layer(randn({8, 16}), randint(0, 1000, {8}));
///   output.shape();  // (8,)
class AdaptiveLogSoftmaxWithLoss : public ModuleOf<AdaptiveLogSoftmaxWithLoss> {
 public:
  AdaptiveLogSoftmaxWithLoss(int64_t in, int64_t classes, const Dims& cutoffs,
                             const AdaptiveSoftmaxOptions& options = {});

  /// x (N, in) and targets (N), or (in) and one target: the log-probability of each target, and the mean of their
  /// negatives.
  std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& target) const;
  /// Those of all classes: x (N, in) to (N, classes).
  Tensor log_prob(const Tensor& x) const;
  /// The most probable class of each row: x (N, in) to (N).
  Tensor predict(const Tensor& x) const;

 private:
  std::vector<Tensor> logits_of_clusters(const Tensor& x) const;

  Dims cutoffs_;  // and the number of classes

 public:
  Linear head;                  // to the logits of the first classes, then those of the clusters
  ModuleList<Sequential> tail;  // for each cluster a projection, then its logits
};

}  // namespace tenon::nn
