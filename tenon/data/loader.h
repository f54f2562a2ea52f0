// Loader: endless batches of windows of a corpus, with what follows each token as its target.
//
//   data::Loader loader(train, {.batch = 12, .length = 64, .order = data::Order::kShuffled, .seed = 7});
//   data::Batch batch;
//   for (int64_t step = 0; step < steps; ++step) {
//     loader.next(batch);                       // batch.inputs, batch.targets
//   }
//   std::string saved = to_json(loader.state());  // a loader restored from it goes on with the same batches
//
// A thread reads ahead, so that training never waits for pages of the file. The state is what the consumer has taken,
// never what was read ahead; two loaders in the same state give the same batches for ever, with or without the thread.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/data/loader_state.h"
#include "tenon/data/tokens.h"

namespace tenon::data {

struct LoaderOptions {
  int64_t batch = 12;         // rows of a micro-batch
  int64_t length = 64;        // tokens of a row
  int64_t micro_batches = 1;  // that make up one step
  Order order = Order::kRandom;
  uint64_t seed = 1;
  bool prefetch = true;
};

/// micro_batches * batch rows; row r begins at r * length in both lists.
struct Batch {
  int64_t batch = 0, length = 0, micro_batches = 0;
  std::vector<int32_t> inputs, targets;

  int64_t rows() const { return batch * micro_batches; }
};

/// One thread at a time may use a loader.
class Loader {
 public:
  /// Fails with one line where the corpus is shorter than one window.
  Loader(Tokens tokens, const LoaderOptions& options);
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  /// The next rows; the memory of the batch is reused.
  void next(Batch& into);
  Batch next();

  LoaderState state() const;
  /// Goes on where that state was taken; fails with one line where it belongs to another corpus, order or length.
  void restore(const LoaderState& state);

  /// Windows of a shuffled or sequential epoch; for random windows, the offsets there are.
  int64_t windows_per_epoch() const;

 private:
  class Prefetcher;
  struct Windows;
  void drop_prefetcher();
  std::unique_ptr<const Windows> windows_;  // the thread reads it, so it stays where it is when the loader moves
  LoaderState taken_;
  std::unique_ptr<Prefetcher> prefetcher_;  // none before the first batch, or when there shall be none
};

}  // namespace tenon::data
