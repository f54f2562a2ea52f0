// Sums, means and maxima of rows of a table, of several rows at once.

#pragma once

#include <optional>

#include "tenon/tensor/ops.h"

namespace tenon::nn {

enum class BagMode : uint8_t { sum, mean, max };

struct EmbeddingBagOptions {
  Tensor offsets;  // where each bag begins, for an index that is a vector
  BagMode mode = BagMode::mean;
  Tensor per_sample_weights;                // in the shape of the index, for sums
  bool include_last_offset = false;         // the last offset is the size of the index
  std::optional<int64_t> padding_idx = {};  // a row that does not count
};
/// One row for each bag: a row of index (B, L), or what lies between two offsets. Empty bags give 0.
Tensor embedding_bag(const Tensor& weight, const Tensor& index, const EmbeddingBagOptions& options = {});

}  // namespace tenon::nn
