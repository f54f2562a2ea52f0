// Functions that put elements somewhere else, and positions themselves, under PyTorch's names: what is made of the
// functions of ops.h, without a method.

#pragma once

#include <span>

#include "tenon/tensor/operators.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

/// The shape that tensors of these shapes have together.
Dims broadcast_shapes(std::span<const Dims> shapes);
/// The tensors in the shape that they have together; nothing is copied.
std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors);

/// Where the elements on and below a diagonal are: their rows, and their columns; i64 unless the options say i32.
Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset = 0, const Options& options = {});
/// The same of those on and above it.
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset = 0, const Options& options = {});

/// A matrix with the matrices along its diagonal; vectors and numbers are rows.
Tensor block_diag(std::span<const Tensor> tensors);
/// All combinations of the elements of several vectors, a row each.
Tensor cartesian_prod(std::span<const Tensor> tensors);
/// All choices of r elements of a vector, a row each.
Tensor combinations(const Tensor& x, int64_t r = 2, bool with_replacement = false);

/// Turned by k times 90 degrees, from the first dim towards the second.
Tensor rot90(const Tensor& x, int64_t k = 1, const Dims& dims = {0, 1});
/// With so many dims: a vector is a row for 2, and (n,) is (1, n, 1) and (m, n) is (m, n, 1) for 3.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);

/// Parts along a dim, as views: so many of nearly one size, or those that end at these positions.
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, const Dims& ends, int64_t dim = 0);

/// The elements, or the slices along a dim, less those that equal the one before. Computes at once.
Unique unique_consecutive(const Tensor& x, std::optional<int64_t> dim = {});
/// A copy with values at positions, one tensor of them for each dim; accumulate: added to what is there.
Tensor index_put(const Tensor& x, std::span<const Tensor> positions, const Operand& values, bool accumulate = false);
/// Sets the elements whose positions are the same in all dims; wrap: in a tall matrix the diagonal begins again.
Tensor& fill_diagonal_(Tensor& x, const Operand& value, bool wrap = false);

/// Variances, or standard deviations, and means.
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);

}  // namespace tenon
