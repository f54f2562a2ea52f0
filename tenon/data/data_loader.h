// DataLoader: the batches of a dataset, epoch after epoch.
//
//   data::DataLoader loader(dataset, {.batch_size = 64, .shuffle = true, .seed = 7, .workers = 2});
//   while (loader.epoch() < 10) {
//     for (const data::Sample& batch : loader) {   // what is left of the epoch
//       auto [images, labels] = batch.unpack<2>();
//     }
//   }
//   std::string saved = to_json(loader.state());   // a loader restored from it goes on with the same batches
//
// Which sample comes when, and what its random transforms draw, follows from seed and epoch alone: the batches are the
// same with any number of workers. The state is what the consumer has taken, never what was prepared ahead.

#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "tenon/data/collate.h"
#include "tenon/data/data_loader_state.h"
#include "tenon/data/dataset.h"
#include "tenon/data/sampler.h"

namespace tenon::data {

/// What becomes of the samples at the end of an epoch that do not fill a batch.
enum class LastBatch {
  kKeep,  // a smaller batch
  kDrop,  // left out
  kPad,   // filled up with its last sample; every batch has one more tensor, "mask": bool, false where it was filled up
};

/// What batches are made of.
struct DataLoaderOptions {
  int64_t batch_size = 1;             // samples of a batch
  bool shuffle = false;               // anew each epoch
  uint64_t seed = 0;                  // of the order and of what is random in samples
  int workers = 0;                    // threads that prepare batches; 0: they are prepared when they are asked for
  int prefetch = 2;                   // batches that each worker prepares ahead
  LastBatch last = LastBatch::kKeep;  // what becomes of samples that fill no batch
  Collate collate = nullptr;          // stack_samples unless given
  Device device = {};                 // of the batches
  std::shared_ptr<const Sampler> sampler = nullptr;  // which samples, in which order; not beside shuffle
};

/// One thread at a time may use a loader.
///   data::DataLoader loader(dataset, {.batch_size = 4});
///   for (const data::Sample& batch : loader) std::cout << batch[0] << "\n";
class DataLoader {
 public:
  /// Fails with one line where there would not be a single batch.
  explicit DataLoader(SharedDataset dataset, const DataLoaderOptions& options = {});
  ~DataLoader();
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;

  /// The next batch; the first of the next epoch follows the last of this one. What a sample or the collate function
  /// throws arrives here as one Error that names the index; asked again, the loader tries the same batch again.
  Sample next();

  class Iterator;
  /// The batches that are left of this epoch, for range-for; leaving the loop early keeps the place.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// Batches of an epoch.
  int64_t size() const;
  /// That the next batch belongs to.
  int64_t epoch() const { return taken_.epoch; }
  /// Goes to the beginning of an epoch.
  void set_epoch(int64_t epoch);

  /// The batch of a state, which is a pure function of it: any thread may make any batch.
  Sample batch(const DataLoaderState& state) const;
  /// The numbers of its samples, with those that a padded one is filled up with.
  std::vector<int64_t> indices(const DataLoaderState& state) const;
  /// The state after that batch.
  DataLoaderState after(const DataLoaderState& state) const;

  /// Where it stands, for restore().
  DataLoaderState state() const { return taken_; }
  /// Goes on where that state was taken; fails with one line where it belongs to other data or options.
  void restore(const DataLoaderState& state);

 private:
  struct Recipe;
  struct Prepared;
  class Workers;
  void drop_workers();
  std::shared_ptr<const Recipe> recipe_;
  DataLoaderState taken_;
  std::unique_ptr<Workers> workers_;  // none before the first batch, or when there shall be none
};

class DataLoader::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Sample;
  using difference_type = std::ptrdiff_t;
  using pointer = const Sample*;
  using reference = const Sample&;

  const Sample& operator*() const { return batch_; }
  const Sample* operator->() const { return &batch_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& at, std::default_sentinel_t) { return at.loader_ == nullptr; }

 private:
  friend class DataLoader;
  explicit Iterator(DataLoader& loader) : loader_(&loader), epoch_(loader.epoch()), batch_(loader.next()) {}
  DataLoader* loader_;  // null at the end
  int64_t epoch_;
  Sample batch_;
};

}  // namespace tenon::data
