#include "tenon/data/loader.h"

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/base/thread.h"
#include "tenon/data/permutation.h"
#include "tenon/ir/shape.h"

namespace tenon::data {
namespace {

/// How many windows a corpus has, and one line of refusal where it has none.
int64_t windows_in(int64_t tokens, const LoaderOptions& options) {
  if (options.batch < 1 || options.length < 1 || options.micro_batches < 1) {
    base::fail("loader", "batch {}, length {} and micro_batches {} must be at least 1", options.batch, options.length,
               options.micro_batches);
  }
  ir::require_shape("loader", {options.micro_batches, options.batch, options.length});
  if (tokens <= options.length) {
    base::fail("loader", "the data has {} tokens, a window of {} needs {}: give more data or a shorter length", tokens,
               options.length, options.length + 1);
  }
  return options.order == Order::kRandom ? tokens - options.length : (tokens - 1) / options.length;
}

}  // namespace

/// Which window comes when, and its tokens. A pure function of the state, so any thread may ask for any batch.
struct Loader::Windows {
  Tokens tokens;
  LoaderOptions options;
  int64_t per_epoch;

  Windows(Tokens all, const LoaderOptions& given)
      : tokens(std::move(all)), options(given), per_epoch(windows_in(tokens.size(), given)) {}

  // Mixed twice: mixed once, epoch 2 of seed 1 would be epoch 1 of seed 2.
  uint64_t key(const LoaderState& state) const {
    return base::mix(base::mix(0, state.seed), static_cast<uint64_t>(state.epoch));
  }

  int64_t random_offset(uint64_t epoch_key, int64_t position) const {
    // Of 64 bits the remainder is even to one part in 2^64 / windows.
    return static_cast<int64_t>(base::mix(epoch_key, static_cast<uint64_t>(position)) %
                                static_cast<uint64_t>(per_epoch));
  }

  /// Fills a batch and moves the state past it.
  void read(LoaderState& state, Batch& into) const {
    const int64_t rows = options.batch * options.micro_batches, length = options.length;
    into.batch = options.batch;
    into.length = length;
    into.micro_batches = options.micro_batches;
    into.inputs.resize(static_cast<size_t>(rows * length));
    into.targets.resize(into.inputs.size());

    uint64_t epoch_key = key(state);
    Permutation shuffled(static_cast<uint64_t>(per_epoch), epoch_key);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t from = options.order == Order::kRandom ? random_offset(epoch_key, state.position)
                           : options.order == Order::kShuffled
                               ? static_cast<int64_t>(shuffled(static_cast<uint64_t>(state.position))) * length
                               : state.position * length;
      const auto at = static_cast<size_t>(row * length), count = static_cast<size_t>(length);
      tokens.copy(from, std::span(into.inputs).subspan(at, count));
      tokens.copy(from + 1, std::span(into.targets).subspan(at, count));
      if (++state.position < per_epoch) continue;
      state.position = 0;
      ++state.epoch;
      epoch_key = key(state);
      shuffled = Permutation(static_cast<uint64_t>(per_epoch), epoch_key);
    }
  }
};

/// Reads batches ahead on a thread of its own, into a ring that the consumer empties by swapping.
class Loader::Prefetcher {
 public:
  Prefetcher(const Windows& windows, const LoaderState& from) : windows_(windows), ahead_(from) {}
  /// Whether there is a thread to read ahead; without one, nothing can be taken.
  bool start() {
    auto started = base::try_start_thread([this] { read_ahead(); });
    if (started) thread_ = std::move(*started);
    return started.has_value();
  }

  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  bool is_of_this_process() const { return getpid() == process_; }

  /// The next batch, and the state after it.
  LoaderState take(Batch& into) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_ < filled_ || failure_; });
    if (taken_ == filled_) std::rethrow_exception(failure_);
    PreparedBatch& prepared = prepared_[taken_ % prepared_.size()];
    std::swap(into, prepared.batch);
    const LoaderState after = prepared.after;
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return after;
  }

 private:
  struct PreparedBatch {
    Batch batch;
    LoaderState after;
  };

  void read_ahead() {
    try {
      while (PreparedBatch* prepared = wait_for_empty()) {
        windows_.read(ahead_, prepared->batch);
        prepared->after = ahead_;
        {
          const std::lock_guard lock(mutex_);
          ++filled_;
        }
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  PreparedBatch* wait_for_empty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || filled_ - taken_ < prepared_.size(); });
    return stop_ ? nullptr : &prepared_[filled_ % prepared_.size()];
  }

  const Windows& windows_;
  LoaderState ahead_;  // of the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<PreparedBatch, 4> prepared_;
  uint64_t filled_ = 0, taken_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  pid_t process_ = getpid();
  std::thread thread_;
};

Loader::Loader(Tokens tokens, const LoaderOptions& options)
    : windows_(std::make_unique<Windows>(std::move(tokens), options)) {
  taken_ = {options.seed, 0, 0, options.order, options.length, windows_->per_epoch};
}

Loader::~Loader() {
  if (prefetcher_) drop_prefetcher();
}
Loader::Loader(Loader&&) noexcept = default;

Loader& Loader::operator=(Loader&& other) noexcept {
  drop_prefetcher();  // its thread reads the windows that go next
  windows_ = std::move(other.windows_);
  taken_ = other.taken_;
  prefetcher_ = std::move(other.prefetcher_);
  return *this;
}

// In a child of the process that began it, the thread is gone and may have held its lock: nothing of it can be touched.
void Loader::drop_prefetcher() {
  if (prefetcher_ && !prefetcher_->is_of_this_process())
    static_cast<void>(prefetcher_.release());
  else
    prefetcher_.reset();
}

void Loader::next(Batch& into) {
  if (!windows_->options.prefetch) {
    windows_->read(taken_, into);
    return;
  }
  if (prefetcher_ && !prefetcher_->is_of_this_process()) drop_prefetcher();
  if (!prefetcher_) {
    auto made = std::make_unique<Prefetcher>(*windows_, taken_);
    if (!made->start()) {
      windows_->read(taken_, into);
      return;
    }
    prefetcher_ = std::move(made);
  }
  taken_ = prefetcher_->take(into);
}

Batch Loader::next() {
  Batch batch;
  next(batch);
  return batch;
}

LoaderState Loader::state() const { return taken_; }

void Loader::restore(const LoaderState& state) {
  const int64_t windows = windows_->per_epoch;
  if (state.order != taken_.order || state.length != taken_.length || state.windows_per_epoch != windows) {
    base::fail("loader",
               "the saved state is of {} windows of {} tokens in {} order, this loader has {} of {} in {} order: "
               "continue with the same data and options",
               state.windows_per_epoch, state.length, name(state.order), windows, taken_.length, name(taken_.order));
  }
  if (state.seed != taken_.seed) {
    base::fail("loader", "the saved state is of seed {}, this loader has seed {}: continue with the same options",
               state.seed, taken_.seed);
  }
  if (state.position < 0 || state.position >= windows || state.epoch < 0) {
    base::fail("loader", "the saved state is damaged: position {} of {} windows", state.position, windows);
  }
  drop_prefetcher();
  taken_ = state;
}

int64_t Loader::windows_per_epoch() const { return windows_->per_epoch; }

}  // namespace tenon::data
