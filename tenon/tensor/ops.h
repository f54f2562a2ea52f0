// Every op users call, under the names and with the defaults of PyTorch. All of them check shapes, dtypes and devices
// now and run nothing.

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon {

// ---- Elementwise -------------------------------------------------------------------------------------------------

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator%(const Operand& a, const Operand& b);
Tensor operator<(const Operand& a, const Operand& b);
Tensor operator<=(const Operand& a, const Operand& b);
Tensor operator>(const Operand& a, const Operand& b);
Tensor operator>=(const Operand& a, const Operand& b);
Tensor operator==(const Operand& a, const Operand& b);
Tensor operator!=(const Operand& a, const Operand& b);
Tensor operator&(const Operand& a, const Operand& b);
Tensor operator|(const Operand& a, const Operand& b);
Tensor operator^(const Operand& a, const Operand& b);
Tensor operator<<(const Tensor& a, const Operand& b);
Tensor operator>>(const Tensor& a, const Operand& b);

Tensor add(const Operand& a, const Operand& b);
Tensor sub(const Operand& a, const Operand& b);
Tensor add(const Operand& a, const Operand& b, Number alpha);  // a + alpha * b
Tensor sub(const Operand& a, const Operand& b, Number alpha);  // a - alpha * b
Tensor mul(const Operand& a, const Operand& b);
Tensor div(const Operand& a, const Operand& b);           // always real, as Python's /
Tensor floor_divide(const Operand& a, const Operand& b);  // rounds down, as Python's //
Tensor remainder(const Operand& a, const Operand& b);     // sign of the divisor, as Python's %
Tensor fmod(const Operand& a, const Operand& b);          // sign of the dividend, as C's
Tensor pow(const Operand& base, const Operand& exponent);
Tensor maximum(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);
Tensor atan2(const Operand& y, const Operand& x);  // the angle of (x, y), from -pi to pi
Tensor hypot(const Operand& a, const Operand& b);
Tensor logaddexp(const Operand& a, const Operand& b);                                 // log(e^a + e^b)
Tensor copysign(const Operand& size, const Operand& sign);                            // |size| with a sign, -0's too
Tensor heaviside(const Tensor& x, const Tensor& at_0);                                // 0 below 0, 1 above, at_0 at 0
Tensor float_power(const Operand& x, const Operand& exponent);                        // pow() in f64
Tensor lerp(const Tensor& start, const Operand& end, const Operand& weight);          // start + weight * (end - start)
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);  // x + value * a * b
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);  // x + value * a / b
Tensor eq(const Operand& a, const Operand& b);
Tensor ne(const Operand& a, const Operand& b);
Tensor lt(const Operand& a, const Operand& b);
Tensor le(const Operand& a, const Operand& b);
Tensor gt(const Operand& a, const Operand& b);
Tensor ge(const Operand& a, const Operand& b);
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);
Tensor logical_not(const Tensor& x);
Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor bitwise_not(const Tensor& x);

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor erfc(const Tensor& x);  // 1 - erf(x), to its last digits where that is small
/// log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.
Tensor logit(const Tensor& x, std::optional<double> eps = {});
Tensor lgamma(const Tensor& x);   // the logarithm of |gamma(x)|
Tensor digamma(const Tensor& x);  // the derivative of lgamma
Tensor sigmoid(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);  // halves to even
Tensor trunc(const Tensor& x);
Tensor frac(const Tensor& x);     // x - trunc(x)
Tensor signbit(const Tensor& x);  // where elements are negative, -0 among them
Tensor sinc(const Tensor& x);     // sin(pi x) / (pi x), 1 at 0
Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
/// Where |a - b| <= atol + rtol * |b|.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});
Tensor clamp(const Tensor& x, std::optional<Operand> min, std::optional<Operand> max);
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);  // value: a number or a tensor of one

Tensor relu(const Tensor& x);
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
Tensor elu(const Tensor& x, double alpha = 1);
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
Tensor silu(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor hardswish(const Tensor& x);
/// approximate: "none" or "tanh".
Tensor gelu(const Tensor& x, std::string_view approximate = "none");

// ---- Reductions and scans. Dims may be negative; empty dims mean all. ---------------------------------------------

Tensor sum(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
Tensor prod(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
Tensor amax(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
Tensor nansum(const Tensor& x, const Axes& dims = {}, bool keepdim = false);   // NaN counts as 0
Tensor nanmean(const Tensor& x, const Axes& dims = {}, bool keepdim = false);  // NaN does not count
Tensor count_nonzero(const Tensor& x, const Axes& dims = {});
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
/// Values and indices along one dimension; the index is that of the first extreme element.
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor var(const Tensor& x, const Axes& dims = {}, double correction = 1, bool keepdim = false);
Tensor std(const Tensor& x, const Axes& dims = {}, double correction = 1, bool keepdim = false);
Tensor any(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, const Axes& dims = {}, bool keepdim = false);
/// p-norm; p may be infinity.
Tensor norm(const Tensor& x, double p = 2, const Axes& dims = {}, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const Axes& dims, bool keepdim = false);
Tensor softmax(const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim);
Tensor cumsum(const Tensor& x, int64_t dim);
Tensor cumprod(const Tensor& x, int64_t dim);
/// The logarithms of running sums of exp(x).
Tensor logcumsumexp(const Tensor& x, int64_t dim);
/// The p-norm of a - b.
Tensor dist(const Tensor& a, const Tensor& b, double p = 2);
/// How many elements lie in each of so many bins between low and high, or between the least and the largest element
/// where both are 0; in the dtype of x.
Tensor histc(const Tensor& x, int64_t bins = 100, double low = 0, double high = 0);
/// Differences of neighbours, n times over.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1);
/// The middle element, the lower one of two; NaN where there is one.
Tensor median(const Tensor& x);
std::pair<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false);
/// The middle element of those that are not NaN.
Tensor nanmedian(const Tensor& x);
std::pair<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
/// The k-th smallest element (from 1 on) and where it stands.
std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);
/// Below which a share q of the elements lies; a vector of q gives a first dim. Without a dim: of all elements.
/// interpolation: "linear", "lower", "higher", "nearest" or "midpoint".
Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
/// Stable; returns values and indices.
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true);

// ---- Shape --------------------------------------------------------------------------------------------------------

Tensor reshape(const Tensor& x, const Dims& shape);  // one size may be -1
Tensor permute(const Tensor& x, const Dims& dims);
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
Tensor expand(const Tensor& x, const Dims& shape);  // -1 keeps a size
Tensor broadcast_to(const Tensor& x, const Dims& shape);
Tensor flip(const Tensor& x, const Axes& dims);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes);  // one size may be -1
/// Moves dims to other places; the rest keep their order.
Tensor movedim(const Tensor& x, const Axes& from, const Axes& to);
/// Elements (i, i + offset) of the two dims, as a last one. A view where strides express it.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// A matrix's diagonal, or a matrix with this one.
Tensor diag(const Tensor& x, int64_t diagonal = 0);
/// The sum of a matrix's diagonal.
Tensor trace(const Tensor& x);
/// Windows of `size` elements along a dim, `step` apart; the elements of a window are a last dim.
Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);
/// Sizes before and after, last dimension first, as torch.nn.functional.pad; negative ones cut.
Tensor pad(const Tensor& x, const Dims& sizes, Number value = 0.0);
Tensor cat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
Tensor stack(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0);
Tensor hstack(std::span<const Tensor> tensors);  // side by side: along dim 1, vectors along dim 0
Tensor hstack(std::initializer_list<Tensor> tensors);
Tensor vstack(std::span<const Tensor> tensors);  // as rows
Tensor vstack(std::initializer_list<Tensor> tensors);
Tensor column_stack(std::span<const Tensor> tensors);  // side by side: vectors are columns
Tensor column_stack(std::initializer_list<Tensor> tensors);
Tensor dstack(std::span<const Tensor> tensors);  // along dim 2
Tensor dstack(std::initializer_list<Tensor> tensors);
/// Vectors as coordinates of a grid. indexing: "ij", or "xy", where the first varies along dim 1.
std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, std::string_view indexing = "ij");
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors, std::string_view indexing = "ij");
std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
Tensor repeat(const Tensor& x, const Dims& repeats);
/// Each element, or slice along dim, so many times in a row. Repeats given as a tensor are read at once.
Tensor repeat_interleave(const Tensor& x, const Operand& repeats, std::optional<int64_t> dim = {});
Tensor roll(const Tensor& x, int64_t shift, int64_t dim);
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

// ---- Indexing -----------------------------------------------------------------------------------------------------

/// out[i][j] = x[i][index[i][j]] for dim 1, and so on.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// A copy of x with x[index[i][j]][j] += source[i][j] for dim 0, and so on.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// The same with = in place of +=. The last of several sources for one element counts, and it alone gets a gradient.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& source);
/// The same with reduce: "sum", "prod", "mean", "amax" or "amin"; without include_self only sources count.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true);
/// A copy of x whose slices index[i] along dim have alpha * source's slice i added, are replaced by it, are filled.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha = 1);
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value);
/// x laid flat, picked by an index of any shape; negative ones count from the end.
Tensor take(const Tensor& x, const Tensor& index);
/// gather, with x and index broadcast along the other dims.
Tensor take_along_dim(const Tensor& x, const Tensor& index, int64_t dim);
/// A copy of x with the elements of source, in order, where the mask is true.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
/// Where each value would have to be inserted in the last dim of a sorted tensor; `right`: behind equal ones.
Tensor searchsorted(const Tensor& sorted, const Operand& values, bool right = false);
/// Whether each element is one of `elements`.
Tensor isin(const Tensor& x, const Tensor& elements);
Tensor one_hot(const Tensor& index, int64_t classes);
/// A copy of x with one position along a dim, a slice of it, or a diagonal replaced.
Tensor select_scatter(const Tensor& x, const Tensor& source, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& source, int64_t dim = 0, std::optional<int64_t> start = {},
                     std::optional<int64_t> end = {}, int64_t step = 1);
Tensor diagonal_scatter(const Tensor& x, const Tensor& source, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// Positions in a tensor laid flat as one tensor of positions for each dim of a shape.
std::vector<Tensor> unravel_index(const Tensor& index, const Dims& shape);

// The shapes of these depend on values: they compute at once, and fail inside captured functions.

/// The elements where the mask is true, as a vector.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// The positions of all elements that are not 0, one a row.
Tensor nonzero(const Tensor& x);
struct Unique {
  Tensor values;   // sorted
  Tensor inverse;  // in the shape of x: which of the values each element is
  Tensor counts;   // how often each value occurs
};
Unique unique(const Tensor& x);
/// Of the slices along a dim: `values` has the distinct ones, sorted by their first elements, then by the next; the
/// inverse is a vector.
Unique unique(const Tensor& x, int64_t dim);
/// How often each of 0, 1, ... occurs in a vector, or the sum of the weights of those elements.
Tensor bincount(const Tensor& x, const Tensor& weights = Tensor(), int64_t minlength = 0);

// ---- Products -----------------------------------------------------------------------------------------------------

Tensor matmul(const Tensor& a, const Tensor& b);
Tensor mm(const Tensor& a, const Tensor& b);   // of two matrices
Tensor bmm(const Tensor& a, const Tensor& b);  // of two batches of matrices
Tensor mv(const Tensor& a, const Tensor& b);   // of a matrix and a vector
Tensor dot(const Tensor& a, const Tensor& b);
/// beta * x + alpha * (a @ b)
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * outer(a, b)
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// Sums products over the last `dims` dims of a and the first of b, or over the dims given for each.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
/// The p-norm distances between the rows of a (..., P, M) and those of b (..., R, M), as (..., P, R).
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);
Tensor outer(const Tensor& a, const Tensor& b);
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

// ---- Comparison on the host -----------------------------------------------------------------------------------------

/// True when every |a - b| <= atol + rtol * |b|. Reads both.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// True when shapes and all elements are equal. Reads both.
bool equal(const Tensor& a, const Tensor& b);

}  // namespace tenon
