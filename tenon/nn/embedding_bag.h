// Sums, means and maxima of rows of a table, of several rows at once.

#pragma once

#include <optional>

#include "tenon/tensor/ops.h"

namespace tenon::nn {

/// What the rows of a bag become.
enum class BagMode : uint8_t { sum, mean, max };

/// Where bags begin, and what they become.
struct EmbeddingBagOptions {
  Tensor offsets;                           // where each bag begins, for an index that is a vector
  BagMode mode = BagMode::mean;             // sums, means or maxima
  Tensor per_sample_weights;                // in the shape of the index, for sums
  bool include_last_offset = false;         // the last offset is the size of the index
  std::optional<int64_t> padding_idx = {};  // a row that does not count
};
/// One row for each bag: a row of index (B, L), or what lies between two offsets. Empty bags give 0.
///   nn::embedding_bag(tensor({{1.0, 2.0}, {3.0, 4.0}}), tensor({{0, 1}}));  // [[2. 3.]]
Tensor embedding_bag(const Tensor& weight, const Tensor& index, const EmbeddingBagOptions& options = {});

}  // namespace tenon::nn
