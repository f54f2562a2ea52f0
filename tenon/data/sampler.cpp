// Orders come from permutations that need no memory, draws from streams of their own: no epoch has to be gone through
// to know another.

#include "tenon/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/data/permutation.h"
#include "tenon/data/random.h"

namespace tenon::data {
namespace {

int64_t checked_samples(int64_t samples) {
  if (samples < 1) base::fail("sampler", "{} samples; there must be at least one", samples);
  return samples;
}

void require_weights(std::span<const double> weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
      base::fail("sampler", "weight {} is {}; weights are finite and not below 0", i, weights[i]);
  }
}

}  // namespace

SequentialSampler::SequentialSampler(int64_t samples) : samples_(checked_samples(samples)) {}

int64_t SequentialSampler::at(int64_t epoch, int64_t place) const {
  static_cast<void>(epoch);
  return place;
}

RandomSampler::RandomSampler(int64_t samples, uint64_t seed) : samples_(checked_samples(samples)), seed_(seed) {}

int64_t RandomSampler::at(int64_t epoch, int64_t place) const {
  // Mixed twice: mixed once, epoch 2 of seed 1 would be epoch 1 of seed 2.
  const Permutation shuffled(static_cast<uint64_t>(samples_),
                             base::mix(base::mix(0, seed_), static_cast<uint64_t>(epoch)));
  return static_cast<int64_t>(shuffled(static_cast<uint64_t>(place)));
}

SubsetRandomSampler::SubsetRandomSampler(std::vector<int64_t> indices, uint64_t seed)
    : indices_(std::move(indices)), order_(std::ssize(indices_), seed) {}

int64_t SubsetRandomSampler::at(int64_t epoch, int64_t place) const {
  return indices_[static_cast<size_t>(order_.at(epoch, place))];
}

WeightedSampler::WeightedSampler(std::vector<double> weights, int64_t samples, uint64_t seed, Replacement replacement)
    : weights_(std::move(weights)),
      sums_(weights_.size()),
      samples_(checked_samples(samples)),
      seed_(seed),
      replacement_(replacement) {
  require_weights(weights_);
  std::partial_sum(weights_.begin(), weights_.end(), sums_.begin());
  const int64_t possible = std::ranges::count_if(weights_, [](double weight) { return weight > 0; });
  if (possible == 0 || !std::isfinite(sums_.back()))
    base::fail("sampler", "the {} weights add up to {}; at least one must be above 0", weights_.size(),
               sums_.empty() ? 0.0 : sums_.back());
  if (replacement_ == Replacement::kWithout && samples_ > possible)
    base::fail("sampler", "{} samples without replacement of {} whose weight is above 0", samples_, possible);
}

int64_t WeightedSampler::at(int64_t epoch, int64_t place) const {
  if (replacement_ == Replacement::kWith) return drawn(epoch, place);
  const std::lock_guard lock(mutex_);
  if (epoch_ != epoch) {
    order_ = std::make_shared<const std::vector<int64_t>>(chosen(epoch));
    epoch_ = epoch;
  }
  return (*order_)[static_cast<size_t>(place)];
}

int64_t WeightedSampler::drawn(int64_t epoch, int64_t place) const {
  const double at = Random(seed_, epoch, place).uniform() * sums_.back();
  const auto found = std::ranges::upper_bound(sums_, at);
  return found - sums_.begin();
}

// The samples whose exponentially distributed times, at rates that are the weights, come first (Efraimidis and
// Spirakis).
std::vector<int64_t> WeightedSampler::chosen(int64_t epoch) const {
  std::vector<double> times(weights_.size());
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = -std::log1p(-Random(seed_, epoch, static_cast<int64_t>(i)).uniform()) / weights_[i];
  std::vector<int64_t> all;
  for (size_t i = 0; i < times.size(); ++i) {
    if (weights_[i] > 0) all.push_back(static_cast<int64_t>(i));
  }
  const auto earlier = [&](int64_t a, int64_t b) {
    return std::pair(times[static_cast<size_t>(a)], a) < std::pair(times[static_cast<size_t>(b)], b);
  };
  std::ranges::partial_sort(all, all.begin() + samples_, earlier);
  all.resize(static_cast<size_t>(samples_));
  return all;
}

DistributedSampler::DistributedSampler(int64_t samples, int64_t rank, int64_t processes, const Options& options)
    : order_(samples, options.seed), rank_(rank), processes_(processes), each_(0), shuffle_(options.shuffle) {
  if (processes < 1 || rank < 0 || rank >= processes)
    base::fail("sampler", "rank {} of {} processes; ranks count from 0", rank, processes);
  each_ = (samples + processes - 1) / processes;
}

int64_t DistributedSampler::at(int64_t epoch, int64_t place) const {
  const int64_t among_all = (place * processes_ + rank_) % order_.size();
  return shuffle_ ? order_.at(epoch, among_all) : among_all;
}

}  // namespace tenon::data
