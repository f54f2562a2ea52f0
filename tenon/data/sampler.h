// Samplers: which samples an epoch has, and in which order.
//
//   data::DataLoader loader(dataset, {.batch_size = 64,
//                                     .sampler = std::make_shared<data::WeightedSampler>(weights, 10000, 7)});
//
// Your own is a class of two functions. What an epoch has follows from its number alone, so that the batches are the
// same with any number of workers and a restored loader goes on with the same ones.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tenon::data {

/// Which samples come, and when: the base of samplers of one's own.
///   std::unique_ptr<data::Sampler> sampler = std::make_unique<data::RandomSampler>(10, 7);
///   const int64_t first = sampler->at(0, 0);
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// Samples of an epoch.
  virtual int64_t size() const = 0;
  /// The number of the sample at a place below size(), of an epoch: for the same two always the same. The workers of a
  /// DataLoader call it at the same time.
  virtual int64_t at(int64_t epoch, int64_t place) const = 0;
};

/// All samples of a dataset, in order.
///   data::SequentialSampler(10).at(0, 3);  // 3
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(int64_t samples);
  int64_t size() const override { return samples_; }
  int64_t at(int64_t epoch, int64_t place) const override;

 private:
  int64_t samples_;
};

/// All samples of a dataset, in another order each epoch: what DataLoaderOptions::shuffle does.
///   data::RandomSampler(10, 7).size();  // 10
class RandomSampler final : public Sampler {
 public:
  RandomSampler(int64_t samples, uint64_t seed);
  int64_t size() const override { return samples_; }
  int64_t at(int64_t epoch, int64_t place) const override;

 private:
  int64_t samples_;
  uint64_t seed_;
};

/// Some samples, in another order each epoch.
///   data::SubsetRandomSampler({2, 5, 6}, 7).size();  // 3
class SubsetRandomSampler final : public Sampler {
 public:
  SubsetRandomSampler(std::vector<int64_t> indices, uint64_t seed);
  int64_t size() const override { return order_.size(); }
  int64_t at(int64_t epoch, int64_t place) const override;

 private:
  std::vector<int64_t> indices_;
  RandomSampler order_;
};

/// Whether a sample may come again in an epoch.
enum class Replacement { kWith, kWithout };

/// So many samples, sample i as often as weights[i] says in comparison with the others: for classes of which there are
/// few. Without replacement a sample comes once at most.
///   data::WeightedSampler({0.0, 1.0}, 5, 7).at(0, 0);  // 1
class WeightedSampler final : public Sampler {
 public:
  WeightedSampler(std::vector<double> weights, int64_t samples, uint64_t seed,
                  Replacement replacement = Replacement::kWith);
  int64_t size() const override { return samples_; }
  int64_t at(int64_t epoch, int64_t place) const override;

 private:
  int64_t drawn(int64_t epoch, int64_t place) const;
  /// Without replacement: the samples of an epoch.
  std::vector<int64_t> chosen(int64_t epoch) const;

  std::vector<double> weights_, sums_;  // sums_[i]: of the weights up to and with i
  int64_t samples_;
  uint64_t seed_;
  Replacement replacement_;
  mutable std::mutex mutex_;
  mutable int64_t epoch_ = -1;  // that order_ is of
  mutable std::shared_ptr<const std::vector<int64_t>> order_;
};

/// The part of one of several processes that train together: every `processes`-th sample, all parts of the same size.
/// Where the samples cannot be dealt out evenly, the first ones come twice.
///   data::DistributedSampler(10, 0, 4).size();  // 3
class DistributedSampler final : public Sampler {
 public:
  struct Options {
    uint64_t seed = 0;
    bool shuffle = true;
  };
  DistributedSampler(int64_t samples, int64_t rank, int64_t processes, const Options& options);
  DistributedSampler(int64_t samples, int64_t rank, int64_t processes)
      : DistributedSampler(samples, rank, processes, Options()) {}
  int64_t size() const override { return each_; }
  int64_t at(int64_t epoch, int64_t place) const override;

 private:
  RandomSampler order_;
  int64_t rank_, processes_, each_;
  bool shuffle_;
};

}  // namespace tenon::data
