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

/// What batches of windows are made of.
struct LoaderOptions {
  int64_t batch = 12;            // rows of a micro-batch
  int64_t length = 64;           // tokens of a row
  int64_t micro_batches = 1;     // that make up one step
  Order order = Order::kRandom;  // in which windows come
  uint64_t seed = 1;             // of the order
  bool prefetch = true;          // whether a thread reads ahead
};

/// micro_batches * batch rows; row r begins at r * length in both lists.
///   data::Loader loader(data::Tokens(std::vector<int32_t>(100)), {.batch = 2, .length = 8});
///   loader.next().inputs.size();  // 16
struct Batch {
  int64_t batch = 0, length = 0, micro_batches = 0;  // rows of a micro-batch, tokens of a row, micro-batches
  std::vector<int32_t> inputs, targets;              // the tokens, and those that follow them

  /// Rows in all.
  int64_t rows() const { return batch * micro_batches; }
};

/// One thread at a time may use a loader.
///   data::Loader loader(data::Tokens(std::vector<int32_t>(100)), {.batch = 2, .length = 8});
///   data::Batch batch = loader.next();
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

  /// Where it stands, for restore().
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
