// Where a DataLoader stands, as plain data that goes into a checkpoint.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::data {

/// The batches a consumer has taken. The last four fields say of what, so that a state of other data is refused.
struct DataLoaderState {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t batch = 0;  // batches taken of this epoch
  int64_t batches_per_epoch = 0;
  int64_t samples = 0;
  int64_t batch_size = 0;
  bool shuffle = false;

  bool operator==(const DataLoaderState&) const = default;
};

std::string to_json(const DataLoaderState& state);
/// Fails with one line that starts with `[data_loader]` where the text is no state.
DataLoaderState data_loader_state_from_json(std::string_view text);

}  // namespace tenon::data
