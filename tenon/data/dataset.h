// Dataset: samples by number. Your own is a class of two functions:
//
//   class Squares : public data::Dataset {
//    public:
//     int64_t size() const override { return 100; }
//     data::Sample get(int64_t i) const override { return {scalar(i), scalar(i * i)}; }
//   };
//
// Those below are made of tensors and of other datasets. They are values: copies share what they hold.

#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include "tenon/data/random.h"
#include "tenon/data/sample.h"

namespace tenon::data {

/// Samples by number: the base of datasets of one's own.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// How many samples there are.
  virtual int64_t size() const = 0;
  /// The sample at a place below size(). The workers of a DataLoader call it at the same time.
  virtual Sample get(int64_t i) const = 0;
  /// The same where chance takes part: whatever is drawn comes from `random`. DataLoaders call this one.
  virtual Sample draw(int64_t i, Random& random) const {
    static_cast<void>(random);
    return get(i);
  }
  /// Several samples stacked along a new first dim, where that is faster than one by one and nothing is random; nothing
  /// where it is not.
  virtual std::optional<Sample> stacked(std::span<const int64_t> indices, Device device) const {
    static_cast<void>(indices);
    static_cast<void>(device);
    return std::nullopt;
  }
};

/// Any dataset, held together with whoever else holds it: what functions take. Converts from a dataset, which is
/// copied, and from a shared_ptr to one.
///   data::SharedDataset shared = dataset;
///   shared->size();  // 10
class SharedDataset {
 public:
  template <typename D>
  requires std::derived_from<D, Dataset> &&(!std::is_abstract_v<D>)SharedDataset(D dataset)  // NOLINT: converts
      : held_(std::make_shared<const D>(std::move(dataset))) {}
  template <typename D>
  requires std::derived_from<D, Dataset> SharedDataset(std::shared_ptr<D> dataset)  // NOLINT: converts
      : held_(std::move(dataset)) {
    require_one();
  }

  /// The dataset.
  const Dataset* operator->() const { return held_.get(); }
  const Dataset& operator*() const { return *held_; }

 private:
  void require_one() const;
  std::shared_ptr<const Dataset> held_;
};

/// Row i of each of several tensors, which have the same number of rows; those of another device are copied to the
/// host. Final, because DataLoaders take its rows without get(); map() changes what it gives.
///   data::TensorDataset pairs({tensor({1, 2, 3}), tensor({10, 20, 30})});
///   pairs.get(1)[1];  // 20
class TensorDataset final : public Dataset {
 public:
  TensorDataset(std::initializer_list<Tensor> tensors) : TensorDataset(Sample(tensors)) {}
  TensorDataset(std::initializer_list<Field> tensors) : TensorDataset(Sample(tensors)) {}
  explicit TensorDataset(const Sample& tensors);
  /// What io::load_npz() gives.
  explicit TensorDataset(const std::map<std::string, Tensor>& tensors);

  int64_t size() const override { return size_; }
  Sample get(int64_t i) const override;
  std::optional<Sample> stacked(std::span<const int64_t> indices, Device device) const override;
  /// All rows.
  const Sample& tensors() const { return tensors_; }

 private:
  Sample tensors_;  // on the host, in row-major order
  int64_t size_ = 0;
};

/// Datasets one behind the other.
///   data::ConcatDataset({dataset, dataset}).size();  // 20
class ConcatDataset : public Dataset {
 public:
  explicit ConcatDataset(std::vector<SharedDataset> parts);

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Sample get(int64_t i) const override;
  Sample draw(int64_t i, Random& random) const override;

 private:
  std::pair<const Dataset*, int64_t> find(int64_t i) const;
  std::vector<SharedDataset> parts_;
  std::vector<int64_t> ends_;  // of each part, counted from the beginning
};

/// Some samples of a dataset, in this order.
///   data::Subset(dataset, {2, 0}).get(0)[0];  // 2
class Subset final : public Dataset {
 public:
  /// Fails where an index lies outside.
  Subset(SharedDataset of, std::vector<int64_t> indices);

  int64_t size() const override { return static_cast<int64_t>(indices_->size()); }
  Sample get(int64_t i) const override;
  Sample draw(int64_t i, Random& random) const override;
  std::optional<Sample> stacked(std::span<const int64_t> indices, Device device) const override;
  const std::vector<int64_t>& indices() const { return *indices_; }

 private:
  int64_t index_at(int64_t i) const;
  SharedDataset of_;
  std::shared_ptr<const std::vector<int64_t>> indices_;
};

/// Shuffles a dataset and deals it out: parts of so many samples, which must be all there are.
///   data::random_split(dataset, {7, 3}, 1)[1].size();  // 3
std::vector<Subset> random_split(const SharedDataset& dataset, const std::vector<int64_t>& counts, uint64_t seed);
/// The same by fractions, which add up to 1. As in PyTorch, each part is rounded down and what is left is dealt out one
/// by one from the first part on.
///   data::random_split(dataset, {0.5, 0.5}, 1)[0].size();  // 5
std::vector<Subset> random_split(const SharedDataset& dataset, const std::vector<double>& fractions, uint64_t seed);
template <std::integral I>
std::vector<Subset> random_split(const SharedDataset& dataset, std::initializer_list<I> counts, uint64_t seed) {
  return random_split(dataset, std::vector<int64_t>(counts.begin(), counts.end()), seed);
}
template <std::floating_point F>
std::vector<Subset> random_split(const SharedDataset& dataset, std::initializer_list<F> fractions, uint64_t seed) {
  return random_split(dataset, std::vector<double>(fractions.begin(), fractions.end()), seed);
}

/// What is done to a tensor of a sample, an image mostly; whatever is random comes from `random`. transforms.h has
/// some.
using Transform = std::function<Tensor(const Tensor& value, Random& random)>;

/// A dataset of which every sample goes through a function.
///   data::MappedDataset shuffled = data::map(dataset, [](data::Sample sample, data::Random& random) {
///     sample.set(0, sample[0] + random.below(3));
///     return sample;
///   });
class MappedDataset : public Dataset {
 public:
  using Function = std::function<Sample(Sample sample, Random& random)>;
  MappedDataset(SharedDataset of, Function f) : of_(std::move(of)), f_(std::move(f)) {}

  int64_t size() const override { return of_->size(); }
  /// As in the first epoch of a DataLoader of seed 0.
  Sample get(int64_t i) const override;
  Sample draw(int64_t i, Random& random) const override;

 private:
  SharedDataset of_;
  Function f_;
};

/// A dataset of f(sample) or f(sample, random).
///   data::map(dataset, [](data::Sample sample) { return data::Sample{sample[0] * 2}; }).get(3)[0];  // 6
template <typename F>
requires std::is_invocable_r_v<Sample, const F&, Sample> || std::is_invocable_r_v<Sample, const F&, Sample, Random&>
    MappedDataset map(SharedDataset dataset, F f) {
  if constexpr (std::is_invocable_r_v<Sample, const F&, Sample, Random&>) {
    return {std::move(dataset), std::move(f)};
  } else {
    return {std::move(dataset), [f = std::move(f)](Sample sample, Random&) { return f(std::move(sample)); }};
  }
}

/// A dataset whose tensor at a place or under a name goes through a transform; the first, unless said otherwise.
///   auto scaled = data::transformed(dataset, [](const Tensor& value, data::Random&) { return value * 2; });
///   scaled.get(3)[0];  // 6
MappedDataset transformed(SharedDataset dataset, Transform transform, std::variant<int64_t, std::string> field = 0);

}  // namespace tenon::data
