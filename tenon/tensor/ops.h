// Written by scripts/make_functions.py from tenon/tensor/functions.def; do not edit.
//
// Every function users call, under the names and with the defaults of PyTorch. All of them check shapes, dtypes and
// devices now and run nothing.

#pragma once

#include "tenon/tensor/operators.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

// ---- Arithmetic --------------------------------------------------------------------------------------------------

/// x + alpha * other.
Tensor add(const Operand& x, const Operand& other, Number alpha = 1);
/// x - alpha * other.
Tensor sub(const Operand& x, const Operand& other, Number alpha = 1);
/// As sub.
Tensor subtract(const Operand& x, const Operand& other, Number alpha = 1);
/// other - alpha * x.
Tensor rsub(const Operand& x, const Operand& other, Number alpha = 1);
/// x * other.
Tensor mul(const Operand& x, const Operand& other);
/// As mul.
Tensor multiply(const Operand& x, const Operand& other);
/// x / other, always real; with the rounding mode 'floor' or 'trunc' integers stay integers.
Tensor div(const Operand& x, const Operand& other, std::optional<std::string_view> rounding_mode = {});
/// As div.
Tensor divide(const Operand& x, const Operand& other, std::optional<std::string_view> rounding_mode = {});
/// x / other.
Tensor true_divide(const Operand& x, const Operand& other);
/// x // other, rounded down.
Tensor floor_divide(const Operand& x, const Operand& other);
/// x % other, with the sign of other.
Tensor remainder(const Operand& x, const Operand& other);
/// The remainder with the sign of x, as in C.
Tensor fmod(const Operand& x, const Operand& other);
/// The largest integer that divides both.
Tensor gcd(const Tensor& x, const Tensor& other);
/// The smallest integer that both divide.
Tensor lcm(const Tensor& x, const Tensor& other);
/// x ** exponent.
Tensor pow(const Operand& x, const Operand& exponent);
/// x ** exponent in float64.
Tensor float_power(const Operand& x, const Operand& exponent);
/// start + weight * (end - start).
Tensor lerp(const Tensor& start, const Operand& end, const Operand& weight);
/// x + value * a * b.
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// x + value * a / b.
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// The larger of two, element by element.
Tensor maximum(const Operand& x, const Operand& other);
/// The smaller of two, element by element.
Tensor minimum(const Operand& x, const Operand& other);
/// The angle of (other, x), from -pi to pi.
Tensor atan2(const Operand& x, const Operand& other);
/// As atan2.
Tensor arctan2(const Operand& x, const Operand& other);
/// sqrt(x * x + other * other).
Tensor hypot(const Operand& x, const Operand& other);
/// The larger of two elements, or the one that is a number where the other is NaN.
Tensor fmax(const Tensor& x, const Tensor& other);
/// The smaller of two elements, or the one that is a number where the other is NaN.
Tensor fmin(const Tensor& x, const Tensor& other);
/// x * log(other), and 0 where x is 0, whatever the other is but NaN.
Tensor xlogy(const Operand& x, const Operand& other);
/// x * log(1 + other), and 0 where x is 0, whatever the other is but NaN.
Tensor special_xlog1py(const Operand& x, const Operand& other);
/// log(exp(x) + exp(other)).
Tensor logaddexp(const Operand& x, const Operand& other);
/// |x| with the sign of other.
Tensor copysign(const Operand& x, const Operand& other);
/// The number of the dtype that comes after x on the way to other. No gradient passes it.
Tensor nextafter(const Tensor& x, const Tensor& other);
/// 0 below 0, 1 above, and the values at 0.
Tensor heaviside(const Tensor& x, const Tensor& values);
/// Values brought between min and max.
Tensor clamp(const Tensor& x, std::optional<Operand> min = {}, std::optional<Operand> max = {});
/// As clamp.
Tensor clip(const Tensor& x, std::optional<Operand> min = {}, std::optional<Operand> max = {});
/// At least min.
Tensor clamp_min(const Tensor& x, const Operand& min);
/// At most max.
Tensor clamp_max(const Tensor& x, const Operand& max);
/// a where the condition holds, else b.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
/// The value where the mask is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);

// ---- Comparisons, logic and bits ---------------------------------------------------------------------------------

/// Where x == other.
Tensor eq(const Operand& x, const Operand& other);
/// Where x != other.
Tensor ne(const Operand& x, const Operand& other);
/// As ne.
Tensor not_equal(const Operand& x, const Operand& other);
/// Where x < other.
Tensor lt(const Operand& x, const Operand& other);
/// As lt.
Tensor less(const Operand& x, const Operand& other);
/// Where x <= other.
Tensor le(const Operand& x, const Operand& other);
/// As le.
Tensor less_equal(const Operand& x, const Operand& other);
/// Where x > other.
Tensor gt(const Operand& x, const Operand& other);
/// As gt.
Tensor greater(const Operand& x, const Operand& other);
/// Where x >= other.
Tensor ge(const Operand& x, const Operand& other);
/// As ge.
Tensor greater_equal(const Operand& x, const Operand& other);
/// Where both are not 0.
Tensor logical_and(const Operand& x, const Operand& other);
/// Where either is not 0.
Tensor logical_or(const Operand& x, const Operand& other);
/// Where exactly one is not 0.
Tensor logical_xor(const Operand& x, const Operand& other);
/// Where elements are 0.
Tensor logical_not(const Tensor& x);
/// x & other.
Tensor bitwise_and(const Operand& x, const Operand& other);
/// x | other.
Tensor bitwise_or(const Operand& x, const Operand& other);
/// x ^ other.
Tensor bitwise_xor(const Operand& x, const Operand& other);
/// All bits inverted; logical not of bools.
Tensor bitwise_not(const Tensor& x);
/// x << other.
Tensor bitwise_left_shift(const Operand& x, const Operand& other);
/// x >> other.
Tensor bitwise_right_shift(const Operand& x, const Operand& other);
/// Where |x - other| <= atol + rtol * |other|.
Tensor isclose(const Tensor& x, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Where elements are NaN.
Tensor isnan(const Tensor& x);
/// Where elements are infinite.
Tensor isinf(const Tensor& x);
/// Where elements are +infinity.
Tensor isposinf(const Tensor& x);
/// Where elements are -infinity.
Tensor isneginf(const Tensor& x);
/// Where elements are neither infinite nor NaN.
Tensor isfinite(const Tensor& x);
/// Where elements are negative, -0 among them.
Tensor signbit(const Tensor& x);
/// Whether each element is one of the others, or with invert none of them.
Tensor isin(const Tensor& elements, const Operand& test_elements, bool assume_unique = false, bool invert = false);
/// Whether all elements are close. Reads both.
bool allclose(const Tensor& x, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether shapes and all elements are equal. Reads both.
bool equal(const Tensor& x, const Tensor& other);

// ---- Mathematics, element by element -----------------------------------------------------------------------------

/// -x, element by element.
Tensor neg(const Tensor& x);
/// As neg.
Tensor negative(const Tensor& x);
/// The absolute values.
Tensor abs(const Tensor& x);
/// As abs.
Tensor absolute(const Tensor& x);
/// -1, 0 or 1.
Tensor sign(const Tensor& x);
/// As sign.
Tensor sgn(const Tensor& x);
/// Square roots.
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
/// x * x.
Tensor square(const Tensor& x);
/// 1 / x.
Tensor reciprocal(const Tensor& x);
/// e to the power of each element.
Tensor exp(const Tensor& x);
/// 2 to the power of each element.
Tensor exp2(const Tensor& x);
/// exp(x) - 1, exact near 0.
Tensor expm1(const Tensor& x);
/// Natural logarithms.
Tensor log(const Tensor& x);
/// Logarithms to base 2.
Tensor log2(const Tensor& x);
/// Logarithms to base 10.
Tensor log10(const Tensor& x);
/// log(1 + x), exact near 0.
Tensor log1p(const Tensor& x);
/// Sines.
Tensor sin(const Tensor& x);
/// Cosines.
Tensor cos(const Tensor& x);
/// Tangents.
Tensor tan(const Tensor& x);
/// Inverse sines.
Tensor asin(const Tensor& x);
/// As asin.
Tensor arcsin(const Tensor& x);
/// Inverse cosines.
Tensor acos(const Tensor& x);
/// As acos.
Tensor arccos(const Tensor& x);
/// Inverse tangents.
Tensor atan(const Tensor& x);
/// As atan.
Tensor arctan(const Tensor& x);
/// Hyperbolic sines.
Tensor sinh(const Tensor& x);
/// Hyperbolic cosines.
Tensor cosh(const Tensor& x);
/// Hyperbolic tangents.
Tensor tanh(const Tensor& x);
/// Inverse hyperbolic sines.
Tensor asinh(const Tensor& x);
/// As asinh.
Tensor arcsinh(const Tensor& x);
/// Inverse hyperbolic cosines.
Tensor acosh(const Tensor& x);
/// As acosh.
Tensor arccosh(const Tensor& x);
/// Inverse hyperbolic tangents.
Tensor atanh(const Tensor& x);
/// As atanh.
Tensor arctanh(const Tensor& x);
/// The error function.
Tensor erf(const Tensor& x);
/// 1 - erf(x), to its last digits where that is small.
Tensor erfc(const Tensor& x);
/// The number whose erf() is x: infinite at -1 and 1, NaN beyond.
Tensor erfinv(const Tensor& x);
/// The logarithm of |gamma(x)|.
Tensor lgamma(const Tensor& x);
/// The derivative of lgamma.
Tensor digamma(const Tensor& x);
/// The n-th derivative of digamma.
Tensor polygamma(int64_t n, const Tensor& x);
/// The logarithm of the multivariate gamma function of p dims.
Tensor mvlgamma(const Tensor& x, int64_t p);
/// The modified Bessel function of the first kind of order 0.
Tensor i0(const Tensor& x);
/// exp(-|x|) * i0(x).
Tensor special_i0e(const Tensor& x);
/// The modified Bessel function of the first kind of order 1.
Tensor special_i1(const Tensor& x);
/// exp(-|x|) times that of order 1.
Tensor special_i1e(const Tensor& x);
/// exp(x * x) * erfc(x).
Tensor special_erfcx(const Tensor& x);
/// The probability that a normal number is below x.
Tensor special_ndtr(const Tensor& x);
/// The logarithm of the probability that a normal number is below x.
Tensor special_log_ndtr(const Tensor& x);
/// The number that a normal one is below with probability x.
Tensor special_ndtri(const Tensor& x);
/// -x * log(x), 0 at 0 and -inf below.
Tensor special_entr(const Tensor& x);
/// log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.
Tensor logit(const Tensor& x, std::optional<double> eps = {});
/// Rounds down.
Tensor floor(const Tensor& x);
/// Rounds up.
Tensor ceil(const Tensor& x);
/// Rounds to the nearest integer, halves to even.
Tensor round(const Tensor& x);
/// Rounds to so many decimals, or with a negative number to tens, hundreds, ...
Tensor round(const Tensor& x, int64_t decimals);
/// Rounds towards 0.
Tensor trunc(const Tensor& x);
/// As trunc.
Tensor fix(const Tensor& x);
/// x - trunc(x).
Tensor frac(const Tensor& x);
/// sin(pi x) / (pi x), and 1 at 0.
Tensor sinc(const Tensor& x);
/// From degrees to radians.
Tensor deg2rad(const Tensor& x);
/// From radians to degrees.
Tensor rad2deg(const Tensor& x);
/// Numbers in the place of NaN and infinities.
Tensor nan_to_num(const Tensor& x, double nan = 0.0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

// ---- Activations -------------------------------------------------------------------------------------------------

/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
/// max(x, 0).
Tensor relu(const Tensor& x);
/// x, or negative_slope * x below 0.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x, or alpha * (exp(x) - 1) below 0.
Tensor elu(const Tensor& x, double alpha = 1.0);
/// log(1 + exp(beta * x)) / beta.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
/// x * sigmoid(x).
Tensor silu(const Tensor& x);
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);
/// x * relu6(x + 3) / 6.
Tensor hardswish(const Tensor& x);
/// x times the probability that a normal number is below x; approximate: 'none' or 'tanh'.
Tensor gelu(const Tensor& x, std::string_view approximate = "none");
/// min(max(x, 0), 6).
Tensor relu6(const Tensor& x);
/// x between min_val and max_val, which are cut to integers for a tensor of them.
Tensor hardtanh(const Tensor& x, double min_val = -1.0, double max_val = 1.0);
/// relu6(x + 3) / 6.
Tensor hardsigmoid(const Tensor& x);
/// x, or alpha * (exp(x / alpha) - 1) below 0.
Tensor celu(const Tensor& x, double alpha = 1.0);
/// ELU with the two numbers that keep means and variances; Klambauer et al., 2017.
Tensor selu(const Tensor& x);
/// The first half along a dim times the sigmoid of the second.
Tensor glu(const Tensor& x, int64_t dim = -1);
/// log(sigmoid(x)).
Tensor logsigmoid(const Tensor& x);
/// x / (1 + |x|).
Tensor softsign(const Tensor& x);
/// x - tanh(x).
Tensor tanhshrink(const Tensor& x);
/// x, or 0 between -lambd and lambd.
Tensor hardshrink(const Tensor& x, double lambd = 0.5);
/// x moved by lambd towards 0, and 0 between -lambd and lambd.
Tensor softshrink(const Tensor& x, double lambd = 0.5);
/// x above a threshold, else a value.
Tensor threshold(const Tensor& x, double threshold, double value);
/// x, or weight * x below 0: one weight for all, or one for each channel.
Tensor prelu(const Tensor& x, const Tensor& weight);
/// x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits.
Tensor rrelu(const Tensor& x, double lower = 0.125, double upper = 0.3333333333333333, bool training = false,
             Generator* generator = nullptr);
/// softmax(-x).
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// exp(x) / sum(exp(x)) along a dim.
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// log(softmax(x)) along a dim.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

// ---- Reductions and scans. Dims may be negative; no dims mean all. -----------------------------------------------

/// Sums over dims, or over all.
Tensor sum(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Sums in which NaN counts as 0.
Tensor nansum(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Means over dims, or over all.
Tensor mean(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Means in which NaN does not count.
Tensor nanmean(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Products over dims, or over all.
Tensor prod(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// The largest over dims, or over all.
Tensor amax(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// The smallest over dims, or over all.
Tensor amin(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// The largest element of all.
Tensor max(const Tensor& x);
/// The largest elements along a dim and where they are; of equal ones, the first.
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
/// The smallest element of all.
Tensor min(const Tensor& x);
/// The smallest elements along a dim and where they are; of equal ones, the first.
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
/// Where the largest element stands: of all, laid flat, or along a dim.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// Where the smallest element stands.
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// Variances; the sum is divided by n - correction.
Tensor var(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);
/// Standard deviations.
Tensor std(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);
/// Whether any element is not 0.
Tensor any(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// Whether all elements are not 0.
Tensor all(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// How many elements are not 0.
Tensor count_nonzero(const Tensor& x, const Axes& dim = {});
/// p-norms; p may be infinity.
Tensor norm(const Tensor& x, double p = 2, const Axes& dim = {}, bool keepdim = false);
/// The p-norm of a difference.
Tensor dist(const Tensor& x, const Tensor& other, double p = 2.0);
/// log(sum(exp(x))) along dims.
Tensor logsumexp(const Tensor& x, const Axes& dim, bool keepdim = false);
/// Running sums along a dim.
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Running products along a dim.
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// The largest elements up to every place along a dim, and where the last one of each is; NaN is above all.
std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
/// The smallest elements up to every place along a dim, and where the last one of each is; NaN is below all.
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);
/// The logarithms of the sums of exp(x) up to every place along a dim.
Tensor logcumsumexp(const Tensor& x, int64_t dim);
/// Differences of neighbours, n times over, with elements put before and after them first.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = Tensor(),
            const Tensor& append = Tensor());
/// Slopes along dims, by the differences of both neighbours: of points a distance apart, for each dim one of no dims,
/// or at places, a vector; edge_order 1 or 2: how exact the first and the last one are.
std::vector<Tensor> gradient(const Tensor& x, std::span<const Tensor> spacing, const Axes& dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, std::initializer_list<Tensor> spacing, const Axes& dim = {},
                             int64_t edge_order = 1);
/// How many elements lie in each of so many bins between min and max, or between the least and the largest element.
Tensor histc(const Tensor& x, int64_t bins = 100, double min = 0, double max = 0);
/// The area below lines between points at heights y: at places x, or at distances dx, which is 1 unless given.
Tensor trapezoid(const Tensor& y, const Tensor& x = Tensor(), std::optional<double> dx = {}, int64_t dim = -1);
/// As trapezoid.
Tensor trapz(const Tensor& y, const Tensor& x = Tensor(), std::optional<double> dx = {}, int64_t dim = -1);
/// Covariances of rows, whose columns are observations: counted fweights times, of the importance aweights.
Tensor cov(const Tensor& x, int64_t correction = 1, const Tensor& fweights = Tensor(),
           const Tensor& aweights = Tensor());
/// How rows go together, from -1 to 1; their columns are observations.
Tensor corrcoef(const Tensor& x);
/// The middle element of all, the lower one of two; NaN where there is one.
Tensor median(const Tensor& x);
/// The middle elements along a dim and where they are.
std::pair<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false);
/// The middle element of those that are not NaN.
Tensor nanmedian(const Tensor& x);
/// The middle elements along a dim of those that are not NaN, and where they are.
std::pair<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
/// The k-th smallest element along a dim, counted from 1, and where it stands.
std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);
/// The element that occurs most often along a dim, the smallest of several, and where the last one stands.
std::pair<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// Below which a share q of the elements lies; a vector of q gives a first dim. interpolation: 'linear', 'lower',
/// 'higher', 'nearest' or 'midpoint'.
Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
/// As quantile, of the elements that are not NaN.
Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");
/// Values and indices in order; always stable.
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false, bool stable = true);
/// The indices that sort; always stable.
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false, bool stable = true);
/// The k largest elements along a dim, and where they stand; always sorted.
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);

// ---- Shapes. Views share memory wherever strides can express them. -----------------------------------------------

/// The same elements in another shape; one size may be -1.
Tensor reshape(const Tensor& x, const Dims& shape);
/// Joins dims.
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
/// All elements in one dim.
Tensor ravel(const Tensor& x);
/// Splits a dim into several; one size may be -1.
Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes);
/// The dims in another order.
Tensor permute(const Tensor& x, const Dims& dims);
/// Two dims exchanged.
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// As transpose.
Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1);
/// As transpose.
Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1);
/// A matrix with rows and columns exchanged.
Tensor t(const Tensor& x);
/// Moves dims to other places; the rest keep their order.
Tensor movedim(const Tensor& x, const Axes& source, const Axes& destination);
/// As movedim.
Tensor moveaxis(const Tensor& x, const Axes& source, const Axes& destination);
/// Dims of size 1 repeated without memory; -1 keeps a size.
Tensor expand(const Tensor& x, const Dims& shape);
/// Expanded to a shape.
Tensor broadcast_to(const Tensor& x, const Dims& shape);
/// Without dims of size 1.
Tensor squeeze(const Tensor& x);
/// Without this dim, where its size is 1.
Tensor squeeze(const Tensor& x, int64_t dim);
/// Without those of these dims whose size is 1.
Tensor squeeze(const Tensor& x, const Dims& dims);
/// With one more dim of size 1.
Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Elements (i, i + offset) of two dims, as a last one.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// One position along a dim, which disappears.
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// A part along a dim.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// Parts of several sizes along a dim.
std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim = 0);
/// Parts of a size along a dim; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
/// Parts of several sizes along a dim.
std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& split_sizes, int64_t dim = 0);
/// So many parts along a dim.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
/// All positions along a dim.
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
/// Windows of `size` elements along a dim, `step` apart, as a last dim.
Tensor unfold(const Tensor& x, int64_t dimension, int64_t size, int64_t step);
/// Elements of the memory that x lies in, so many steps apart along each dim, from an offset on, which is that of x
/// unless given: a view, or a copy where an element is shown twice.
Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset = {});

// ---- Other arrangements: copies ----------------------------------------------------------------------------------

/// Elements along dims in the other order.
Tensor flip(const Tensor& x, const Axes& dims);
/// Elements along dim 1 in the other order.
Tensor fliplr(const Tensor& x);
/// Elements along dim 0 in the other order.
Tensor flipud(const Tensor& x);
/// Elements moved along a dim, those beyond the end to the beginning.
Tensor roll(const Tensor& x, int64_t shift, int64_t dim);
/// The same along several dims; without dims, of the tensor laid flat.
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims = {});
/// More elements before and after, last dim first; negative sizes cut.
Tensor pad(const Tensor& x, const Dims& pad, Number value = 0.0);
/// Tensors one after the other along a dim.
Tensor cat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// As cat.
Tensor concat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor concat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// As cat.
Tensor concatenate(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor concatenate(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// Tensors along a new dim.
Tensor stack(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// Side by side: along dim 1, vectors along dim 0.
Tensor hstack(std::span<const Tensor> tensors);
Tensor hstack(std::initializer_list<Tensor> tensors);
/// As rows.
Tensor vstack(std::span<const Tensor> tensors);
Tensor vstack(std::initializer_list<Tensor> tensors);
/// As vstack.
Tensor row_stack(std::span<const Tensor> tensors);
Tensor row_stack(std::initializer_list<Tensor> tensors);
/// Side by side; vectors are columns.
Tensor column_stack(std::span<const Tensor> tensors);
Tensor column_stack(std::initializer_list<Tensor> tensors);
/// Along dim 2.
Tensor dstack(std::span<const Tensor> tensors);
Tensor dstack(std::initializer_list<Tensor> tensors);
/// Vectors as coordinates of a grid. indexing: 'ij', or 'xy', where the first varies along dim 1.
std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, std::string_view indexing = "ij");
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors, std::string_view indexing = "ij");
/// The tensor side by side, so often along each dim.
Tensor repeat(const Tensor& x, const Dims& repeats);
/// As repeat; dims that are not named stay as they are.
Tensor tile(const Tensor& x, const Dims& dims);
/// Each element, or slice along dim, so many times in a row. Repeats given as a tensor are read at once.
Tensor repeat_interleave(const Tensor& x, const Operand& repeats, std::optional<int64_t> dim = {});
/// The lower triangle; the rest is 0.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
/// The upper triangle; the rest is 0.
Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// A matrix's diagonal, or a matrix with this one.
Tensor diag(const Tensor& x, int64_t diagonal = 0);
/// Matrices with the elements of the last dim on a diagonal; their rows and columns are dim1 and dim2.
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// The powers of a vector's elements as rows, from N - 1 down to 0, or increasing; N is their number unless given.
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, bool increasing = false);
/// The sum of a matrix's diagonal.
Tensor trace(const Tensor& x);
/// Slices along a dim made smaller where their p-norm is above a number.
Tensor renorm(const Tensor& x, double p, int64_t dim, double maxnorm);
/// The channels of dim 1, which are in groups, in an order in which each group has some of all.
Tensor channel_shuffle(const Tensor& x, int64_t groups);

// ---- Indexing ----------------------------------------------------------------------------------------------------

/// out[i][j] = x[i][index[i][j]] for dim 1, and so on.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// x laid flat, picked by an index of any shape; negative ones count from the end.
Tensor take(const Tensor& x, const Tensor& index);
/// gather, with both broadcast along the other dims; without a dim, of both laid flat.
Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {});
/// Slices along a dim, picked by a vector.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// A copy with alpha * source added to the slices named.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha = 1);
/// A copy with slices replaced.
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// A copy with slices filled.
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value);
/// A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=. The
/// last of several sources for one element counts, and it alone gets a gradient.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& source,
               std::optional<std::string_view> reduce = {});
/// The same with +=.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true);
/// A copy with the slices named joined with those of source, by reduce: 'prod', 'mean', 'amax' or 'amin'; without
/// include_self only sources count.
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self = true);
/// A copy with one position along a dim replaced.
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index);
/// A copy with a slice along a dim replaced.
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim = 0, std::optional<int64_t> start = {},
                     std::optional<int64_t> end = {}, int64_t step = 1);
/// A copy with a diagonal replaced.
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// A copy with the elements of source, in order, where the mask is true.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
/// Positions in a tensor laid flat as one tensor of positions for each dim.
std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape);
/// Where values would have to be inserted in the last dim: before equal ones, or after them with right or side='right'.
/// A sorter is the order of what is not sorted.
Tensor searchsorted(const Tensor& sorted_sequence, const Operand& values, bool out_int32 = false, bool right = false,
                    std::optional<std::string_view> side = {}, const Tensor& sorter = Tensor());
/// Between which of the sorted boundaries elements lie; right: a boundary belongs to what lies above it.
Tensor bucketize(const Operand& x, const Tensor& boundaries, bool out_int32 = false, bool right = false);
/// 1 at each index, else 0; num_classes is one more than the largest index unless given.
Tensor one_hot(const Tensor& index, int64_t num_classes = -1);

// ---- Indexing whose shape depends on values: computes at once, and fails inside captured functions ---------------

/// The elements where the mask is true, as a vector.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// The positions of all elements that are not 0, one a row.
Tensor nonzero(const Tensor& x);
/// The different elements, sorted.
Unique unique(const Tensor& x);
/// The different slices along a dim, sorted by their first elements, then by the next.
Unique unique(const Tensor& x, int64_t dim);
/// How often each of 0, 1, ... occurs in a vector, or the sum of the weights of those elements.
Tensor bincount(const Tensor& x, const Tensor& weights = Tensor(), int64_t minlength = 0);

// ---- Products ----------------------------------------------------------------------------------------------------

/// a @ b.
Tensor matmul(const Tensor& a, const Tensor& b);
/// The product of two matrices.
Tensor mm(const Tensor& a, const Tensor& b);
/// The products of two batches of matrices.
Tensor bmm(const Tensor& a, const Tensor& b);
/// A matrix times a vector.
Tensor mv(const Tensor& a, const Tensor& b);
/// The product of two vectors.
Tensor dot(const Tensor& a, const Tensor& b);
/// As dot.
Tensor vdot(const Tensor& a, const Tensor& b);
/// Sums of products along the last dims; of numbers, their product.
Tensor inner(const Tensor& x, const Tensor& other);
/// Every element of the first times all of the second.
Tensor kron(const Tensor& x, const Tensor& other);
/// The product of vectors of three elements that stands at right angles to both; along the first dim of 3 unless one is
/// given.
Tensor cross(const Tensor& x, const Tensor& other, std::optional<int64_t> dim = {});
/// All products of elements of two vectors.
Tensor outer(const Tensor& a, const Tensor& b);
/// beta * x + alpha * (a @ b).
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * (a @ b), of a matrix and a vector.
Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out.
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * outer(a, b).
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// Sums products over the last dims of a and the first of b.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims = 2);
/// Sums products over the dims given for each.
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
/// The p-norm distances between the rows of a (..., P, M) and those of b (..., R, M), as (..., P, R).
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2.0);
/// The p-norm distances between all pairs of rows of a matrix.
Tensor pdist(const Tensor& x, double p = 2.0);
/// Sums of products, by letters: einsum('ij,jk->ik', a, b).
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

// ---- Random numbers. Without a generator the default one draws; no gradient goes through a draw. -----------------

/// 1 with the probability given by each element, else 0. One beyond 0..1 is refused, outside of captured functions.
Tensor bernoulli(const Tensor& probabilities, Generator* generator = nullptr);
/// Indices drawn with the weights of the last dim, which need no particular sum. Weights that are negative or not
/// finite, or sum to 0, are refused, outside of captured functions.
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement = false,
                   Generator* generator = nullptr);
/// Normally distributed numbers of given means and deviations, one of them a tensor at least.
Tensor normal(const Operand& mean, const Operand& std = 1.0, Generator* generator = nullptr);

}  // namespace tenon
