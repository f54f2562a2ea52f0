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
///   add(tensor({1, 2}), 10, 2);  // [21 22]
Tensor add(const Operand& x, const Operand& other, Number alpha = 1);
/// x - alpha * other.
///   sub(tensor({5, 7}), tensor({1, 2}));  // [4 5]
Tensor sub(const Operand& x, const Operand& other, Number alpha = 1);
/// As sub.
///   subtract(tensor({5, 7}), tensor({1, 2}));  // [4 5]
Tensor subtract(const Operand& x, const Operand& other, Number alpha = 1);
/// other - alpha * x.
///   rsub(tensor({1, 2}), 10);  // [9 8]
Tensor rsub(const Operand& x, const Operand& other, Number alpha = 1);
/// x * other.
///   mul(tensor({1, 2}), tensor({3, 4}));  // [3 8]
Tensor mul(const Operand& x, const Operand& other);
/// As mul.
///   multiply(tensor({1, 2}), tensor({3, 4}));  // [3 8]
Tensor multiply(const Operand& x, const Operand& other);
/// x / other, always real; with the rounding mode 'floor' or 'trunc' integers stay integers.
///   div(tensor({7, -7}), 2, "floor");  // [3 -4]
Tensor div(const Operand& x, const Operand& other, std::optional<std::string_view> rounding_mode = {});
/// As div.
///   divide(tensor({7, -7}), 2, "floor");  // [3 -4]
Tensor divide(const Operand& x, const Operand& other, std::optional<std::string_view> rounding_mode = {});
/// x / other.
///   true_divide(tensor({1, 2}), 2);  // [0.5 1.]
Tensor true_divide(const Operand& x, const Operand& other);
/// x // other, rounded down.
///   floor_divide(tensor({7, -7}), 2);  // [3 -4]
Tensor floor_divide(const Operand& x, const Operand& other);
/// x % other, with the sign of other.
///   remainder(tensor({7, -7}), 3);  // [1 2]
Tensor remainder(const Operand& x, const Operand& other);
/// The remainder with the sign of x, as in C.
///   fmod(tensor({7, -7}), 3);  // [1 -1]
Tensor fmod(const Operand& x, const Operand& other);
/// The largest integer that divides both.
///   gcd(tensor({12, 7}), tensor({18, 21}));  // [6 7]
Tensor gcd(const Tensor& x, const Tensor& other);
/// The smallest integer that both divide.
///   lcm(tensor({4, 3}), tensor({6, 5}));  // [12 15]
Tensor lcm(const Tensor& x, const Tensor& other);
/// x ** exponent.
///   pow(tensor({2, 3}), 2);  // [4 9]
Tensor pow(const Operand& x, const Operand& exponent);
/// x ** exponent in float64.
///   float_power(tensor({2, 3}), -1);  // [0.5 0.3333]
Tensor float_power(const Operand& x, const Operand& exponent);
/// start + weight * (end - start).
///   lerp(tensor({0.0, 10.0}), tensor({1.0, 20.0}), 0.5);  // [0.5 15.]
Tensor lerp(const Tensor& start, const Operand& end, const Operand& weight);
/// x + value * a * b.
///   addcmul(tensor({1.0, 1.0}), tensor({2.0, 3.0}), tensor({4.0, 5.0}), 0.5);  // [5. 8.5]
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// x + value * a / b.
///   addcdiv(tensor({1.0, 1.0}), tensor({2.0, 3.0}), tensor({4.0, 6.0}));  // [1.5 1.5]
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// The larger of two, element by element.
///   maximum(tensor({1, 5}), tensor({3, 2}));  // [3 5]
Tensor maximum(const Operand& x, const Operand& other);
/// The smaller of two, element by element.
///   minimum(tensor({1, 5}), tensor({3, 2}));  // [1 2]
Tensor minimum(const Operand& x, const Operand& other);
/// The angle of (other, x), from -pi to pi.
///   atan2(tensor({1.0, 0.0}), tensor({0.0, -1.0}));  // [1.571 3.142]
Tensor atan2(const Operand& x, const Operand& other);
/// As atan2.
///   arctan2(tensor({1.0, 0.0}), tensor({0.0, -1.0}));  // [1.571 3.142]
Tensor arctan2(const Operand& x, const Operand& other);
/// sqrt(x * x + other * other).
///   hypot(tensor({3.0, 5.0}), tensor({4.0, 12.0}));  // [5. 13.]
Tensor hypot(const Operand& x, const Operand& other);
/// The larger of two elements, or the one that is a number where the other is NaN.
///   fmax(tensor({1.0, NAN}), tensor({0.0, 2.0}));  // [1. 2.]
Tensor fmax(const Tensor& x, const Tensor& other);
/// The smaller of two elements, or the one that is a number where the other is NaN.
///   fmin(tensor({1.0, NAN}), tensor({0.0, 2.0}));  // [0. 2.]
Tensor fmin(const Tensor& x, const Tensor& other);
/// x * log(other), and 0 where x is 0, whatever the other is but NaN.
///   xlogy(tensor({0.0, 2.0}), tensor({0.0, 1.0}));  // [0. 0.]
Tensor xlogy(const Operand& x, const Operand& other);
/// x * log(1 + other), and 0 where x is 0, whatever the other is but NaN.
///   special_xlog1py(tensor({0.0, 2.0}), tensor({5.0, 0.0}));  // [0. 0.]
Tensor special_xlog1py(const Operand& x, const Operand& other);
/// log(exp(x) + exp(other)).
///   logaddexp(tensor({0.0, 1.0}), tensor({0.0, 1.0}));  // [0.6931 1.693]
Tensor logaddexp(const Operand& x, const Operand& other);
/// log2(2 ** x + 2 ** other).
///   logaddexp2(tensor({0.0, 1.0}), tensor({0.0, 1.0}));  // [1. 2.]
Tensor logaddexp2(const Operand& x, const Operand& other);
/// |x| with the sign of other.
///   copysign(tensor({1.0, 2.0}), tensor({-3.0, 3.0}));  // [-1. 2.]
Tensor copysign(const Operand& x, const Operand& other);
/// The number of the dtype that comes after x on the way to other. Its gradient is that of x, 0 where both are equal.
///   nextafter(tensor({1.0}), tensor({1.0}));  // [1.]
Tensor nextafter(const Tensor& x, const Tensor& other);
/// 0 below 0, 1 above, and the values at 0.
///   heaviside(tensor({-1.0, 0.0, 2.0}), tensor({0.5}));  // [0. 0.5 1.]
Tensor heaviside(const Tensor& x, const Tensor& values);
/// Values brought between min and max.
///   clamp(tensor({-2, 0, 5}), -1, 1);  // [-1 0 1]
Tensor clamp(const Tensor& x, std::optional<Operand> min = {}, std::optional<Operand> max = {});
/// As clamp.
///   clip(tensor({-2, 0, 5}), -1, 1);  // [-1 0 1]
Tensor clip(const Tensor& x, std::optional<Operand> min = {}, std::optional<Operand> max = {});
/// At least min.
///   clamp_min(tensor({-2, 0, 5}), 0);  // [0 0 5]
Tensor clamp_min(const Tensor& x, const Operand& min);
/// At most max.
///   clamp_max(tensor({-2, 0, 5}), 3);  // [-2 0 3]
Tensor clamp_max(const Tensor& x, const Operand& max);
/// a where the condition holds, else b.
///   where(tensor({true, false}), tensor({1, 2}), 0);  // [1 0]
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
/// The value where the mask is true.
///   masked_fill(tensor({1, 2, 3}), tensor({true, false, true}), 0);  // [0 2 0]
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);

// ---- Comparisons, logic and bits ---------------------------------------------------------------------------------

/// Where x == other.
///   eq(tensor({1, 2}), 2);  // [False True]
Tensor eq(const Operand& x, const Operand& other);
/// Where x != other.
///   ne(tensor({1, 2}), 2);  // [True False]
Tensor ne(const Operand& x, const Operand& other);
/// As ne.
///   not_equal(tensor({1, 2}), 2);  // [True False]
Tensor not_equal(const Operand& x, const Operand& other);
/// Where x < other.
///   lt(tensor({1, 2}), 2);  // [True False]
Tensor lt(const Operand& x, const Operand& other);
/// As lt.
///   less(tensor({1, 2}), 2);  // [True False]
Tensor less(const Operand& x, const Operand& other);
/// Where x <= other.
///   le(tensor({1, 2}), 1);  // [True False]
Tensor le(const Operand& x, const Operand& other);
/// As le.
///   less_equal(tensor({1, 2}), 1);  // [True False]
Tensor less_equal(const Operand& x, const Operand& other);
/// Where x > other.
///   gt(tensor({1, 2}), 1);  // [False True]
Tensor gt(const Operand& x, const Operand& other);
/// As gt.
///   greater(tensor({1, 2}), 1);  // [False True]
Tensor greater(const Operand& x, const Operand& other);
/// Where x >= other.
///   ge(tensor({1, 2}), 2);  // [False True]
Tensor ge(const Operand& x, const Operand& other);
/// As ge.
///   greater_equal(tensor({1, 2}), 2);  // [False True]
Tensor greater_equal(const Operand& x, const Operand& other);
/// Where both are not 0.
///   logical_and(tensor({1, 1, 0}), tensor({1, 0, 0}));  // [True False False]
Tensor logical_and(const Operand& x, const Operand& other);
/// Where either is not 0.
///   logical_or(tensor({1, 1, 0}), tensor({1, 0, 0}));  // [True True False]
Tensor logical_or(const Operand& x, const Operand& other);
/// Where exactly one is not 0.
///   logical_xor(tensor({1, 1, 0}), tensor({1, 0, 0}));  // [False True False]
Tensor logical_xor(const Operand& x, const Operand& other);
/// Where elements are 0.
///   logical_not(tensor({1, 0}));  // [False True]
Tensor logical_not(const Tensor& x);
/// x & other.
///   bitwise_and(tensor({6, 5}), 3);  // [2 1]
Tensor bitwise_and(const Operand& x, const Operand& other);
/// x | other.
///   bitwise_or(tensor({6, 5}), 3);  // [7 7]
Tensor bitwise_or(const Operand& x, const Operand& other);
/// x ^ other.
///   bitwise_xor(tensor({6, 5}), 3);  // [5 6]
Tensor bitwise_xor(const Operand& x, const Operand& other);
/// All bits inverted; logical not of bools.
///   bitwise_not(tensor({0, 5}));  // [-1 -6]
Tensor bitwise_not(const Tensor& x);
/// x << other.
///   bitwise_left_shift(tensor({1, 3}), 2);  // [4 12]
Tensor bitwise_left_shift(const Operand& x, const Operand& other);
/// x >> other.
///   bitwise_right_shift(tensor({8, 12}), 2);  // [2 3]
Tensor bitwise_right_shift(const Operand& x, const Operand& other);
/// Where |x - other| <= atol + rtol * |other|.
///   isclose(tensor({1.0, 2.0}), tensor({1.000001, 2.1}));  // [True False]
Tensor isclose(const Tensor& x, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Where elements are NaN.
///   isnan(tensor({1.0, NAN}));  // [False True]
Tensor isnan(const Tensor& x);
/// Where elements are infinite.
///   isinf(tensor({1.0, INFINITY}));  // [False True]
Tensor isinf(const Tensor& x);
/// Where elements are +infinity.
///   isposinf(tensor({1.0, -INFINITY, INFINITY}));  // [False False True]
Tensor isposinf(const Tensor& x);
/// Where elements are -infinity.
///   isneginf(tensor({1.0, -INFINITY, INFINITY}));  // [False True False]
Tensor isneginf(const Tensor& x);
/// Where elements are neither infinite nor NaN.
///   isfinite(tensor({1.0, INFINITY}));  // [True False]
Tensor isfinite(const Tensor& x);
/// Where elements are negative, -0 among them.
///   signbit(tensor({-1.0, 2.0}));  // [True False]
Tensor signbit(const Tensor& x);
/// Whether each element is one of the others, or with invert none of them.
///   isin(tensor({1, 2, 3}), tensor({2, 3}));  // [False True True]
Tensor isin(const Tensor& elements, const Operand& test_elements, bool assume_unique = false, bool invert = false);
/// Whether all elements are close. Reads both.
///   allclose(tensor({1.0, 2.0}), tensor({1.0, 2.000001}));  // true
bool allclose(const Tensor& x, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether shapes and all elements are equal. Reads both.
///   equal(tensor({1, 2}), tensor({1, 3}));  // false
bool equal(const Tensor& x, const Tensor& other);

// ---- Mathematics, element by element -----------------------------------------------------------------------------

/// -x, element by element.
///   neg(tensor({1, -2}));  // [-1 2]
Tensor neg(const Tensor& x);
/// As neg.
///   negative(tensor({1, -2}));  // [-1 2]
Tensor negative(const Tensor& x);
/// The absolute values.
///   abs(tensor({1, -2}));  // [1 2]
Tensor abs(const Tensor& x);
/// As abs.
///   absolute(tensor({1, -2}));  // [1 2]
Tensor absolute(const Tensor& x);
/// -1, 0 or 1.
///   sign(tensor({-3, 0, 2}));  // [-1 0 1]
Tensor sign(const Tensor& x);
/// As sign.
///   sgn(tensor({-3, 0, 2}));  // [-1 0 1]
Tensor sgn(const Tensor& x);
/// Square roots.
///   sqrt(tensor({4.0, 9.0}));  // [2. 3.]
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
///   rsqrt(tensor({4.0, 16.0}));  // [0.5 0.25]
Tensor rsqrt(const Tensor& x);
/// x * x.
///   square(tensor({2, -3}));  // [4 9]
Tensor square(const Tensor& x);
/// 1 / x.
///   reciprocal(tensor({2.0, 4.0}));  // [0.5 0.25]
Tensor reciprocal(const Tensor& x);
/// e to the power of each element.
///   exp(tensor({0.0, 1.0}));  // [1. 2.718]
Tensor exp(const Tensor& x);
/// 2 to the power of each element.
///   exp2(tensor({0.0, 3.0}));  // [1. 8.]
Tensor exp2(const Tensor& x);
/// exp(x) - 1, exact near 0.
///   expm1(tensor({0.0, 1.0}));  // [0. 1.718]
Tensor expm1(const Tensor& x);
/// Natural logarithms.
///   log(tensor({1.0, 2.0}));  // [0. 0.6931]
Tensor log(const Tensor& x);
/// Logarithms to base 2.
///   log2(tensor({1.0, 8.0}));  // [0. 3.]
Tensor log2(const Tensor& x);
/// Logarithms to base 10.
///   log10(tensor({1.0, 100.0}));  // [0. 2.]
Tensor log10(const Tensor& x);
/// log(1 + x), exact near 0.
///   log1p(tensor({0.0, 1.0}));  // [0. 0.6931]
Tensor log1p(const Tensor& x);
/// Sines.
///   sin(tensor({0.0, 1.0}));  // [0. 0.8415]
Tensor sin(const Tensor& x);
/// Cosines.
///   cos(tensor({0.0, 1.0}));  // [1. 0.5403]
Tensor cos(const Tensor& x);
/// Tangents.
///   tan(tensor({0.0, 1.0}));  // [0. 1.557]
Tensor tan(const Tensor& x);
/// Inverse sines.
///   asin(tensor({0.0, 1.0}));  // [0. 1.571]
Tensor asin(const Tensor& x);
/// As asin.
///   arcsin(tensor({0.0, 1.0}));  // [0. 1.571]
Tensor arcsin(const Tensor& x);
/// Inverse cosines.
///   acos(tensor({0.0, 1.0}));  // [1.571 0.]
Tensor acos(const Tensor& x);
/// As acos.
///   arccos(tensor({0.0, 1.0}));  // [1.571 0.]
Tensor arccos(const Tensor& x);
/// Inverse tangents.
///   atan(tensor({0.0, 1.0}));  // [0. 0.7854]
Tensor atan(const Tensor& x);
/// As atan.
///   arctan(tensor({0.0, 1.0}));  // [0. 0.7854]
Tensor arctan(const Tensor& x);
/// Hyperbolic sines.
///   sinh(tensor({0.0, 1.0}));  // [0. 1.175]
Tensor sinh(const Tensor& x);
/// Hyperbolic cosines.
///   cosh(tensor({0.0, 1.0}));  // [1. 1.543]
Tensor cosh(const Tensor& x);
/// Hyperbolic tangents.
///   tanh(tensor({0.0, 1.0}));  // [0. 0.7616]
Tensor tanh(const Tensor& x);
/// Inverse hyperbolic sines.
///   asinh(tensor({0.0, 1.0}));  // [0. 0.8814]
Tensor asinh(const Tensor& x);
/// As asinh.
///   arcsinh(tensor({0.0, 1.0}));  // [0. 0.8814]
Tensor arcsinh(const Tensor& x);
/// Inverse hyperbolic cosines.
///   acosh(tensor({1.0, 2.0}));  // [0. 1.317]
Tensor acosh(const Tensor& x);
/// As acosh.
///   arccosh(tensor({1.0, 2.0}));  // [0. 1.317]
Tensor arccosh(const Tensor& x);
/// Inverse hyperbolic tangents.
///   atanh(tensor({0.0, 0.5}));  // [0. 0.5493]
Tensor atanh(const Tensor& x);
/// As atanh.
///   arctanh(tensor({0.0, 0.5}));  // [0. 0.5493]
Tensor arctanh(const Tensor& x);
/// The error function.
///   erf(tensor({0.0, 1.0}));  // [0. 0.8427]
Tensor erf(const Tensor& x);
/// 1 - erf(x), to its last digits where that is small.
///   erfc(tensor({0.0, 1.0}));  // [1. 0.1573]
Tensor erfc(const Tensor& x);
/// The number whose erf() is x: infinite at -1 and 1, NaN beyond.
///   erfinv(tensor({0.0, 0.5}));  // [0. 0.4769]
Tensor erfinv(const Tensor& x);
/// The logarithm of |gamma(x)|.
///   lgamma(tensor({1.0, 5.0}));  // [0. 3.178]
Tensor lgamma(const Tensor& x);
/// The derivative of lgamma.
///   digamma(tensor({1.0, 2.0}));  // [-0.5772 0.4228]
Tensor digamma(const Tensor& x);
/// The n-th derivative of digamma.
///   polygamma(1, tensor({1.0, 2.0}));  // [1.645 0.6449]
Tensor polygamma(int64_t n, const Tensor& x);
/// The logarithm of the multivariate gamma function of p dims.
///   mvlgamma(tensor({2.0, 3.0}), 2);  // [0.4516 1.55]
Tensor mvlgamma(const Tensor& x, int64_t p);
/// The modified Bessel function of the first kind of order 0.
///   i0(tensor({0.0, 1.0}));  // [1. 1.266]
Tensor i0(const Tensor& x);
/// exp(-|x|) * i0(x).
///   special_i0e(tensor({0.0, 1.0}));  // [1. 0.4658]
Tensor special_i0e(const Tensor& x);
/// The modified Bessel function of the first kind of order 1.
///   special_i1(tensor({0.0, 1.0}));  // [0. 0.5652]
Tensor special_i1(const Tensor& x);
/// exp(-|x|) times that of order 1.
///   special_i1e(tensor({0.0, 1.0}));  // [0. 0.2079]
Tensor special_i1e(const Tensor& x);
/// exp(x * x) * erfc(x).
///   special_erfcx(tensor({0.0, 1.0}));  // [1. 0.4276]
Tensor special_erfcx(const Tensor& x);
/// The probability that a normal number is below x.
///   special_ndtr(tensor({0.0, 1.0}));  // [0.5 0.8413]
Tensor special_ndtr(const Tensor& x);
/// The logarithm of the probability that a normal number is below x.
///   special_log_ndtr(tensor({0.0, 1.0}));  // [-0.6931 -0.1728]
Tensor special_log_ndtr(const Tensor& x);
/// The number that a normal one is below with probability x.
///   special_ndtri(tensor({0.5, 0.9}));  // [0. 1.282]
Tensor special_ndtri(const Tensor& x);
/// -x * log(x), 0 at 0 and -inf below.
///   special_entr(tensor({0.5, 1.0}));  // [0.3466 -0.]
Tensor special_entr(const Tensor& x);
/// log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.
///   logit(tensor({0.5, 0.9}));  // [0. 2.197]
Tensor logit(const Tensor& x, std::optional<double> eps = {});
/// Rounds down.
///   floor(tensor({1.7, -1.2}));  // [1. -2.]
Tensor floor(const Tensor& x);
/// Rounds up.
///   ceil(tensor({1.2, -1.7}));  // [2. -1.]
Tensor ceil(const Tensor& x);
/// Rounds to the nearest integer, halves to even.
///   round(tensor({0.5, 1.5, 2.4}));  // [0. 2. 2.]
Tensor round(const Tensor& x);
/// Rounds to so many decimals, or with a negative number to tens, hundreds, ...
///   round(tensor({1.234, 5.678}), 1);  // [1.2 5.7]
Tensor round(const Tensor& x, int64_t decimals);
/// Rounds towards 0.
///   trunc(tensor({1.7, -1.7}));  // [1. -1.]
Tensor trunc(const Tensor& x);
/// As trunc.
///   fix(tensor({1.7, -1.7}));  // [1. -1.]
Tensor fix(const Tensor& x);
/// x - trunc(x).
///   frac(tensor({1.5, -1.5}));  // [0.5 -0.5]
Tensor frac(const Tensor& x);
/// sin(pi x) / (pi x), and 1 at 0.
///   sinc(tensor({0.0, 0.5}));  // [1. 0.6366]
Tensor sinc(const Tensor& x);
/// From degrees to radians.
///   deg2rad(tensor({0.0, 180.0}));  // [0. 3.142]
Tensor deg2rad(const Tensor& x);
/// From radians to degrees.
///   rad2deg(tensor({0.0, 3.14159265}));  // [0. 180.]
Tensor rad2deg(const Tensor& x);
/// Numbers in the place of NaN and infinities.
///   nan_to_num(tensor({NAN, 1.0}), 7);  // [7. 1.]
Tensor nan_to_num(const Tensor& x, double nan = 0.0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

// ---- Activations -------------------------------------------------------------------------------------------------

/// 1 / (1 + exp(-x)).
///   sigmoid(tensor({0.0, 2.0}));  // [0.5 0.8808]
Tensor sigmoid(const Tensor& x);
/// max(x, 0).
///   relu(tensor({-1.0, 2.0}));  // [0. 2.]
Tensor relu(const Tensor& x);
/// x, or negative_slope * x below 0.
///   leaky_relu(tensor({-1.0, 2.0}), 0.1);  // [-0.1 2.]
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x, or alpha * (exp(x) - 1) below 0.
///   elu(tensor({-1.0, 2.0}));  // [-0.6321 2.]
Tensor elu(const Tensor& x, double alpha = 1.0);
/// log(1 + exp(beta * x)) / beta.
///   softplus(tensor({0.0, 30.0}));  // [0.6931 30.]
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
/// x * sigmoid(x).
///   silu(tensor({-1.0, 2.0}));  // [-0.2689 1.762]
Tensor silu(const Tensor& x);
/// x * tanh(softplus(x)).
///   mish(tensor({-1.0, 2.0}));  // [-0.3034 1.944]
Tensor mish(const Tensor& x);
/// x * relu6(x + 3) / 6.
///   hardswish(tensor({-4.0, 1.0, 4.0}));  // [-0. 0.6667 4.]
Tensor hardswish(const Tensor& x);
/// x times the probability that a normal number is below x; approximate: 'none' or 'tanh'.
///   gelu(tensor({-1.0, 2.0}));  // [-0.1587 1.954]
Tensor gelu(const Tensor& x, std::string_view approximate = "none");
/// min(max(x, 0), 6).
///   relu6(tensor({-1.0, 8.0}));  // [0. 6.]
Tensor relu6(const Tensor& x);
/// x between min_val and max_val, which are cut to integers for a tensor of them.
///   hardtanh(tensor({-2.0, 0.5}));  // [-1. 0.5]
Tensor hardtanh(const Tensor& x, double min_val = -1.0, double max_val = 1.0);
/// relu6(x + 3) / 6.
///   hardsigmoid(tensor({-4.0, 0.0, 4.0}));  // [0. 0.5 1.]
Tensor hardsigmoid(const Tensor& x);
/// x, or alpha * (exp(x / alpha) - 1) below 0.
///   celu(tensor({-1.0, 2.0}));  // [-0.6321 2.]
Tensor celu(const Tensor& x, double alpha = 1.0);
/// ELU with the two numbers that keep means and variances; Klambauer et al., 2017.
///   selu(tensor({-1.0, 2.0}));  // [-1.111 2.101]
Tensor selu(const Tensor& x);
/// The first half along a dim times the sigmoid of the second.
///   glu(tensor({1.0, 2.0, 0.0, 0.0}));  // [0.5 1.]
Tensor glu(const Tensor& x, int64_t dim = -1);
/// log(sigmoid(x)).
///   logsigmoid(tensor({0.0, 2.0}));  // [-0.6931 -0.1269]
Tensor logsigmoid(const Tensor& x);
/// x / (1 + |x|).
///   softsign(tensor({-1.0, 3.0}));  // [-0.5 0.75]
Tensor softsign(const Tensor& x);
/// x - tanh(x).
///   tanhshrink(tensor({0.0, 1.0}));  // [0. 0.2384]
Tensor tanhshrink(const Tensor& x);
/// x, or 0 between -lambd and lambd.
///   hardshrink(tensor({-1.0, 0.3}));  // [-1. 0.]
Tensor hardshrink(const Tensor& x, double lambd = 0.5);
/// x moved by lambd towards 0, and 0 between -lambd and lambd.
///   softshrink(tensor({-1.0, 0.3}));  // [-0.5 0.]
Tensor softshrink(const Tensor& x, double lambd = 0.5);
/// x above a threshold, else a value.
///   threshold(tensor({-1.0, 2.0}), 0, 9);  // [9. 2.]
Tensor threshold(const Tensor& x, double threshold, double value);
/// x, or weight * x below 0: one weight for all, or one for each channel.
///   prelu(tensor({-2.0, 2.0}), tensor({0.25}));  // [-0.5 2.]
Tensor prelu(const Tensor& x, const Tensor& weight);
/// x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits.
///   rrelu(tensor({-24.0, 2.0}));  // [-5.5 2.]
Tensor rrelu(const Tensor& x, double lower = 0.125, double upper = 0.3333333333333333, bool training = false,
             Generator* generator = nullptr);
/// softmax(-x).
///   softmin(tensor({0.0, 0.0}), 0);  // [0.5 0.5]
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// exp(x) / sum(exp(x)) along a dim.
///   softmax(tensor({0.0, 1.0}), 0);  // [0.2689 0.7311]
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// log(softmax(x)) along a dim.
///   log_softmax(tensor({0.0, 0.0}), 0);  // [-0.6931 -0.6931]
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

// ---- Reductions and scans. Dims may be negative; no dims mean all. -----------------------------------------------

/// Sums over dims, or over all.
///   sum(tensor({{1, 2}, {3, 4}}), 1);  // [3 7]
Tensor sum(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Sums in which NaN counts as 0.
///   nansum(tensor({1.0, NAN, 2.0}));  // 3.
Tensor nansum(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Means over dims, or over all.
///   mean(tensor({{1.0, 2.0}, {3.0, 4.0}}), 0);  // [2. 3.]
Tensor mean(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Means in which NaN does not count.
///   nanmean(tensor({1.0, NAN, 2.0}));  // 1.5
Tensor nanmean(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Products over dims, or over all.
///   prod(tensor({2, 3, 4}));  // 24
Tensor prod(const Tensor& x, const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// The largest over dims, or over all.
///   amax(tensor({{1, 4}, {3, 2}}), 1);  // [4 3]
Tensor amax(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// The smallest over dims, or over all.
///   amin(tensor({{1, 4}, {3, 2}}), 1);  // [1 2]
Tensor amin(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// The largest element of all.
///   max(tensor({1, 4, 3}));  // 4
Tensor max(const Tensor& x);
/// The largest elements along a dim and where they are; of equal ones, the first.
///   max(tensor({{1, 4}, {3, 2}}), 1).second;  // [1 0]
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
/// The smallest element of all.
///   min(tensor({1, 4, 3}));  // 1
Tensor min(const Tensor& x);
/// The smallest elements along a dim and where they are; of equal ones, the first.
///   min(tensor({{1, 4}, {3, 2}}), 1).first;  // [1 2]
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
/// Where the largest element stands: of all, laid flat, or along a dim.
///   argmax(tensor({1, 4, 3}));  // 1
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// Where the smallest element stands.
///   argmin(tensor({{1, 4}, {3, 2}}), 1);  // [0 1]
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// Variances; the sum is divided by n - correction.
///   var(tensor({1.0, 2.0, 3.0}));  // 1.
Tensor var(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);
/// Standard deviations.
///   tenon::std(tensor({1.0, 2.0, 3.0}));  // 1.
Tensor std(const Tensor& x, const Axes& dim = {}, double correction = 1, bool keepdim = false);
/// Whether any element is not 0.
///   any(tensor({false, true}));  // True
Tensor any(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// Whether all elements are not 0.
///   all(tensor({false, true}));  // False
Tensor all(const Tensor& x, const Axes& dim = {}, bool keepdim = false);
/// How many elements are not 0.
///   count_nonzero(tensor({1, 0, 2}));  // 2
Tensor count_nonzero(const Tensor& x, const Axes& dim = {});
/// p-norms; p may be infinity.
///   norm(tensor({3.0, 4.0}));  // 5.
Tensor norm(const Tensor& x, double p = 2, const Axes& dim = {}, bool keepdim = false);
/// The p-norm of a difference.
///   dist(tensor({1.0, 1.0}), tensor({4.0, 5.0}));  // 5.
Tensor dist(const Tensor& x, const Tensor& other, double p = 2.0);
/// log(sum(exp(x))) along dims.
///   logsumexp(tensor({0.0, 0.0}), 0);  // 0.6931
Tensor logsumexp(const Tensor& x, const Axes& dim, bool keepdim = false);
/// Running sums along a dim.
///   cumsum(tensor({1, 2, 3}), 0);  // [1 3 6]
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Running products along a dim.
///   cumprod(tensor({1, 2, 3}), 0);  // [1 2 6]
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// The largest elements up to every place along a dim, and where the last one of each is; NaN is above all.
///   cummax(tensor({1, 3, 2}), 0).first;  // [1 3 3]
std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
/// The smallest elements up to every place along a dim, and where the last one of each is; NaN is below all.
///   cummin(tensor({3, 1, 2}), 0).second;  // [0 1 1]
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);
/// The logarithms of the sums of exp(x) up to every place along a dim.
///   logcumsumexp(tensor({0.0, 0.0}), 0);  // [0. 0.6931]
Tensor logcumsumexp(const Tensor& x, int64_t dim);
/// Differences of neighbours, n times over, with elements put before and after them first.
///   diff(tensor({1, 4, 9}));  // [3 5]
Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = Tensor(),
            const Tensor& append = Tensor());
/// Slopes along dims, by the differences of both neighbours: of points a distance apart, for each dim one of no dims,
/// or at places, a vector; edge_order 1 or 2: how exact the first and the last one are.
///   gradient(tensor({1.0, 4.0, 9.0}), {scalar(1.0)})[0];  // [3. 4. 5.]
std::vector<Tensor> gradient(const Tensor& x, std::span<const Tensor> spacing, const Axes& dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, std::initializer_list<Tensor> spacing, const Axes& dim = {},
                             int64_t edge_order = 1);
/// How many elements lie in each of so many bins between min and max, or between the least and the largest element.
///   histc(tensor({0.0, 1.0, 1.0, 3.0}), 3, 0, 3);  // [1. 2. 1.]
Tensor histc(const Tensor& x, int64_t bins = 100, double min = 0, double max = 0);
/// The area below lines between points at heights y: at places x, or at distances dx, which is 1 unless given.
///   trapezoid(tensor({1.0, 2.0, 3.0}));  // 4.
Tensor trapezoid(const Tensor& y, const Tensor& x = Tensor(), std::optional<double> dx = {}, int64_t dim = -1);
/// As trapezoid.
///   trapz(tensor({1.0, 2.0, 3.0}));  // 4.
Tensor trapz(const Tensor& y, const Tensor& x = Tensor(), std::optional<double> dx = {}, int64_t dim = -1);
/// Covariances of rows, whose columns are observations: counted fweights times, of the importance aweights.
///   cov(tensor({{1.0, 2.0}, {3.0, 5.0}}));  // [[0.5 1.] [1. 2.]]
Tensor cov(const Tensor& x, int64_t correction = 1, const Tensor& fweights = Tensor(),
           const Tensor& aweights = Tensor());
/// How rows go together, from -1 to 1; their columns are observations.
///   corrcoef(tensor({{1.0, 2.0}, {3.0, 5.0}}));  // [[1. 1.] [1. 1.]]
Tensor corrcoef(const Tensor& x);
/// The middle element of all, the lower one of two; NaN where there is one.
///   median(tensor({3, 1, 2}));  // 2
Tensor median(const Tensor& x);
/// The middle elements along a dim and where they are.
///   median(tensor({{3, 1, 2}, {6, 5, 4}}), 1).first;  // [2 5]
std::pair<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false);
/// The middle element of those that are not NaN.
///   nanmedian(tensor({3.0, NAN, 1.0}));  // 1.
Tensor nanmedian(const Tensor& x);
/// The middle elements along a dim of those that are not NaN, and where they are.
///   nanmedian(tensor({{3.0, NAN, 1.0}, {5.0, 4.0, 6.0}}), 1).first;  // [1. 5.]
std::pair<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
/// The k-th smallest element along a dim, counted from 1, and where it stands.
///   kthvalue(tensor({3, 1, 2}), 2).first;  // 2
std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);
/// The element that occurs most often along a dim, the smallest of several, and where the last one stands.
///   mode(tensor({1, 2, 2})).first;  // 2
std::pair<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// Below which a share q of the elements lies; a vector of q gives a first dim. interpolation: 'linear', 'lower',
/// 'higher', 'nearest' or 'midpoint'.
///   quantile(tensor({1.0, 2.0, 3.0}), 0.25);  // 1.5
Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
/// As quantile, of the elements that are not NaN.
///   nanquantile(tensor({1.0, NAN, 3.0}), 0.5);  // 2.
Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");
/// Values and indices in order; always stable.
///   sort(tensor({3, 1, 2})).first;  // [1 2 3]
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false, bool stable = true);
/// The indices that sort; always stable.
///   argsort(tensor({3, 1, 2}));  // [1 2 0]
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false, bool stable = true);
/// The k largest elements along a dim, and where they stand; always sorted.
///   topk(tensor({3, 1, 2}), 2).first;  // [3 2]
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);

// ---- Shapes. Views share memory wherever strides can express them. -----------------------------------------------

/// The same elements in another shape; one size may be -1.
///   reshape(arange(4), {2, 2});  // [[0 1] [2 3]]
Tensor reshape(const Tensor& x, const Dims& shape);
/// Joins dims.
///   flatten(tensor({{1, 2}, {3, 4}}));  // [1 2 3 4]
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
/// All elements in one dim.
///   ravel(tensor({{1, 2}, {3, 4}}));  // [1 2 3 4]
Tensor ravel(const Tensor& x);
/// Splits a dim into several; one size may be -1.
///   unflatten(arange(4), 0, {2, 2});  // [[0 1] [2 3]]
Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes);
/// The dims in another order.
///   permute(zeros({2, 3, 4}), {2, 0, 1}).shape();  // (4, 2, 3)
Tensor permute(const Tensor& x, const Dims& dims);
/// Two dims exchanged.
///   transpose(tensor({{1, 2}, {3, 4}}), 0, 1);  // [[1 3] [2 4]]
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// As transpose.
///   swapdims(tensor({{1, 2}, {3, 4}}), 0, 1);  // [[1 3] [2 4]]
Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1);
/// As transpose.
///   swapaxes(zeros({2, 3, 4}), 0, 2).shape();  // (4, 3, 2)
Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1);
/// A matrix with rows and columns exchanged.
///   t(tensor({{1, 2}, {3, 4}}));  // [[1 3] [2 4]]
Tensor t(const Tensor& x);
/// Moves dims to other places; the rest keep their order.
///   movedim(zeros({2, 3, 4}), 0, 2).shape();  // (3, 4, 2)
Tensor movedim(const Tensor& x, const Axes& source, const Axes& destination);
/// As movedim.
///   moveaxis(zeros({2, 3, 4}), 0, 2).shape();  // (3, 4, 2)
Tensor moveaxis(const Tensor& x, const Axes& source, const Axes& destination);
/// Dims of size 1 repeated without memory; -1 keeps a size.
///   expand(tensor({{1}, {2}}), {2, 2});  // [[1 1] [2 2]]
Tensor expand(const Tensor& x, const Dims& shape);
/// Expanded to a shape.
///   broadcast_to(tensor({1, 2}), {2, 2});  // [[1 2] [1 2]]
Tensor broadcast_to(const Tensor& x, const Dims& shape);
/// Without dims of size 1.
///   squeeze(zeros({1, 3, 1})).shape();  // (3,)
Tensor squeeze(const Tensor& x);
/// Without this dim, where its size is 1.
///   squeeze(zeros({1, 3, 1}), 0).shape();  // (3, 1)
Tensor squeeze(const Tensor& x, int64_t dim);
/// Without those of these dims whose size is 1.
///   squeeze(zeros({1, 3, 1}), {0, 2}).shape();  // (3,)
Tensor squeeze(const Tensor& x, const Dims& dims);
/// With one more dim of size 1.
///   unsqueeze(zeros({3}), 0).shape();  // (1, 3)
Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Elements (i, i + offset) of two dims, as a last one.
///   diagonal(tensor({{1, 2}, {3, 4}}));  // [1 4]
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// One position along a dim, which disappears.
///   select(tensor({{1, 2}, {3, 4}}), 1, 0);  // [1 3]
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// A part along a dim.
///   narrow(arange(5), 0, 1, 3);  // [1 2 3]
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// Parts of several sizes along a dim.
///   split(arange(5), {2, 3})[1];  // [2 3 4]
std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim = 0);
/// Parts of a size along a dim; the last may be smaller.
///   split(arange(5), 2)[2];  // [4]
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
/// Parts of several sizes along a dim.
///   split_with_sizes(arange(5), {1, 4})[1];  // [1 2 3 4]
std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& split_sizes, int64_t dim = 0);
/// So many parts along a dim.
///   chunk(arange(5), 2)[0];  // [0 1 2]
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
/// All positions along a dim.
///   unbind(tensor({{1, 2}, {3, 4}}))[1];  // [3 4]
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
/// Windows of `size` elements along a dim, `step` apart, as a last dim.
///   unfold(arange(4), 0, 2, 1);  // [[0 1] [1 2] [2 3]]
Tensor unfold(const Tensor& x, int64_t dimension, int64_t size, int64_t step);
/// Elements of the memory that x lies in, so many steps apart along each dim, from an offset on, which is that of x
/// unless given: a view, or a copy where an element is shown twice.
///   as_strided(arange(4), {2, 2}, {1, 1});  // [[0 1] [1 2]]
Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset = {});

// ---- Other arrangements: copies ----------------------------------------------------------------------------------

/// Elements along dims in the other order.
///   flip(arange(3), 0);  // [2 1 0]
Tensor flip(const Tensor& x, const Axes& dims);
/// Elements along dim 1 in the other order.
///   fliplr(tensor({{1, 2}, {3, 4}}));  // [[2 1] [4 3]]
Tensor fliplr(const Tensor& x);
/// Elements along dim 0 in the other order.
///   flipud(tensor({{1, 2}, {3, 4}}));  // [[3 4] [1 2]]
Tensor flipud(const Tensor& x);
/// Elements moved along a dim, those beyond the end to the beginning.
///   roll(arange(4), 1, 0);  // [3 0 1 2]
Tensor roll(const Tensor& x, int64_t shift, int64_t dim);
/// The same along several dims; without dims, of the tensor laid flat.
///   roll(tensor({{1, 2}, {3, 4}}), {1, 1}, {0, 1});  // [[4 3] [2 1]]
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims = {});
/// More elements before and after, last dim first; negative sizes cut.
///   pad(tensor({1, 2}), {1, 2});  // [0 1 2 0 0]
Tensor pad(const Tensor& x, const Dims& pad, Number value = 0.0);
/// Tensors one after the other along a dim.
///   cat({tensor({1, 2}), tensor({3})});  // [1 2 3]
Tensor cat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// As cat.
///   concat({tensor({1, 2}), tensor({3})});  // [1 2 3]
Tensor concat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor concat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// As cat.
///   concatenate({tensor({1, 2}), tensor({3})});  // [1 2 3]
Tensor concatenate(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor concatenate(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// Tensors along a new dim.
///   stack({tensor({1, 2}), tensor({3, 4})});  // [[1 2] [3 4]]
Tensor stack(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0);
/// Side by side: along dim 1, vectors along dim 0.
///   hstack({tensor({1, 2}), tensor({3})});  // [1 2 3]
Tensor hstack(std::span<const Tensor> tensors);
Tensor hstack(std::initializer_list<Tensor> tensors);
/// As rows.
///   vstack({tensor({1, 2}), tensor({3, 4})});  // [[1 2] [3 4]]
Tensor vstack(std::span<const Tensor> tensors);
Tensor vstack(std::initializer_list<Tensor> tensors);
/// As vstack.
///   row_stack({tensor({1, 2}), tensor({3, 4})});  // [[1 2] [3 4]]
Tensor row_stack(std::span<const Tensor> tensors);
Tensor row_stack(std::initializer_list<Tensor> tensors);
/// Side by side; vectors are columns.
///   column_stack({tensor({1, 2}), tensor({3, 4})});  // [[1 3] [2 4]]
Tensor column_stack(std::span<const Tensor> tensors);
Tensor column_stack(std::initializer_list<Tensor> tensors);
/// Along dim 2.
///   dstack({tensor({1, 2}), tensor({3, 4})});  // [[[1 3] [2 4]]]
Tensor dstack(std::span<const Tensor> tensors);
Tensor dstack(std::initializer_list<Tensor> tensors);
/// Vectors as coordinates of a grid. indexing: 'ij', or 'xy', where the first varies along dim 1.
///   meshgrid({tensor({1, 2}), tensor({3, 4})})[0];  // [[1 1] [2 2]]
std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, std::string_view indexing = "ij");
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors, std::string_view indexing = "ij");
/// The tensor side by side, so often along each dim.
///   repeat(tensor({1, 2}), {2});  // [1 2 1 2]
Tensor repeat(const Tensor& x, const Dims& repeats);
/// As repeat; dims that are not named stay as they are.
///   tile(tensor({1, 2}), {2, 2});  // [[1 2 1 2] [1 2 1 2]]
Tensor tile(const Tensor& x, const Dims& dims);
/// Each element, or slice along dim, so many times in a row. Repeats given as a tensor are read at once.
///   repeat_interleave(tensor({1, 2}), 2);  // [1 1 2 2]
Tensor repeat_interleave(const Tensor& x, const Operand& repeats, std::optional<int64_t> dim = {});
/// The lower triangle; the rest is 0.
///   tril(ones({2, 2}));  // [[1. 0.] [1. 1.]]
Tensor tril(const Tensor& x, int64_t diagonal = 0);
/// The upper triangle; the rest is 0.
///   triu(ones({2, 2}));  // [[1. 1.] [0. 1.]]
Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// A matrix's diagonal, or a matrix with this one.
///   diag(tensor({1, 2}));  // [[1 0] [0 2]]
Tensor diag(const Tensor& x, int64_t diagonal = 0);
/// Matrices with the elements of the last dim on a diagonal; their rows and columns are dim1 and dim2.
///   diag_embed(tensor({{1, 2}, {3, 4}})).shape();  // (2, 2, 2)
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// The powers of a vector's elements as rows, from N - 1 down to 0, or increasing; N is their number unless given.
///   vander(tensor({1, 2, 3}));  // [[1 1 1] [4 2 1] [9 3 1]]
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, bool increasing = false);
/// The sum of a matrix's diagonal.
///   trace(tensor({{1, 2}, {3, 4}}));  // 5
Tensor trace(const Tensor& x);
/// Slices along a dim made smaller where their p-norm is above a number.
///   renorm(tensor({{3.0, 4.0}, {0.3, 0.4}}), 2, 0, 1);  // [[0.6 0.8] [0.3 0.4]]
Tensor renorm(const Tensor& x, double p, int64_t dim, double maxnorm);
/// The channels of dim 1, which are in groups, in an order in which each group has some of all.
///   channel_shuffle(arange(4).reshape({1, 4, 1, 1}), 2).flatten();  // [0 2 1 3]
Tensor channel_shuffle(const Tensor& x, int64_t groups);

// ---- Indexing ----------------------------------------------------------------------------------------------------

/// out[i][j] = x[i][index[i][j]] for dim 1, and so on.
///   gather(tensor({{1, 2}, {3, 4}}), 1, tensor({{1}, {0}}));  // [[2] [3]]
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// x laid flat, picked by an index of any shape; negative ones count from the end.
///   take(tensor({{1, 2}, {3, 4}}), tensor({3, 0}));  // [4 1]
Tensor take(const Tensor& x, const Tensor& index);
/// gather, with both broadcast along the other dims; without a dim, of both laid flat.
///   take_along_dim(tensor({{1, 2}, {3, 4}}), tensor({{1}, {0}}), 1);  // [[2] [3]]
Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {});
/// Slices along a dim, picked by a vector.
///   index_select(tensor({10, 20, 30}), 0, tensor({2, 0}));  // [30 10]
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// A copy with alpha * source added to the slices named.
///   index_add(zeros({3}), 0, tensor({0, 0, 2}), ones({3}));  // [2. 0. 1.]
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha = 1);
/// A copy with slices replaced.
///   index_copy(zeros({3}), 0, tensor({2, 0}), tensor({5.0, 6.0}));  // [6. 0. 5.]
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// A copy with slices filled.
///   index_fill(zeros({3}), 0, tensor({1}), 7);  // [0. 7. 0.]
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value);
/// A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=. The
/// last of several sources for one element counts, and it alone gets a gradient.
///   scatter(zeros({3}), 0, tensor({2, 0}), tensor({5.0, 6.0}));  // [6. 0. 5.]
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& source,
               std::optional<std::string_view> reduce = {});
/// The same with +=.
///   scatter_add(zeros({3}), 0, tensor({0, 0}), tensor({5.0, 6.0}));  // [11. 0. 0.]
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count.
///   scatter_reduce(zeros({3}), 0, tensor({0, 0}), tensor({5.0, 6.0}), "amax");  // [6. 0. 0.]
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true);
/// A copy with the slices named joined with those of source, by reduce: 'prod', 'mean', 'amax' or 'amin'; without
/// include_self only sources count.
///   index_reduce(ones({3}), 0, tensor({0, 0}), tensor({5.0, 6.0}), "prod");  // [30. 1. 1.]
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self = true);
/// A copy with one position along a dim replaced.
///   select_scatter(zeros({2, 2}), ones({2}), 0, 1);  // [[0. 0.] [1. 1.]]
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index);
/// A copy with a slice along a dim replaced.
///   slice_scatter(zeros({4}), ones({2}), 0, 1, 3);  // [0. 1. 1. 0.]
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim = 0, std::optional<int64_t> start = {},
                     std::optional<int64_t> end = {}, int64_t step = 1);
/// A copy with a diagonal replaced.
///   diagonal_scatter(zeros({2, 2}), ones({2}));  // [[1. 0.] [0. 1.]]
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// A copy with the elements of source, in order, where the mask is true.
///   masked_scatter(zeros({3}), tensor({true, false, true}), tensor({5.0, 6.0}));  // [5. 0. 6.]
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
/// Positions in a tensor laid flat as one tensor of positions for each dim.
///   unravel_index(tensor({3}), {2, 2})[0];  // [1]
std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape);
/// Where values would have to be inserted in the last dim: before equal ones, or after them with right or side='right'.
/// A sorter is the order of what is not sorted.
///   searchsorted(tensor({1, 3, 5}), tensor({3, 4}));  // [1 2]
Tensor searchsorted(const Tensor& sorted_sequence, const Operand& values, bool out_int32 = false, bool right = false,
                    std::optional<std::string_view> side = {}, const Tensor& sorter = Tensor());
/// Between which of the sorted boundaries elements lie; right: a boundary belongs to what lies above it.
///   bucketize(tensor({3, 4}), tensor({1, 3, 5}));  // [1 2]
Tensor bucketize(const Operand& x, const Tensor& boundaries, bool out_int32 = false, bool right = false);
/// 1 at each index, else 0; num_classes is one more than the largest index unless given.
///   one_hot(tensor({0, 2}), 3);  // [[1 0 0] [0 0 1]]
Tensor one_hot(const Tensor& index, int64_t num_classes = -1);

// ---- Indexing whose shape depends on values: computes at once, and fails inside captured functions ---------------

/// The elements where the mask is true, as a vector.
///   masked_select(tensor({1, 2, 3}), tensor({true, false, true}));  // [1 3]
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// The positions of all elements that are not 0, one a row.
///   nonzero(tensor({0, 5, 6}));  // [[1] [2]]
Tensor nonzero(const Tensor& x);
/// The different elements, sorted.
///   unique(tensor({3, 1, 3})).values;  // [1 3]
Unique unique(const Tensor& x);
/// The different slices along a dim, sorted by their first elements, then by the next.
///   unique(tensor({{1, 2}, {1, 2}}), 0).values;  // [[1 2]]
Unique unique(const Tensor& x, int64_t dim);
/// How often each of 0, 1, ... occurs in a vector, or the sum of the weights of those elements.
///   bincount(tensor({0, 2, 2}));  // [1 0 2]
Tensor bincount(const Tensor& x, const Tensor& weights = Tensor(), int64_t minlength = 0);

// ---- Products ----------------------------------------------------------------------------------------------------

/// a @ b.
///   matmul(tensor({{1, 2}, {3, 4}}), tensor({1, 1}));  // [3 7]
Tensor matmul(const Tensor& a, const Tensor& b);
/// The product of two matrices.
///   mm(tensor({{1, 2}, {3, 4}}), tensor({{0, 1}, {1, 0}}));  // [[2 1] [4 3]]
Tensor mm(const Tensor& a, const Tensor& b);
/// The products of two batches of matrices.
///   bmm(ones({2, 3, 4}), ones({2, 4, 5})).shape();  // (2, 3, 5)
Tensor bmm(const Tensor& a, const Tensor& b);
/// A matrix times a vector.
///   mv(tensor({{1, 2}, {3, 4}}), tensor({1, 1}));  // [3 7]
Tensor mv(const Tensor& a, const Tensor& b);
/// The product of two vectors.
///   dot(tensor({1, 2}), tensor({3, 4}));  // 11
Tensor dot(const Tensor& a, const Tensor& b);
/// As dot.
///   vdot(tensor({1, 2}), tensor({3, 4}));  // 11
Tensor vdot(const Tensor& a, const Tensor& b);
/// Sums of products along the last dims; of numbers, their product.
///   inner(tensor({{1, 2}, {3, 4}}), tensor({1, 1}));  // [3 7]
Tensor inner(const Tensor& x, const Tensor& other);
/// Every element of the first times all of the second.
///   kron(tensor({1, 2}), tensor({1, 10}));  // [1 10 2 20]
Tensor kron(const Tensor& x, const Tensor& other);
/// The product of vectors of three elements that stands at right angles to both; along the first dim of 3 unless one is
/// given.
///   cross(tensor({1, 0, 0}), tensor({0, 1, 0}));  // [0 0 1]
Tensor cross(const Tensor& x, const Tensor& other, std::optional<int64_t> dim = {});
/// All products of elements of two vectors.
///   outer(tensor({1, 2}), tensor({3, 4}));  // [[3 4] [6 8]]
Tensor outer(const Tensor& a, const Tensor& b);
/// beta * x + alpha * (a @ b).
///   addmm(tensor({1.0, 1.0}), ones({2, 2}), ones({2, 2}));  // [[3. 3.] [3. 3.]]
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * (a @ b), of a matrix and a vector.
///   addmv(tensor({1.0, 1.0}), ones({2, 2}), ones({2}));  // [3. 3.]
Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out.
///   baddbmm(zeros({2, 2, 2}), ones({2, 2, 3}), ones({2, 3, 2})).shape();  // (2, 2, 2)
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// beta * x + alpha * outer(a, b).
///   addr(zeros({2, 2}), tensor({1.0, 2.0}), tensor({3.0, 4.0}));  // [[3. 4.] [6. 8.]]
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
/// Sums products over the last dims of a and the first of b.
///   tensordot(ones({2, 3, 4}), ones({3, 4, 5})).shape();  // (2, 5)
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims = 2);
/// Sums products over the dims given for each.
///   tensordot(ones({2, 3}), ones({3, 2}), {0, 1}, {1, 0});  // 6.
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
/// The p-norm distances between the rows of a (..., P, M) and those of b (..., R, M), as (..., P, R).
///   cdist(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}));  // [[5.]]
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2.0);
/// The p-norm distances between all pairs of rows of a matrix.
///   pdist(tensor({{0.0, 0.0}, {3.0, 4.0}}));  // [5.]
Tensor pdist(const Tensor& x, double p = 2.0);
/// Sums of products, by letters: einsum('ij,jk->ik', a, b).
///   einsum("ij,jk->ik", {ones({2, 3}), ones({3, 2})});  // [[3. 3.] [3. 3.]]
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

// ---- Random numbers. Without a generator the default one draws; no gradient goes through a draw. -----------------

/// 1 with the probability given by each element, else 0. One beyond 0..1 is refused, outside of captured functions.
///   bernoulli(tensor({0.0, 1.0}));  // [0. 1.]
Tensor bernoulli(const Tensor& probabilities, Generator* generator = nullptr);
/// Indices drawn with the weights of the last dim, which need no particular sum. Weights that are negative or not
/// finite, or sum to 0, are refused, outside of captured functions.
///   multinomial(tensor({0.0, 1.0}), 2, true);  // [1 1]
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement = false,
                   Generator* generator = nullptr);
/// Normally distributed numbers of given means and deviations, one of them a tensor at least.
///   normal(tensor({1.0, 2.0}), 0);  // [1. 2.]
Tensor normal(const Operand& mean, const Operand& std = 1.0, Generator* generator = nullptr);

}  // namespace tenon
