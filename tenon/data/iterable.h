// IterableDataset: samples that come one after another and have no numbers: a stream, a generator, files that are read
// once. Your own is a class of one function, which gives the samples of a pass:
//
//   class Countdown : public data::IterableDataset {
//    public:
//     Pass pass(int64_t epoch) const override {
//       return [left = 10]() mutable -> std::optional<data::Sample> {
//         if (left == 0) return std::nullopt;
//         return data::Sample{scalar(left--)};
//       };
//     }
//   };
//
//   data::IterableLoader loader(std::make_shared<Countdown>(), {.batch_size = 4, .workers = 1});
//   for (const data::Sample& batch : loader) train(batch);   // a pass; the next loop begins the next one
//
// One thread reads the stream, others stack its samples: batches come in the order of the stream, each sample once,
// with any number of workers.

#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "tenon/data/collate.h"
#include "tenon/data/data_loader.h"

namespace tenon::data {

/// Samples one after another: the base of streams of one's own.
class IterableDataset {
 public:
  /// The next sample; nothing at the end.
  using Pass = std::function<std::optional<Sample>()>;

  virtual ~IterableDataset() = default;
  /// A pass over the samples from the first on, for an epoch from 0 on. One thread at a time asks it.
  virtual Pass pass(int64_t epoch) const = 0;
};

/// What batches of a stream are made of.
struct IterableLoaderOptions {
  int64_t batch_size = 1;             // samples of a batch
  int64_t shuffled = 0;               // samples of which the next one is drawn by chance; 0: in order
  uint64_t seed = 0;                  // of these draws
  int workers = 0;                    // threads that stack batches, beside one that reads; 0: the caller does both
  int prefetch = 2;                   // batches that each worker prepares ahead
  LastBatch last = LastBatch::kKeep;  // or kDrop
  Collate collate = nullptr;          // stack_samples unless given
  Device device = {};                 // of the batches
};

/// The batches of a stream, pass after pass. One thread at a time may use it.
class IterableLoader {
 public:
  explicit IterableLoader(std::shared_ptr<const IterableDataset> dataset, const IterableLoaderOptions& options = {});
  ~IterableLoader();
  IterableLoader(IterableLoader&&) noexcept;
  IterableLoader& operator=(IterableLoader&&) noexcept;

  /// The next batch of this pass; nothing at its end, and then the first of the next pass. What the stream or the
  /// collate function throws arrives here.
  std::optional<Sample> next();

  class Iterator;
  /// The batches that are left of this pass, for range-for; leaving the loop early keeps the place.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// The pass that the next batch belongs to, and how many of its batches were taken.
  int64_t epoch() const { return epoch_; }
  int64_t batch() const { return batch_; }
  /// Goes to a batch of a pass, whose samples before it are read and left out. Fails where the pass is shorter.
  void go_to(int64_t epoch, int64_t batch = 0);

 private:
  struct Recipe;
  class Reader;
  class Workers;
  void drop_workers();
  std::optional<Sample> next_with_workers();
  std::shared_ptr<const Recipe> recipe_;
  int64_t epoch_ = 0, batch_ = 0;
  std::unique_ptr<Reader> reader_;    // of the pass under way, where there are no workers
  std::unique_ptr<Workers> workers_;  // of the pass under way, where there are some
};

class IterableLoader::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Sample;
  using difference_type = std::ptrdiff_t;
  using pointer = const Sample*;
  using reference = const Sample&;

  const Sample& operator*() const { return *batch_; }
  const Sample* operator->() const { return &*batch_; }
  Iterator& operator++() {
    batch_ = loader_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& at, std::default_sentinel_t) { return !at.batch_; }

 private:
  friend class IterableLoader;
  explicit Iterator(IterableLoader& loader) : loader_(&loader), batch_(loader.next()) {}
  IterableLoader* loader_;
  std::optional<Sample> batch_;  // nothing at the end
};

}  // namespace tenon::data
