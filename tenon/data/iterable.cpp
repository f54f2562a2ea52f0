// A pass is read by one thread, whoever stacks its samples; so that a batch depends on its place in the stream alone.

#include "tenon/data/iterable.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/data/fork_gate.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/ordered_pipeline.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

void check_stream(const IterableLoaderOptions& options) {
  if (options.batch_size < 1) base::fail("iterable_loader", "a batch has 1 sample or more, not {}", options.batch_size);
  if (options.workers < 0 || options.prefetch < 1)
    base::fail("iterable_loader", "there are 0 workers or more that prepare 1 batch or more, not {} and {}",
               options.workers, options.prefetch);
  if (options.shuffled < 0) base::fail("iterable_loader", "0 samples or more are shuffled, not {}", options.shuffled);
  if (options.last == LastBatch::kPad)
    base::fail("iterable_loader", "the last batch of a stream is kept or dropped, never filled up");
}

}  // namespace

struct IterableLoader::Recipe {
  std::shared_ptr<const IterableDataset> dataset;
  IterableLoaderOptions options;

  Sample batch_of(std::vector<Sample> samples) const {
    const NoGrad off;
    const Autocast also_off(DType::bf16, false);
    const AllowTf32 nor_this(false);
    if (!options.collate) return stack_samples(samples, options.device);
    Sample batch = options.collate(std::move(samples));
    std::vector<Tensor> tensors;
    for (int64_t i = 0; i < batch.size(); ++i) {
      batch.set(i, batch[i].to(options.device));
      tensors.push_back(batch[i]);
    }
    wait(tensors);
    return batch;
  }
};

// The samples of a pass, a batch at a time.
class IterableLoader::Reader {
 public:
  Reader(std::shared_ptr<const Recipe> recipe, int64_t epoch)
      : recipe_(std::move(recipe)), pass_(recipe_->dataset->pass(epoch)), random_(recipe_->options.seed, epoch, 0) {
    if (!pass_) base::fail("iterable_loader", "the dataset gave no pass");
  }

  // Of the next batch; none at the end.
  std::vector<Sample> samples() {
    std::vector<Sample> batch;
    while (std::ssize(batch) < recipe_->options.batch_size) {
      std::optional<Sample> next = drawn();
      if (!next) break;
      batch.push_back(std::move(*next));
    }
    if (recipe_->options.last == LastBatch::kDrop && std::ssize(batch) < recipe_->options.batch_size) batch.clear();
    return batch;
  }

  void leave_out(int64_t batches, int64_t epoch) {
    for (int64_t i = 0; i < batches; ++i) {
      if (samples().empty())
        base::fail("iterable_loader", "pass {} ends after {} batches, before batch {}", epoch, i, batches);
    }
  }

 private:
  std::optional<Sample> read() {
    if (is_over_) return std::nullopt;
    std::optional<Sample> next = pass_();
    is_over_ = !next;
    return next;
  }

  std::optional<Sample> drawn() {
    if (recipe_->options.shuffled < 2) return read();
    while (std::ssize(waiting_) < recipe_->options.shuffled) {
      std::optional<Sample> next = read();
      if (!next) break;
      waiting_.push_back(std::move(*next));
    }
    if (waiting_.empty()) return std::nullopt;
    std::swap(waiting_[static_cast<size_t>(random_.below(std::ssize(waiting_)))], waiting_.back());
    Sample chosen = std::move(waiting_.back());
    waiting_.pop_back();
    return chosen;
  }

  std::shared_ptr<const Recipe> recipe_;
  IterableDataset::Pass pass_;
  Random random_;
  std::vector<Sample> waiting_;  // of which the next one is drawn
  bool is_over_ = false;
};

class IterableLoader::Workers {
 public:
  Workers(const std::shared_ptr<const Recipe>& recipe, int64_t epoch, int64_t batch)
      : recipe_(recipe),
        reader_(recipe, epoch),
        pipeline_(
            [this, epoch, batch](Unit& unit) {
              const NoForkMeanwhile whole;
              if (!std::exchange(has_begun_, true)) reader_.leave_out(batch, epoch);
              unit.samples = reader_.samples();
              return !unit.samples.empty();
            },
            [this](Unit& unit) {
              const NoForkMeanwhile whole;
              unit.batch = recipe_->batch_of(std::move(unit.samples));
            },
            recipe->options.workers,
            static_cast<size_t>(recipe->options.workers) * static_cast<size_t>(recipe->options.prefetch)) {}

  bool are_of_this_process() const { return getpid() == process_; }
  std::optional<Sample> next() {
    const auto unit = pipeline_.next();
    return unit ? std::optional(std::move(unit->batch)) : std::nullopt;
  }

 private:
  struct Unit {
    std::vector<Sample> samples;
    Sample batch;
  };
  std::shared_ptr<const Recipe> recipe_;
  Reader reader_;
  bool has_begun_ = false;
  pid_t process_ = getpid();
  OrderedPipeline<Unit> pipeline_;  // last, so that everything its threads use is there before them
};

IterableLoader::IterableLoader(std::shared_ptr<const IterableDataset> dataset, const IterableLoaderOptions& options) {
  if (!dataset) base::fail("iterable_loader", "there is no dataset");
  check_stream(options);
  recipe_ = std::make_shared<const Recipe>(Recipe{std::move(dataset), options});
}

IterableLoader::~IterableLoader() { drop_workers(); }
IterableLoader::IterableLoader(IterableLoader&&) noexcept = default;
IterableLoader& IterableLoader::operator=(IterableLoader&& other) noexcept {
  drop_workers();
  recipe_ = std::move(other.recipe_);
  epoch_ = other.epoch_;
  batch_ = other.batch_;
  reader_ = std::move(other.reader_);
  workers_ = std::move(other.workers_);
  return *this;
}

// As in DataLoader: in a child of the process that began them, the threads are gone and may have held their lock.
void IterableLoader::drop_workers() {
  if (workers_ && !workers_->are_of_this_process())
    static_cast<void>(workers_.release());
  else
    workers_.reset();
}

std::optional<Sample> IterableLoader::next_with_workers() {
  if (workers_ && !workers_->are_of_this_process()) drop_workers();
  if (!workers_) {
    // The host's device has to be there before the workers, because they can only come to an end while it runs.
    static_cast<void>(from_vector(std::vector<uint8_t>{0}, {1}, Options(host())));
    workers_ = std::make_unique<Workers>(recipe_, epoch_, batch_);
  }
  try {
    return workers_->next();
  } catch (...) {
    drop_workers();  // they are past the batch that failed
    throw;
  }
}

std::optional<Sample> IterableLoader::next() {
  std::optional<Sample> batch;
  if (recipe_->options.workers > 0) {
    batch = next_with_workers();
  } else {
    if (!reader_) {
      auto begun = std::make_unique<Reader>(recipe_, epoch_);
      begun->leave_out(batch_, epoch_);
      reader_ = std::move(begun);
    }
    try {
      if (std::vector<Sample> samples = reader_->samples(); !samples.empty())
        batch = recipe_->batch_of(std::move(samples));
    } catch (...) {
      reader_.reset();  // the pass is read again up to the batch that failed
      throw;
    }
  }
  if (batch) {
    ++batch_;
    return batch;
  }
  go_to(epoch_ + 1);
  return std::nullopt;
}

void IterableLoader::go_to(int64_t epoch, int64_t batch) {
  if (epoch < 0 || batch < 0) base::fail("iterable_loader", "there is no batch {} of pass {}", batch, epoch);
  drop_workers();
  reader_.reset();
  epoch_ = epoch;
  batch_ = batch;
}

IterableLoader::Iterator IterableLoader::begin() { return Iterator(*this); }

}  // namespace tenon::data
