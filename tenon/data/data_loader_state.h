// Where a DataLoader stands, as plain data that goes into a checkpoint.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::data {

/// The batches a consumer has taken. The last four fields say of what, so that a state of other data is refused.
///   data::DataLoader loader(dataset, {.batch_size = 4});
///   loader.next();
///   loader.state().batch;  // 1
struct DataLoaderState {
  uint64_t seed = 0;              // of the order
  int64_t epoch = 0;              // that the next batch belongs to
  int64_t batch = 0;              // batches taken of this epoch
  int64_t batches_per_epoch = 0;  // of the loader
  int64_t samples = 0;            // of the dataset
  int64_t batch_size = 0;         // of the loader
  bool shuffle = false;           // whether the order is another one each epoch

  bool operator==(const DataLoaderState&) const = default;
};

/// A state as text, which the function below reads.
///   data::DataLoader loader(dataset, {.batch_size = 4});
///   const std::string saved = to_json(loader.state());
std::string to_json(const DataLoaderState& state);
/// Fails with one line that starts with `[data_loader]` where the text is no state.
///   data::DataLoader loader(dataset, {.batch_size = 4});
///   loader.restore(data::data_loader_state_from_json(to_json(loader.state())));
DataLoaderState data_loader_state_from_json(std::string_view text);

}  // namespace tenon::data
