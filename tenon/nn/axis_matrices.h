// Axes of images that are replaced by products with matrices: means over uneven parts, resampling.

#pragma once

#include <vector>

#include "tenon/tensor/creation.h"

namespace tenon::nn {

/// x whose last axes are each multiplied by a matrix (new size, old size); an undefined one leaves its axis as it is.
Tensor through_matrices(const Tensor& x, const std::vector<Tensor>& matrices);

/// Row i averages the elements floor(i size / out) ... ceil((i + 1) size / out).
Tensor even_shares(int64_t size, int64_t out, const Options& options);

}  // namespace tenon::nn
