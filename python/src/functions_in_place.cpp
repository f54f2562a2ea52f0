// Written by scripts/make_functions.py from tenon/tensor/functions.def; do not edit.
//
// Methods of Python that change their tensor.

// clang-format off
#include "computed.h"
#include "functions.h"

namespace tenon::python {

void note_in_place() {
  define<"add_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) { return x.add_(other, alpha); }>(
      "add in place.", kMethod);
  define<"sub_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) { return x.sub_(other, alpha); }>(
      "sub in place.", kMethod);
  define<"subtract_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) { return x.subtract_(other, alpha); }>(
      "subtract in place.", kMethod);
  define<"mul_", "x, other", [](Tensor x, const Operand& other) { return x.mul_(other); }>(
      "mul in place.", kMethod);
  define<"multiply_", "x, other", [](Tensor x, const Operand& other) { return x.multiply_(other); }>(
      "multiply in place.", kMethod);
  define<"div_", "x, other, rounding_mode=None", [](Tensor x, const Operand& other, const std::optional<std::string>& rounding_mode) { return x.div_(other, rounding_mode); }>(
      "div in place.", kMethod);
  define<"divide_", "x, other, rounding_mode=None", [](Tensor x, const Operand& other, const std::optional<std::string>& rounding_mode) { return x.divide_(other, rounding_mode); }>(
      "divide in place.", kMethod);
  define<"true_divide_", "x, other", [](Tensor x, const Operand& other) { return x.true_divide_(other); }>(
      "true_divide in place.", kMethod);
  define<"floor_divide_", "x, other", [](Tensor x, const Operand& other) { return x.floor_divide_(other); }>(
      "floor_divide in place.", kMethod);
  define<"remainder_", "x, other", [](Tensor x, const Operand& other) { return x.remainder_(other); }>(
      "remainder in place.", kMethod);
  define<"fmod_", "x, other", [](Tensor x, const Operand& other) { return x.fmod_(other); }>(
      "fmod in place.", kMethod);
  define<"gcd_", "x, other", [](Tensor x, const Tensor& other) { return x.gcd_(other); }>(
      "gcd in place.", kMethod);
  define<"lcm_", "x, other", [](Tensor x, const Tensor& other) { return x.lcm_(other); }>(
      "lcm in place.", kMethod);
  define<"pow_", "x, exponent", [](Tensor x, const Operand& exponent) { return x.pow_(exponent); }>(
      "pow in place.", kMethod);
  define<"lerp_", "start, end, weight", [](Tensor start, const Operand& end, const Operand& weight) { return start.lerp_(end, weight); }>(
      "lerp in place.", kMethod);
  define<"addcmul_", "x, a, b, value=1", [](Tensor x, const Tensor& a, const Tensor& b, Number value) { return x.addcmul_(a, b, value); }>(
      "addcmul in place.", kMethod);
  define<"addcdiv_", "x, a, b, value=1", [](Tensor x, const Tensor& a, const Tensor& b, Number value) { return x.addcdiv_(a, b, value); }>(
      "addcdiv in place.", kMethod);
  define<"atan2_", "x, other", [](Tensor x, const Tensor& other) { return x.atan2_(other); }>(
      "atan2 in place.", kMethod);
  define<"arctan2_", "x, other", [](Tensor x, const Tensor& other) { return x.arctan2_(other); }>(
      "arctan2 in place.", kMethod);
  define<"hypot_", "x, other", [](Tensor x, const Tensor& other) { return x.hypot_(other); }>(
      "hypot in place.", kMethod);
  define<"copysign_", "x, other", [](Tensor x, const Operand& other) { return x.copysign_(other); }>(
      "copysign in place.", kMethod);
  define<"heaviside_", "x, values", [](Tensor x, const Tensor& values) { return x.heaviside_(values); }>(
      "heaviside in place.", kMethod);
  define<"clamp_", "x, min=None, max=None", [](Tensor x, std::optional<Operand> min, std::optional<Operand> max) { return x.clamp_(std::move(min), std::move(max)); }>(
      "clamp in place.", kMethod);
  define<"clip_", "x, min=None, max=None", [](Tensor x, std::optional<Operand> min, std::optional<Operand> max) { return x.clip_(std::move(min), std::move(max)); }>(
      "clip in place.", kMethod);
  define<"clamp_min_", "x, min", [](Tensor x, const Operand& min) { return x.clamp_min_(min); }>(
      "clamp_min in place.", kMethod);
  define<"clamp_max_", "x, max", [](Tensor x, const Operand& max) { return x.clamp_max_(max); }>(
      "clamp_max in place.", kMethod);
  define<"masked_fill_", "x, mask, value", [](Tensor x, const Tensor& mask, const Operand& value) { return x.masked_fill_(mask, value); }>(
      "masked_fill in place.", kMethod);
  define<"eq_", "x, other", [](Tensor x, const Operand& other) { return x.eq_(other); }>(
      "eq in place.", kMethod);
  define<"ne_", "x, other", [](Tensor x, const Operand& other) { return x.ne_(other); }>(
      "ne in place.", kMethod);
  define<"not_equal_", "x, other", [](Tensor x, const Operand& other) { return x.not_equal_(other); }>(
      "not_equal in place.", kMethod);
  define<"lt_", "x, other", [](Tensor x, const Operand& other) { return x.lt_(other); }>(
      "lt in place.", kMethod);
  define<"less_", "x, other", [](Tensor x, const Operand& other) { return x.less_(other); }>(
      "less in place.", kMethod);
  define<"le_", "x, other", [](Tensor x, const Operand& other) { return x.le_(other); }>(
      "le in place.", kMethod);
  define<"less_equal_", "x, other", [](Tensor x, const Operand& other) { return x.less_equal_(other); }>(
      "less_equal in place.", kMethod);
  define<"gt_", "x, other", [](Tensor x, const Operand& other) { return x.gt_(other); }>(
      "gt in place.", kMethod);
  define<"greater_", "x, other", [](Tensor x, const Operand& other) { return x.greater_(other); }>(
      "greater in place.", kMethod);
  define<"ge_", "x, other", [](Tensor x, const Operand& other) { return x.ge_(other); }>(
      "ge in place.", kMethod);
  define<"greater_equal_", "x, other", [](Tensor x, const Operand& other) { return x.greater_equal_(other); }>(
      "greater_equal in place.", kMethod);
  define<"logical_and_", "x, other", [](Tensor x, const Tensor& other) { return x.logical_and_(other); }>(
      "logical_and in place.", kMethod);
  define<"logical_or_", "x, other", [](Tensor x, const Tensor& other) { return x.logical_or_(other); }>(
      "logical_or in place.", kMethod);
  define<"logical_xor_", "x, other", [](Tensor x, const Tensor& other) { return x.logical_xor_(other); }>(
      "logical_xor in place.", kMethod);
  define<"logical_not_", "x", [](Tensor x) { return x.logical_not_(); }>(
      "logical_not in place.", kMethod);
  define<"bitwise_and_", "x, other", [](Tensor x, const Operand& other) { return x.bitwise_and_(other); }>(
      "bitwise_and in place.", kMethod);
  define<"bitwise_or_", "x, other", [](Tensor x, const Operand& other) { return x.bitwise_or_(other); }>(
      "bitwise_or in place.", kMethod);
  define<"bitwise_xor_", "x, other", [](Tensor x, const Operand& other) { return x.bitwise_xor_(other); }>(
      "bitwise_xor in place.", kMethod);
  define<"bitwise_not_", "x", [](Tensor x) { return x.bitwise_not_(); }>(
      "bitwise_not in place.", kMethod);
  define<"bitwise_left_shift_", "x, other", [](Tensor x, const Operand& other) { return x.bitwise_left_shift_(other); }>(
      "bitwise_left_shift in place.", kMethod);
  define<"bitwise_right_shift_", "x, other", [](Tensor x, const Operand& other) { return x.bitwise_right_shift_(other); }>(
      "bitwise_right_shift in place.", kMethod);
  define<"neg_", "x", [](Tensor x) { return x.neg_(); }>(
      "neg in place.", kMethod);
  define<"negative_", "x", [](Tensor x) { return x.negative_(); }>(
      "negative in place.", kMethod);
  define<"abs_", "x", [](Tensor x) { return x.abs_(); }>(
      "abs in place.", kMethod);
  define<"absolute_", "x", [](Tensor x) { return x.absolute_(); }>(
      "absolute in place.", kMethod);
  define<"sign_", "x", [](Tensor x) { return x.sign_(); }>(
      "sign in place.", kMethod);
  define<"sgn_", "x", [](Tensor x) { return x.sgn_(); }>(
      "sgn in place.", kMethod);
  define<"sqrt_", "x", [](Tensor x) { return x.sqrt_(); }>(
      "sqrt in place.", kMethod);
  define<"rsqrt_", "x", [](Tensor x) { return x.rsqrt_(); }>(
      "rsqrt in place.", kMethod);
  define<"square_", "x", [](Tensor x) { return x.square_(); }>(
      "square in place.", kMethod);
  define<"reciprocal_", "x", [](Tensor x) { return x.reciprocal_(); }>(
      "reciprocal in place.", kMethod);
  define<"exp_", "x", [](Tensor x) { return x.exp_(); }>(
      "exp in place.", kMethod);
  define<"exp2_", "x", [](Tensor x) { return x.exp2_(); }>(
      "exp2 in place.", kMethod);
  define<"expm1_", "x", [](Tensor x) { return x.expm1_(); }>(
      "expm1 in place.", kMethod);
  define<"log_", "x", [](Tensor x) { return x.log_(); }>(
      "log in place.", kMethod);
  define<"log2_", "x", [](Tensor x) { return x.log2_(); }>(
      "log2 in place.", kMethod);
  define<"log10_", "x", [](Tensor x) { return x.log10_(); }>(
      "log10 in place.", kMethod);
  define<"log1p_", "x", [](Tensor x) { return x.log1p_(); }>(
      "log1p in place.", kMethod);
  define<"sin_", "x", [](Tensor x) { return x.sin_(); }>(
      "sin in place.", kMethod);
  define<"cos_", "x", [](Tensor x) { return x.cos_(); }>(
      "cos in place.", kMethod);
  define<"tan_", "x", [](Tensor x) { return x.tan_(); }>(
      "tan in place.", kMethod);
  define<"asin_", "x", [](Tensor x) { return x.asin_(); }>(
      "asin in place.", kMethod);
  define<"arcsin_", "x", [](Tensor x) { return x.arcsin_(); }>(
      "arcsin in place.", kMethod);
  define<"acos_", "x", [](Tensor x) { return x.acos_(); }>(
      "acos in place.", kMethod);
  define<"arccos_", "x", [](Tensor x) { return x.arccos_(); }>(
      "arccos in place.", kMethod);
  define<"atan_", "x", [](Tensor x) { return x.atan_(); }>(
      "atan in place.", kMethod);
  define<"arctan_", "x", [](Tensor x) { return x.arctan_(); }>(
      "arctan in place.", kMethod);
  define<"sinh_", "x", [](Tensor x) { return x.sinh_(); }>(
      "sinh in place.", kMethod);
  define<"cosh_", "x", [](Tensor x) { return x.cosh_(); }>(
      "cosh in place.", kMethod);
  define<"tanh_", "x", [](Tensor x) { return x.tanh_(); }>(
      "tanh in place.", kMethod);
  define<"asinh_", "x", [](Tensor x) { return x.asinh_(); }>(
      "asinh in place.", kMethod);
  define<"arcsinh_", "x", [](Tensor x) { return x.arcsinh_(); }>(
      "arcsinh in place.", kMethod);
  define<"acosh_", "x", [](Tensor x) { return x.acosh_(); }>(
      "acosh in place.", kMethod);
  define<"arccosh_", "x", [](Tensor x) { return x.arccosh_(); }>(
      "arccosh in place.", kMethod);
  define<"atanh_", "x", [](Tensor x) { return x.atanh_(); }>(
      "atanh in place.", kMethod);
  define<"arctanh_", "x", [](Tensor x) { return x.arctanh_(); }>(
      "arctanh in place.", kMethod);
  define<"erf_", "x", [](Tensor x) { return x.erf_(); }>(
      "erf in place.", kMethod);
  define<"erfc_", "x", [](Tensor x) { return x.erfc_(); }>(
      "erfc in place.", kMethod);
  define<"erfinv_", "x", [](Tensor x) { return x.erfinv_(); }>(
      "erfinv in place.", kMethod);
  define<"lgamma_", "x", [](Tensor x) { return x.lgamma_(); }>(
      "lgamma in place.", kMethod);
  define<"digamma_", "x", [](Tensor x) { return x.digamma_(); }>(
      "digamma in place.", kMethod);
  define<"mvlgamma_", "x, p", [](Tensor x, int64_t p) { return x.mvlgamma_(p); }>(
      "mvlgamma in place.", kMethod);
  define<"i0_", "x", [](Tensor x) { return x.i0_(); }>(
      "i0 in place.", kMethod);
  define<"logit_", "x, eps=None", [](Tensor x, std::optional<double> eps) { return x.logit_(eps); }>(
      "logit in place.", kMethod);
  define<"floor_", "x", [](Tensor x) { return x.floor_(); }>(
      "floor in place.", kMethod);
  define<"ceil_", "x", [](Tensor x) { return x.ceil_(); }>(
      "ceil in place.", kMethod);
  define<"trunc_", "x", [](Tensor x) { return x.trunc_(); }>(
      "trunc in place.", kMethod);
  define<"fix_", "x", [](Tensor x) { return x.fix_(); }>(
      "fix in place.", kMethod);
  define<"frac_", "x", [](Tensor x) { return x.frac_(); }>(
      "frac in place.", kMethod);
  define<"sinc_", "x", [](Tensor x) { return x.sinc_(); }>(
      "sinc in place.", kMethod);
  define<"deg2rad_", "x", [](Tensor x) { return x.deg2rad_(); }>(
      "deg2rad in place.", kMethod);
  define<"rad2deg_", "x", [](Tensor x) { return x.rad2deg_(); }>(
      "rad2deg in place.", kMethod);
  define<"nan_to_num_", "x, nan=0.0, posinf=None, neginf=None", [](Tensor x, double nan, std::optional<double> posinf, std::optional<double> neginf) { return x.nan_to_num_(nan, posinf, neginf); }>(
      "nan_to_num in place.", kMethod);
  define<"sigmoid_", "x", [](Tensor x) { return x.sigmoid_(); }>(
      "sigmoid in place.", kMethod);
  define<"relu_", "x", [](Tensor x) { return x.relu_(); }>(
      "relu in place.", kMethod);
  define<"cumsum_", "x, dim, dtype=None", [](Tensor x, int64_t dim, std::optional<DType> dtype) { return x.cumsum_(dim, dtype); }>(
      "cumsum in place.", kMethod);
  define<"cumprod_", "x, dim, dtype=None", [](Tensor x, int64_t dim, std::optional<DType> dtype) { return x.cumprod_(dim, dtype); }>(
      "cumprod in place.", kMethod);
  define<"tril_", "x, diagonal=0", [](Tensor x, int64_t diagonal) { return x.tril_(diagonal); }>(
      "tril in place.", kMethod);
  define<"triu_", "x, diagonal=0", [](Tensor x, int64_t diagonal) { return x.triu_(diagonal); }>(
      "triu in place.", kMethod);
  define<"renorm_", "x, p, dim, maxnorm", [](Tensor x, double p, int64_t dim, double maxnorm) { return x.renorm_(p, dim, maxnorm); }>(
      "renorm in place.", kMethod);
  define<"index_add_", "x, dim, index, source, alpha=1", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) { return x.index_add_(dim, index, source, alpha); }>(
      "index_add in place.", kMethod);
  define<"index_copy_", "x, dim, index, source", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source) { return x.index_copy_(dim, index, source); }>(
      "index_copy in place.", kMethod);
  define<"index_fill_", "x, dim, index, value", [](Tensor x, int64_t dim, const Tensor& index, const Operand& value) { return x.index_fill_(dim, index, value); }>(
      "index_fill in place.", kMethod);
  define<"scatter_", "x, dim, index, source, reduce=None", [](Tensor x, int64_t dim, const Tensor& index, const Operand& source, const std::optional<std::string>& reduce) { return x.scatter_(dim, index, source, reduce); }>(
      "scatter in place.", kMethod);
  define<"scatter_add_", "x, dim, index, source", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source) { return x.scatter_add_(dim, index, source); }>(
      "scatter_add in place.", kMethod);
  define<"scatter_reduce_", "x, dim, index, source, reduce, include_self=True", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool include_self) { return x.scatter_reduce_(dim, index, source, reduce, include_self); }>(
      "scatter_reduce in place.", kMethod);
  define<"index_reduce_", "x, dim, index, source, reduce, include_self=True", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool include_self) { return x.index_reduce_(dim, index, source, reduce, include_self); }>(
      "index_reduce in place.", kMethod);
  define<"masked_scatter_", "x, mask, source", [](Tensor x, const Tensor& mask, const Tensor& source) { return x.masked_scatter_(mask, source); }>(
      "masked_scatter in place.", kMethod);
  define<"addmm_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return x.addmm_(a, b, beta, alpha); }>(
      "addmm in place.", kMethod);
  define<"addmv_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return x.addmv_(a, b, beta, alpha); }>(
      "addmv in place.", kMethod);
  define<"baddbmm_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return x.baddbmm_(a, b, beta, alpha); }>(
      "baddbmm in place.", kMethod);
  define<"addr_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { return x.addr_(a, b, beta, alpha); }>(
      "addr in place.", kMethod);
  define<"uniform_", "x, low=0.0, high=1.0, generator=None", [](Tensor x, double low, double high, Generator* generator) { return x.uniform_(low, high, generator); }>(
      "Draws new elements, even between low and high.", kMethod);
  define<"normal_", "x, mean=0.0, std=1.0, generator=None", [](Tensor x, double mean, double std, Generator* generator) { return x.normal_(mean, std, generator); }>(
      "Draws new elements, normally distributed.", kMethod);
  define<"bernoulli_", "x, p=0.5, generator=None", [](Tensor x, double p, Generator* generator) { return x.bernoulli_(p, generator); }>(
      "Draws 1 with probability p, else 0.", kMethod);
  define<"exponential_", "x, lambd=1.0, generator=None", [](Tensor x, double lambd, Generator* generator) { return x.exponential_(lambd, generator); }>(
      "Draws new elements, exponentially distributed.", kMethod);
  define<"random_", "x, low=None, high=None, generator=None", [](Tensor x, std::optional<int64_t> low, std::optional<int64_t> high, Generator* generator) { return x.random_(low, high, generator); }>(
      "Draws new elements, integers from low, which is 0 unless given, to below high, or to the last that the dtype tells apart.", kMethod);
}

}  // namespace tenon::python
