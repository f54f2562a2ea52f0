#include "tenon/data/data_loader.h"

#include <unistd.h>

#include <algorithm>

#include "tenon/base/available_memory.h"
#include "tenon/base/error.h"
#include "tenon/data/fork_gate.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/ordered_pipeline.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

constexpr int kMostWorkers = 256, kMostPrefetch = 1024;
constexpr const char* kMask = "mask";

void check(const DataLoaderOptions& options) {
  if (options.batch_size < 1)
    base::fail("data_loader", "a batch size of {}; it must be at least 1", options.batch_size);
  if (options.workers < 0 || options.workers > kMostWorkers) {
    base::fail("data_loader", "{} workers; there may be 0 to {}", options.workers, kMostWorkers);
  }
  if (options.prefetch < 1 || options.prefetch > kMostPrefetch) {
    base::fail("data_loader", "a prefetch of {} batches; it must be from 1 to {}", options.prefetch, kMostPrefetch);
  }
  if (options.sampler && options.shuffle)
    base::fail("data_loader", "a sampler and shuffle: the sampler says the order; leave shuffle out");
}

std::shared_ptr<const Sampler> sampler_of(const DataLoaderOptions& options, int64_t samples) {
  if (options.sampler) return options.sampler;
  if (options.shuffle) return std::make_shared<const RandomSampler>(samples, options.seed);
  return std::make_shared<const SequentialSampler>(samples);
}

/// Batches of an epoch, and one line of refusal where there are none.
int64_t batches_of(int64_t samples, const DataLoaderOptions& options) {
  if (samples < 1) base::fail("data_loader", "the sampler has no samples");
  const int64_t whole = samples / options.batch_size, rest = samples % options.batch_size;
  const int64_t batches = whole + (rest > 0 && options.last != LastBatch::kDrop ? 1 : 0);
  if (batches == 0) {
    base::fail("data_loader",
               "{} samples do not fill a batch of {}, and the last batch is dropped: make batches smaller", samples,
               options.batch_size);
  }
  return batches;
}

/// What is filled up takes memory for its places, whatever the samples are.
void require_room(int64_t samples, const DataLoaderOptions& options) {
  if (options.last != LastBatch::kPad || options.batch_size <= samples) return;
  const uint64_t available = base::host_memory().available;
  if (static_cast<uint64_t>(options.batch_size) <= available / sizeof(int64_t)) return;
  base::fail("data_loader",
             "a batch of {}, filled up from {} samples, does not fit into the {} bytes that are free: make batches "
             "smaller",
             options.batch_size, samples, available);
}

std::string in_one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

/// What a user's code throws, whatever it is, as one line that says where.
template <typename Made, typename Where>
auto told(Made&& made, Where&& where) {
  try {
    return made();
  } catch (const std::exception& error) {
    base::fail("data_loader", "{}: {}", where(), in_one_line(error.what()));
  } catch (...) {
    base::fail("data_loader", "{}: threw something that is no std::exception; throw one that says what is wrong",
               where());
  }
}

/// "17, 4, 2 and 61 more".
std::string shown(std::span<const int64_t> indices) {
  constexpr size_t kMost = 4;
  const std::string first = fmt::format("{}", fmt::join(indices.first(std::min(kMost, indices.size())), ", "));
  return indices.size() <= kMost ? first : fmt::format("{} and {} more", first, indices.size() - kMost);
}

}  // namespace

/// A batch on its way.
struct DataLoader::Prepared {
  DataLoaderState state;  // before it
  Sample batch;
};

/// How a batch is made. A pure function of the state, so any thread may make any batch.
struct DataLoader::Recipe {
  SharedDataset dataset;
  DataLoaderOptions options;
  std::shared_ptr<const Sampler> sampler;
  int64_t samples, batches;  // of an epoch

  Recipe(SharedDataset of, const DataLoaderOptions& given) : dataset(std::move(of)), options(given) {
    check(options);
    if (dataset->size() < 1) base::fail("data_loader", "the dataset has no samples");
    sampler = sampler_of(options, dataset->size());
    samples = sampler->size();
    batches = batches_of(samples, options);
    require_room(samples, options);
  }

  DataLoaderState after(DataLoaderState state) const {
    if (++state.batch == batches) {
      state.batch = 0;
      ++state.epoch;
    }
    return state;
  }

  std::vector<int64_t> indices_of(const DataLoaderState& state) const {
    const int64_t first = state.batch * options.batch_size;
    std::vector<int64_t> indices(static_cast<size_t>(std::min(options.batch_size, samples - first)));
    for (size_t i = 0; i < indices.size(); ++i)
      indices[i] = checked(sampler->at(state.epoch, first + static_cast<int64_t>(i)));
    return indices;
  }

  std::vector<int64_t> filled_up(std::vector<int64_t> indices) const {
    if (options.last == LastBatch::kPad) indices.resize(static_cast<size_t>(options.batch_size), indices.back());
    return indices;
  }

  int64_t checked(int64_t index) const {
    if (index < 0 || index >= dataset->size())
      base::fail("data_loader", "the sampler asks for sample {} of {}", index, dataset->size());
    return index;
  }

  /// Chance belongs to the sample, or to its place where a sampler may give it more than once.
  Sample sample_at(int64_t index, int64_t place, const DataLoaderState& state) const {
    Random random(state.seed, state.epoch, options.sampler ? place : index);
    return told([&] { return dataset->draw(index, random); },
                [&] { return fmt::format("sample {} in epoch {}", index, state.epoch); });
  }

  Sample collated(std::vector<Sample> samples_of_batch, std::span<const int64_t> indices) const {
    return told([&] { return joined(std::move(samples_of_batch), indices); },
                [&] { return "the batch of samples " + shown(indices); });
  }

  Sample joined(std::vector<Sample> samples_of_batch, std::span<const int64_t> indices) const {
    if (!options.collate) return stack_samples(samples_of_batch, options.device, indices);
    Sample batch = options.collate(std::move(samples_of_batch));
    std::vector<Tensor> tensors;
    for (int64_t i = 0; i < batch.size(); ++i) {
      batch.set(i, batch[i].to(options.device));
      tensors.push_back(batch[i]);
    }
    wait(tensors);
    return batch;
  }

  Tensor mask(int64_t real) const {
    std::vector<bool> is_real(static_cast<size_t>(options.batch_size), false);
    std::fill_n(is_real.begin(), real, true);
    return from_vector(is_real, {options.batch_size}, Options(options.device));
  }

  /// The same on every thread: what the caller has switched on there does not reach the samples.
  Sample batch_at(const DataLoaderState& state) const {
    const NoGrad off;
    const Autocast also_off(DType::bf16, false);
    const AllowTf32 nor_this(false);
    const std::vector<int64_t> indices = indices_of(state);
    const auto real = static_cast<int64_t>(indices.size());
    Sample batch = batch_of(filled_up(indices), real, state);
    if (options.last == LastBatch::kPad) batch.add(kMask, mask(real));
    return batch;
  }

  /// Samples after the first `real` ones only fill up.
  Sample batch_of(std::span<const int64_t> indices, int64_t real, const DataLoaderState& state) const {
    if (!options.collate) {
      std::optional<Sample> batch = told([&] { return dataset->stacked(indices, options.device); },
                                         [&] { return "the batch of samples " + shown(indices); });
      if (batch) return std::move(*batch);
    }
    std::vector<Sample> chosen;
    const int64_t first = state.batch * options.batch_size;
    for (int64_t i = 0; i < std::ssize(indices); ++i)
      chosen.push_back(i >= real ? chosen.back() : sample_at(indices[static_cast<size_t>(i)], first + i, state));
    return collated(std::move(chosen), indices);
  }
};

class DataLoader::Workers {
 public:
  Workers(std::shared_ptr<const Recipe> recipe, const DataLoaderState& from)
      : recipe_(std::move(recipe)),
        ahead_(from),
        pipeline_(
            [this](Prepared& prepared) {
              prepared.state = ahead_;
              ahead_ = recipe_->after(ahead_);
              return true;
            },
            [this](Prepared& prepared) {
              const NoForkMeanwhile whole;
              prepared.batch = recipe_->batch_at(prepared.state);
            },
            recipe_->options.workers,
            static_cast<size_t>(recipe_->options.workers) * static_cast<size_t>(recipe_->options.prefetch)) {}

  bool are_of_this_process() const { return getpid() == process_; }
  Sample next() { return std::move(pipeline_.next()->batch); }

 private:
  std::shared_ptr<const Recipe> recipe_;
  DataLoaderState ahead_;  // of the one thread that hands out work
  pid_t process_ = getpid();
  OrderedPipeline<Prepared> pipeline_;  // last, so that everything its threads use is there before them
};

DataLoader::DataLoader(SharedDataset dataset, const DataLoaderOptions& options)
    : recipe_(std::make_shared<const Recipe>(std::move(dataset), options)) {
  taken_ = {options.seed, 0, 0, recipe_->batches, recipe_->samples, options.batch_size, options.shuffle};
}

DataLoader::~DataLoader() { drop_workers(); }
DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&& other) noexcept {
  drop_workers();
  recipe_ = std::move(other.recipe_);
  taken_ = other.taken_;
  workers_ = std::move(other.workers_);
  return *this;
}

// In a child of the process that began them, the threads are gone and may have held their lock: nothing of them can be
// touched.
void DataLoader::drop_workers() {
  if (workers_ && !workers_->are_of_this_process())
    static_cast<void>(workers_.release());
  else
    workers_.reset();
}

Sample DataLoader::next() {
  if (workers_ && !workers_->are_of_this_process()) drop_workers();
  Sample batch;
  if (recipe_->options.workers == 0) {
    batch = recipe_->batch_at(taken_);
  } else {
    if (!workers_) {
      // Whoever watches forks last is asked first: the host's device has to be there before the workers, because they
      // can only come to an end while it runs.
      static_cast<void>(from_vector(std::vector<uint8_t>{0}, {1}, Options(host())));
      workers_ = std::make_unique<Workers>(recipe_, taken_);
    }
    try {
      batch = workers_->next();
    } catch (...) {
      drop_workers();  // they are behind the batch that failed
      throw;
    }
  }
  taken_ = recipe_->after(taken_);
  return batch;
}

int64_t DataLoader::size() const { return recipe_->batches; }

Sample DataLoader::batch(const DataLoaderState& state) const {
  const NoForkMeanwhile whole;
  return recipe_->batch_at(state);
}
std::vector<int64_t> DataLoader::indices(const DataLoaderState& state) const {
  return recipe_->filled_up(recipe_->indices_of(state));
}
DataLoaderState DataLoader::after(const DataLoaderState& state) const { return recipe_->after(state); }

void DataLoader::set_epoch(int64_t epoch) {
  if (epoch < 0) base::fail("data_loader", "there is no epoch {}", epoch);
  if (epoch == taken_.epoch && taken_.batch == 0) return;
  drop_workers();
  taken_.epoch = epoch;
  taken_.batch = 0;
}

void DataLoader::restore(const DataLoaderState& state) {
  const auto what = [](const DataLoaderState& of) {
    return fmt::format("{} samples in {} batches of {}, {}shuffled, of seed {}", of.samples, of.batches_per_epoch,
                       of.batch_size, of.shuffle ? "" : "not ", of.seed);
  };
  if (what(state) != what(taken_)) {
    base::fail("data_loader", "the saved state is of {}; this loader has {}: continue with the same data and options",
               what(state), what(taken_));
  }
  if (state.batch < 0 || state.batch >= recipe_->batches || state.epoch < 0) {
    base::fail("data_loader", "the saved state is damaged: batch {} of {} in epoch {}", state.batch, recipe_->batches,
               state.epoch);
  }
  drop_workers();
  taken_ = state;
}

DataLoader::Iterator DataLoader::begin() { return Iterator(*this); }

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  if (loader_->epoch() != epoch_)
    loader_ = nullptr;
  else
    batch_ = loader_->next();
  return *this;
}

}  // namespace tenon::data
