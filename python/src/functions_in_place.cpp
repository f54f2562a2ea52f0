// Written by scripts/make_functions.py from tenon/tensor/functions.def; do not edit.
//
// Methods of Python that change their tensor.

// clang-format off
#include "computed.h"
#include "functions.h"

namespace tenon::python {

void note_in_place() {
  define<"add_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) { x.add_(other, alpha); return Same(); }>("add in place.", kMethod);
  define<"sub_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) { x.sub_(other, alpha); return Same(); }>("sub in place.", kMethod);
  define<"subtract_", "x, other, alpha=1", [](Tensor x, const Operand& other, Number alpha) { x.subtract_(other, alpha); return Same(); }>("subtract in place.", kMethod);
  define<"mul_", "x, other", [](Tensor x, const Operand& other) { x.mul_(other); return Same(); }>("mul in place.", kMethod);
  define<"multiply_", "x, other", [](Tensor x, const Operand& other) { x.multiply_(other); return Same(); }>("multiply in place.", kMethod);
  define<"div_", "x, other, rounding_mode=None", [](Tensor x, const Operand& other, const std::optional<std::string>& rounding_mode) { x.div_(other, rounding_mode); return Same(); }>("div in place.", kMethod);
  define<"divide_", "x, other, rounding_mode=None", [](Tensor x, const Operand& other, const std::optional<std::string>& rounding_mode) { x.divide_(other, rounding_mode); return Same(); }>("divide in place.", kMethod);
  define<"true_divide_", "x, other", [](Tensor x, const Operand& other) { x.true_divide_(other); return Same(); }>("true_divide in place.", kMethod);
  define<"floor_divide_", "x, other", [](Tensor x, const Operand& other) { x.floor_divide_(other); return Same(); }>("floor_divide in place.", kMethod);
  define<"remainder_", "x, other", [](Tensor x, const Operand& other) { x.remainder_(other); return Same(); }>("remainder in place.", kMethod);
  define<"fmod_", "x, other", [](Tensor x, const Operand& other) { x.fmod_(other); return Same(); }>("fmod in place.", kMethod);
  define<"gcd_", "x, other", [](Tensor x, const Tensor& other) { x.gcd_(other); return Same(); }>("gcd in place.", kMethod);
  define<"lcm_", "x, other", [](Tensor x, const Tensor& other) { x.lcm_(other); return Same(); }>("lcm in place.", kMethod);
  define<"pow_", "x, exponent", [](Tensor x, const Operand& exponent) { x.pow_(exponent); return Same(); }>("pow in place.", kMethod);
  define<"lerp_", "start, end, weight", [](Tensor start, const Operand& end, const Operand& weight) { start.lerp_(end, weight); return Same(); }>("lerp in place.", kMethod);
  define<"addcmul_", "x, a, b, value=1", [](Tensor x, const Tensor& a, const Tensor& b, Number value) { x.addcmul_(a, b, value); return Same(); }>("addcmul in place.", kMethod);
  define<"addcdiv_", "x, a, b, value=1", [](Tensor x, const Tensor& a, const Tensor& b, Number value) { x.addcdiv_(a, b, value); return Same(); }>("addcdiv in place.", kMethod);
  define<"atan2_", "x, other", [](Tensor x, const Tensor& other) { x.atan2_(other); return Same(); }>("atan2 in place.", kMethod);
  define<"arctan2_", "x, other", [](Tensor x, const Tensor& other) { x.arctan2_(other); return Same(); }>("arctan2 in place.", kMethod);
  define<"hypot_", "x, other", [](Tensor x, const Tensor& other) { x.hypot_(other); return Same(); }>("hypot in place.", kMethod);
  define<"copysign_", "x, other", [](Tensor x, const Operand& other) { x.copysign_(other); return Same(); }>("copysign in place.", kMethod);
  define<"heaviside_", "x, values", [](Tensor x, const Tensor& values) { x.heaviside_(values); return Same(); }>("heaviside in place.", kMethod);
  define<"clamp_", "x, min=None, max=None", [](Tensor x, std::optional<Operand> min, std::optional<Operand> max) { x.clamp_(std::move(min), std::move(max)); return Same(); }>("clamp in place.", kMethod);
  define<"clip_", "x, min=None, max=None", [](Tensor x, std::optional<Operand> min, std::optional<Operand> max) { x.clip_(std::move(min), std::move(max)); return Same(); }>("clip in place.", kMethod);
  define<"clamp_min_", "x, min", [](Tensor x, const Operand& min) { x.clamp_min_(min); return Same(); }>("clamp_min in place.", kMethod);
  define<"clamp_max_", "x, max", [](Tensor x, const Operand& max) { x.clamp_max_(max); return Same(); }>("clamp_max in place.", kMethod);
  define<"masked_fill_", "x, mask, value", [](Tensor x, const Tensor& mask, const Operand& value) { x.masked_fill_(mask, value); return Same(); }>("masked_fill in place.", kMethod);
  define<"eq_", "x, other", [](Tensor x, const Operand& other) { x.eq_(other); return Same(); }>("eq in place.", kMethod);
  define<"ne_", "x, other", [](Tensor x, const Operand& other) { x.ne_(other); return Same(); }>("ne in place.", kMethod);
  define<"not_equal_", "x, other", [](Tensor x, const Operand& other) { x.not_equal_(other); return Same(); }>("not_equal in place.", kMethod);
  define<"lt_", "x, other", [](Tensor x, const Operand& other) { x.lt_(other); return Same(); }>("lt in place.", kMethod);
  define<"less_", "x, other", [](Tensor x, const Operand& other) { x.less_(other); return Same(); }>("less in place.", kMethod);
  define<"le_", "x, other", [](Tensor x, const Operand& other) { x.le_(other); return Same(); }>("le in place.", kMethod);
  define<"less_equal_", "x, other", [](Tensor x, const Operand& other) { x.less_equal_(other); return Same(); }>("less_equal in place.", kMethod);
  define<"gt_", "x, other", [](Tensor x, const Operand& other) { x.gt_(other); return Same(); }>("gt in place.", kMethod);
  define<"greater_", "x, other", [](Tensor x, const Operand& other) { x.greater_(other); return Same(); }>("greater in place.", kMethod);
  define<"ge_", "x, other", [](Tensor x, const Operand& other) { x.ge_(other); return Same(); }>("ge in place.", kMethod);
  define<"greater_equal_", "x, other", [](Tensor x, const Operand& other) { x.greater_equal_(other); return Same(); }>("greater_equal in place.", kMethod);
  define<"logical_and_", "x, other", [](Tensor x, const Tensor& other) { x.logical_and_(other); return Same(); }>("logical_and in place.", kMethod);
  define<"logical_or_", "x, other", [](Tensor x, const Tensor& other) { x.logical_or_(other); return Same(); }>("logical_or in place.", kMethod);
  define<"logical_xor_", "x, other", [](Tensor x, const Tensor& other) { x.logical_xor_(other); return Same(); }>("logical_xor in place.", kMethod);
  define<"logical_not_", "x", [](Tensor x) { x.logical_not_(); return Same(); }>("logical_not in place.", kMethod);
  define<"bitwise_and_", "x, other", [](Tensor x, const Operand& other) { x.bitwise_and_(other); return Same(); }>("bitwise_and in place.", kMethod);
  define<"bitwise_or_", "x, other", [](Tensor x, const Operand& other) { x.bitwise_or_(other); return Same(); }>("bitwise_or in place.", kMethod);
  define<"bitwise_xor_", "x, other", [](Tensor x, const Operand& other) { x.bitwise_xor_(other); return Same(); }>("bitwise_xor in place.", kMethod);
  define<"bitwise_not_", "x", [](Tensor x) { x.bitwise_not_(); return Same(); }>("bitwise_not in place.", kMethod);
  define<"bitwise_left_shift_", "x, other", [](Tensor x, const Operand& other) { x.bitwise_left_shift_(other); return Same(); }>("bitwise_left_shift in place.", kMethod);
  define<"bitwise_right_shift_", "x, other", [](Tensor x, const Operand& other) { x.bitwise_right_shift_(other); return Same(); }>("bitwise_right_shift in place.", kMethod);
  define<"neg_", "x", [](Tensor x) { x.neg_(); return Same(); }>("neg in place.", kMethod);
  define<"negative_", "x", [](Tensor x) { x.negative_(); return Same(); }>("negative in place.", kMethod);
  define<"abs_", "x", [](Tensor x) { x.abs_(); return Same(); }>("abs in place.", kMethod);
  define<"absolute_", "x", [](Tensor x) { x.absolute_(); return Same(); }>("absolute in place.", kMethod);
  define<"sign_", "x", [](Tensor x) { x.sign_(); return Same(); }>("sign in place.", kMethod);
  define<"sgn_", "x", [](Tensor x) { x.sgn_(); return Same(); }>("sgn in place.", kMethod);
  define<"sqrt_", "x", [](Tensor x) { x.sqrt_(); return Same(); }>("sqrt in place.", kMethod);
  define<"rsqrt_", "x", [](Tensor x) { x.rsqrt_(); return Same(); }>("rsqrt in place.", kMethod);
  define<"square_", "x", [](Tensor x) { x.square_(); return Same(); }>("square in place.", kMethod);
  define<"reciprocal_", "x", [](Tensor x) { x.reciprocal_(); return Same(); }>("reciprocal in place.", kMethod);
  define<"exp_", "x", [](Tensor x) { x.exp_(); return Same(); }>("exp in place.", kMethod);
  define<"exp2_", "x", [](Tensor x) { x.exp2_(); return Same(); }>("exp2 in place.", kMethod);
  define<"expm1_", "x", [](Tensor x) { x.expm1_(); return Same(); }>("expm1 in place.", kMethod);
  define<"log_", "x", [](Tensor x) { x.log_(); return Same(); }>("log in place.", kMethod);
  define<"log2_", "x", [](Tensor x) { x.log2_(); return Same(); }>("log2 in place.", kMethod);
  define<"log10_", "x", [](Tensor x) { x.log10_(); return Same(); }>("log10 in place.", kMethod);
  define<"log1p_", "x", [](Tensor x) { x.log1p_(); return Same(); }>("log1p in place.", kMethod);
  define<"sin_", "x", [](Tensor x) { x.sin_(); return Same(); }>("sin in place.", kMethod);
  define<"cos_", "x", [](Tensor x) { x.cos_(); return Same(); }>("cos in place.", kMethod);
  define<"tan_", "x", [](Tensor x) { x.tan_(); return Same(); }>("tan in place.", kMethod);
  define<"asin_", "x", [](Tensor x) { x.asin_(); return Same(); }>("asin in place.", kMethod);
  define<"arcsin_", "x", [](Tensor x) { x.arcsin_(); return Same(); }>("arcsin in place.", kMethod);
  define<"acos_", "x", [](Tensor x) { x.acos_(); return Same(); }>("acos in place.", kMethod);
  define<"arccos_", "x", [](Tensor x) { x.arccos_(); return Same(); }>("arccos in place.", kMethod);
  define<"atan_", "x", [](Tensor x) { x.atan_(); return Same(); }>("atan in place.", kMethod);
  define<"arctan_", "x", [](Tensor x) { x.arctan_(); return Same(); }>("arctan in place.", kMethod);
  define<"sinh_", "x", [](Tensor x) { x.sinh_(); return Same(); }>("sinh in place.", kMethod);
  define<"cosh_", "x", [](Tensor x) { x.cosh_(); return Same(); }>("cosh in place.", kMethod);
  define<"tanh_", "x", [](Tensor x) { x.tanh_(); return Same(); }>("tanh in place.", kMethod);
  define<"asinh_", "x", [](Tensor x) { x.asinh_(); return Same(); }>("asinh in place.", kMethod);
  define<"arcsinh_", "x", [](Tensor x) { x.arcsinh_(); return Same(); }>("arcsinh in place.", kMethod);
  define<"acosh_", "x", [](Tensor x) { x.acosh_(); return Same(); }>("acosh in place.", kMethod);
  define<"arccosh_", "x", [](Tensor x) { x.arccosh_(); return Same(); }>("arccosh in place.", kMethod);
  define<"atanh_", "x", [](Tensor x) { x.atanh_(); return Same(); }>("atanh in place.", kMethod);
  define<"arctanh_", "x", [](Tensor x) { x.arctanh_(); return Same(); }>("arctanh in place.", kMethod);
  define<"erf_", "x", [](Tensor x) { x.erf_(); return Same(); }>("erf in place.", kMethod);
  define<"erfc_", "x", [](Tensor x) { x.erfc_(); return Same(); }>("erfc in place.", kMethod);
  define<"erfinv_", "x", [](Tensor x) { x.erfinv_(); return Same(); }>("erfinv in place.", kMethod);
  define<"lgamma_", "x", [](Tensor x) { x.lgamma_(); return Same(); }>("lgamma in place.", kMethod);
  define<"digamma_", "x", [](Tensor x) { x.digamma_(); return Same(); }>("digamma in place.", kMethod);
  define<"mvlgamma_", "x, p", [](Tensor x, int64_t p) { x.mvlgamma_(p); return Same(); }>("mvlgamma in place.", kMethod);
  define<"i0_", "x", [](Tensor x) { x.i0_(); return Same(); }>("i0 in place.", kMethod);
  define<"logit_", "x, eps=None", [](Tensor x, std::optional<double> eps) { x.logit_(eps); return Same(); }>("logit in place.", kMethod);
  define<"floor_", "x", [](Tensor x) { x.floor_(); return Same(); }>("floor in place.", kMethod);
  define<"ceil_", "x", [](Tensor x) { x.ceil_(); return Same(); }>("ceil in place.", kMethod);
  define<"trunc_", "x", [](Tensor x) { x.trunc_(); return Same(); }>("trunc in place.", kMethod);
  define<"fix_", "x", [](Tensor x) { x.fix_(); return Same(); }>("fix in place.", kMethod);
  define<"frac_", "x", [](Tensor x) { x.frac_(); return Same(); }>("frac in place.", kMethod);
  define<"sinc_", "x", [](Tensor x) { x.sinc_(); return Same(); }>("sinc in place.", kMethod);
  define<"deg2rad_", "x", [](Tensor x) { x.deg2rad_(); return Same(); }>("deg2rad in place.", kMethod);
  define<"rad2deg_", "x", [](Tensor x) { x.rad2deg_(); return Same(); }>("rad2deg in place.", kMethod);
  define<"nan_to_num_", "x, nan=0.0, posinf=None, neginf=None", [](Tensor x, double nan, std::optional<double> posinf, std::optional<double> neginf) { x.nan_to_num_(nan, posinf, neginf); return Same(); }>("nan_to_num in place.", kMethod);
  define<"sigmoid_", "x", [](Tensor x) { x.sigmoid_(); return Same(); }>("sigmoid in place.", kMethod);
  define<"relu_", "x", [](Tensor x) { x.relu_(); return Same(); }>("relu in place.", kMethod);
  define<"cumsum_", "x, dim, dtype=None", [](Tensor x, int64_t dim, std::optional<DType> dtype) { x.cumsum_(dim, dtype); return Same(); }>("cumsum in place.", kMethod);
  define<"cumprod_", "x, dim, dtype=None", [](Tensor x, int64_t dim, std::optional<DType> dtype) { x.cumprod_(dim, dtype); return Same(); }>("cumprod in place.", kMethod);
  define<"tril_", "x, diagonal=0", [](Tensor x, int64_t diagonal) { x.tril_(diagonal); return Same(); }>("tril in place.", kMethod);
  define<"triu_", "x, diagonal=0", [](Tensor x, int64_t diagonal) { x.triu_(diagonal); return Same(); }>("triu in place.", kMethod);
  define<"renorm_", "x, p, dim, maxnorm", [](Tensor x, double p, int64_t dim, double maxnorm) { x.renorm_(p, dim, maxnorm); return Same(); }>("renorm in place.", kMethod);
  define<"index_add_", "x, dim, index, source, alpha=1", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) { x.index_add_(dim, index, source, alpha); return Same(); }>("index_add in place.", kMethod);
  define<"index_copy_", "x, dim, index, source", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source) { x.index_copy_(dim, index, source); return Same(); }>("index_copy in place.", kMethod);
  define<"index_fill_", "x, dim, index, value", [](Tensor x, int64_t dim, const Tensor& index, const Operand& value) { x.index_fill_(dim, index, value); return Same(); }>("index_fill in place.", kMethod);
  define<"scatter_", "x, dim, index, source, reduce=None", [](Tensor x, int64_t dim, const Tensor& index, const Operand& source, const std::optional<std::string>& reduce) { x.scatter_(dim, index, source, reduce); return Same(); }>("scatter in place.", kMethod);
  define<"scatter_add_", "x, dim, index, source", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source) { x.scatter_add_(dim, index, source); return Same(); }>("scatter_add in place.", kMethod);
  define<"scatter_reduce_", "x, dim, index, source, reduce, include_self=True", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool include_self) { x.scatter_reduce_(dim, index, source, reduce, include_self); return Same(); }>("scatter_reduce in place.", kMethod);
  define<"index_reduce_", "x, dim, index, source, reduce, include_self=True", [](Tensor x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce, bool include_self) { x.index_reduce_(dim, index, source, reduce, include_self); return Same(); }>("index_reduce in place.", kMethod);
  define<"masked_scatter_", "x, mask, source", [](Tensor x, const Tensor& mask, const Tensor& source) { x.masked_scatter_(mask, source); return Same(); }>("masked_scatter in place.", kMethod);
  define<"addmm_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { x.addmm_(a, b, beta, alpha); return Same(); }>("addmm in place.", kMethod);
  define<"addmv_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { x.addmv_(a, b, beta, alpha); return Same(); }>("addmv in place.", kMethod);
  define<"baddbmm_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { x.baddbmm_(a, b, beta, alpha); return Same(); }>("baddbmm in place.", kMethod);
  define<"addr_", "x, a, b, beta=1, alpha=1", [](Tensor x, const Tensor& a, const Tensor& b, Number beta, Number alpha) { x.addr_(a, b, beta, alpha); return Same(); }>("addr in place.", kMethod);
  define<"uniform_", "x, low=0.0, high=1.0, generator=None", [](Tensor x, double low, double high, Generator* generator) { x.uniform_(low, high, generator); return Same(); }>("Draws new elements, even between low and high.", kMethod);
  define<"normal_", "x, mean=0.0, std=1.0, generator=None", [](Tensor x, double mean, double std, Generator* generator) { x.normal_(mean, std, generator); return Same(); }>("Draws new elements, normally distributed.", kMethod);
  define<"bernoulli_", "x, p=0.5, generator=None", [](Tensor x, double p, Generator* generator) { x.bernoulli_(p, generator); return Same(); }>("Draws 1 with probability p, else 0.", kMethod);
  define<"exponential_", "x, lambd=1.0, generator=None", [](Tensor x, double lambd, Generator* generator) { x.exponential_(lambd, generator); return Same(); }>("Draws new elements, exponentially distributed.", kMethod);
  define<"random_", "x, low=None, high=None, generator=None", [](Tensor x, std::optional<int64_t> low, std::optional<int64_t> high, Generator* generator) { x.random_(low, high, generator); return Same(); }>("Draws new elements, integers from low, which is 0 unless given, to below high, or to the last that the dtype tells apart.", kMethod);
}

}  // namespace tenon::python
