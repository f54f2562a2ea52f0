// A target in a cluster has the log-probability of the cluster in the head plus its own in the cluster; both are cross
// entropies, of which the second does not count rows whose target stands elsewhere.

#include "tenon/nn/adaptive_softmax.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tenon/nn/class_targets.h"
#include "tenon/nn/losses.h"

namespace tenon::nn {
namespace {

constexpr std::string_view kAdaptive = "adaptive_log_softmax";
constexpr int64_t kElsewhere = -1;  // a target that stands in another cluster

Dims checked_cutoffs(Dims cutoffs, int64_t classes) {
  if (cutoffs.empty()) base::fail(kAdaptive, "needs a cutoff at least");
  int64_t before = 0;
  for (const int64_t cutoff : cutoffs) {
    if (cutoff <= before || cutoff >= classes)
      base::fail(kAdaptive, "cutoffs increase from 1 on and lie below the {} classes, got {}", classes,
                 ir::to_string(cutoffs));
    before = cutoff;
  }
  cutoffs.push_back(classes);
  return cutoffs;
}

Tensor cross_entropy_of_each(const Tensor& logits, const Tensor& target) {
  return cross_entropy(logits, target, {.ignore_index = kElsewhere, .reduction = Reduction::none});
}

}  // namespace

std::pair<Tensor, Tensor> adaptive_log_softmax(const Tensor& head, std::span<const Tensor> clusters,
                                               const Tensor& target) {
  if (target.dim() > 1 || head.dim() != target.dim() + 1 || (target.dim() == 1 && head.size(0) != target.size(0)))
    base::fail(kAdaptive, "takes N rows with N targets, or one row with one, got logits {} and targets {}",
               ir::to_string(head.shape()), ir::to_string(target.shape()));
  if (target.dim() == 0) {
    std::vector<Tensor> rows;
    for (const Tensor& cluster : clusters) rows.push_back(cluster.unsqueeze(0));
    const auto [output, loss] = adaptive_log_softmax(head.unsqueeze(0), rows, target.unsqueeze(0));
    return {output.squeeze(0), loss};
  }
  const int64_t first = head.size(1) - static_cast<int64_t>(clusters.size());
  int64_t classes = first;
  for (const Tensor& cluster : clusters) classes += cluster.size(1);
  require_classes(kAdaptive, target, classes, std::numeric_limits<int64_t>::min());
  const Tensor class_of = checked(ir::LookUp::cross_entropy, target, classes);
  Tensor in_head = class_of, of_clusters;
  int64_t begin = first, place = first;
  for (const Tensor& cluster : clusters) {
    const int64_t end = begin + cluster.size(1);
    const Tensor is_here = logical_and(ge(class_of, begin), lt(class_of, end));
    const Tensor of_each = cross_entropy_of_each(cluster, where(is_here, sub(class_of, begin), kElsewhere));
    of_clusters = of_clusters.defined() ? add(of_clusters, of_each) : of_each;
    in_head = where(is_here, place++, in_head);
    begin = end;
  }
  const Tensor of_head = cross_entropy_of_each(head, in_head);
  const Tensor output = neg(of_clusters.defined() ? add(of_head, of_clusters) : of_head);
  return {output, neg(mean(output))};
}

Tensor adaptive_log_probabilities(const Tensor& head, std::span<const Tensor> clusters) {
  if (head.dim() != 2) base::fail(kAdaptive, "takes rows of logits, got {}", ir::to_string(head.shape()));
  const int64_t first = head.size(1) - static_cast<int64_t>(clusters.size());
  const Tensor of_head = log_softmax(head, 1);
  std::vector<Tensor> parts{of_head.narrow(1, 0, first)};
  for (size_t i = 0; i < clusters.size(); ++i)
    parts.push_back(add(log_softmax(clusters[i], 1), of_head.narrow(1, first + static_cast<int64_t>(i), 1)));
  return cat(parts, 1);
}

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(int64_t in, int64_t classes, const Dims& cutoffs,
                                                       const AdaptiveSoftmaxOptions& options)
    : cutoffs_(checked_cutoffs(cutoffs, classes)),
      head(in, cutoffs_[0] + static_cast<int64_t>(cutoffs.size()), options.head_bias, options.options) {
  register_module("head", head);
  for (size_t i = 1; i < cutoffs_.size(); ++i) {
    const auto features =
        static_cast<int64_t>(std::floor(static_cast<double>(in) / std::pow(options.div_value, static_cast<double>(i))));
    if (features < 1)
      base::fail(kAdaptive, "{} features leave none for cluster {} with div_value {}", in, i, options.div_value);
    Sequential& cluster = tail.emplace();
    cluster.emplace<Linear>(in, features, false, options.options);
    cluster.emplace<Linear>(features, cutoffs_[i] - cutoffs_[i - 1], false, options.options);
  }
  register_module("tail", tail);
}

std::vector<Tensor> AdaptiveLogSoftmaxWithLoss::logits_of_clusters(const Tensor& x) const {
  std::vector<Tensor> logits;
  for (const Sequential& cluster : tail) logits.push_back(cluster(x));
  return logits;
}

std::pair<Tensor, Tensor> AdaptiveLogSoftmaxWithLoss::forward(const Tensor& x, const Tensor& target) const {
  return adaptive_log_softmax(head(x), logits_of_clusters(x), target);
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& x) const {
  return adaptive_log_probabilities(head(x), logits_of_clusters(x));
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& x) const { return argmax(log_prob(x), 1); }

}  // namespace tenon::nn
