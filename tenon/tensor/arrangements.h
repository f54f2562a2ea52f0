// Functions that put elements somewhere else, and positions themselves, under PyTorch's names: what is made of the
// functions of ops.h, without a method.

#pragma once

#include <span>

#include "tenon/tensor/operators.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

/// The shape that tensors of these shapes have together.
///   const std::vector<Dims> shapes = {{2, 1}, {3}};
///   broadcast_shapes(shapes);  // (2, 3)
Dims broadcast_shapes(std::span<const Dims> shapes);
/// The tensors in the shape that they have together; nothing is copied.
///   broadcast_tensors(std::vector{tensor({1, 2}), tensor({{3}, {4}})})[0];  // [[1 2] [1 2]]
std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors);

/// Where the elements on and below a diagonal are: their rows, and their columns; i64 unless the options say i32.
///   tril_indices(2, 2);  // [[0 1 1] [0 0 1]]
Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset = 0, const Options& options = {});
/// The same of those on and above it.
///   triu_indices(2, 2);  // [[0 0 1] [0 1 1]]
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset = 0, const Options& options = {});

/// A matrix with the matrices along its diagonal; vectors and numbers are rows.
///   block_diag(std::vector{tensor({{1, 2}}), tensor({{3}})});  // [[1 2 0] [0 0 3]]
Tensor block_diag(std::span<const Tensor> tensors);
/// All combinations of the elements of several vectors, a row each.
///   cartesian_prod(std::vector{tensor({1, 2}), tensor({3})});  // [[1 3] [2 3]]
Tensor cartesian_prod(std::span<const Tensor> tensors);
/// All choices of r elements of a vector, a row each.
///   combinations(tensor({1, 2, 3}));  // [[1 2] [1 3] [2 3]]
Tensor combinations(const Tensor& x, int64_t r = 2, bool with_replacement = false);

/// Turned by k times 90 degrees, from the first dim towards the second.
///   rot90(tensor({{1, 2}, {3, 4}}));  // [[2 4] [1 3]]
Tensor rot90(const Tensor& x, int64_t k = 1, const Dims& dims = {0, 1});
/// With so many dims: a vector is a row for 2, and (n,) is (1, n, 1) and (m, n) is (m, n, 1) for 3.
///   atleast_2d(tensor({1, 2})).shape();  // (1, 2)
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);

/// Parts along a dim, as views: so many of nearly one size, or those that end at these positions.
///   tensor_split(arange(5), 2)[0];  // [0 1 2]
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, const Dims& ends, int64_t dim = 0);

/// The elements, or the slices along a dim, less those that equal the one before. Computes at once.
///   unique_consecutive(tensor({1, 1, 2, 1})).values;  // [1 2 1]
Unique unique_consecutive(const Tensor& x, std::optional<int64_t> dim = {});
/// A copy with values at positions, one tensor of them for each dim; accumulate: added to what is there.
///   index_put(zeros({3}), std::vector{tensor({0, 2})}, 5);  // [5. 0. 5.]
Tensor index_put(const Tensor& x, std::span<const Tensor> positions, const Operand& values, bool accumulate = false);
/// Sets the elements whose positions are the same in all dims; wrap: in a tall matrix the diagonal begins again.
///   Tensor y = zeros({2, 2});
///   fill_diagonal_(y, 1);  // [[1. 0.] [0. 1.]]
Tensor& fill_diagonal_(Tensor& x, const Operand& value, bool wrap = false);

/// Variances, or standard deviations, and means.
///   var_mean(tensor({1.0, 2.0, 3.0})).second;  // 2.0
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);

}  // namespace tenon
