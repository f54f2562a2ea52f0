// Written by scripts/make_functions.py from tenon/tensor/functions.def; do not edit.
//
// Methods that are functions of ops.h, their forms in place, and functions that have several names.

#include "tenon/tensor/ops.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {

Tensor Tensor::add(const Operand& other, Number alpha) const { return tenon::add(*this, other, alpha); }
Tensor& Tensor::add_(const Operand& other, Number alpha) {
  return assign("add_", *this, tenon::add(before_write(*this), other, alpha));
}
Tensor Tensor::sub(const Operand& other, Number alpha) const { return tenon::sub(*this, other, alpha); }
Tensor& Tensor::sub_(const Operand& other, Number alpha) {
  return assign("sub_", *this, tenon::sub(before_write(*this), other, alpha));
}
Tensor subtract(const Operand& x, const Operand& other, Number alpha) { return sub(x, other, alpha); }
Tensor Tensor::subtract(const Operand& other, Number alpha) const { return tenon::subtract(*this, other, alpha); }
Tensor& Tensor::subtract_(const Operand& other, Number alpha) {
  return assign("subtract_", *this, tenon::subtract(before_write(*this), other, alpha));
}
Tensor Tensor::rsub(const Operand& other, Number alpha) const { return tenon::rsub(*this, other, alpha); }
Tensor Tensor::mul(const Operand& other) const { return tenon::mul(*this, other); }
Tensor& Tensor::mul_(const Operand& other) { return assign("mul_", *this, tenon::mul(before_write(*this), other)); }
Tensor multiply(const Operand& x, const Operand& other) { return mul(x, other); }
Tensor Tensor::multiply(const Operand& other) const { return tenon::multiply(*this, other); }
Tensor& Tensor::multiply_(const Operand& other) {
  return assign("multiply_", *this, tenon::multiply(before_write(*this), other));
}
Tensor Tensor::div(const Operand& other, std::optional<std::string_view> rounding_mode) const {
  return tenon::div(*this, other, rounding_mode);
}
Tensor& Tensor::div_(const Operand& other, std::optional<std::string_view> rounding_mode) {
  return assign("div_", *this, tenon::div(before_write(*this), other, rounding_mode));
}
Tensor divide(const Operand& x, const Operand& other, std::optional<std::string_view> rounding_mode) {
  return div(x, other, rounding_mode);
}
Tensor Tensor::divide(const Operand& other, std::optional<std::string_view> rounding_mode) const {
  return tenon::divide(*this, other, rounding_mode);
}
Tensor& Tensor::divide_(const Operand& other, std::optional<std::string_view> rounding_mode) {
  return assign("divide_", *this, tenon::divide(before_write(*this), other, rounding_mode));
}
Tensor Tensor::true_divide(const Operand& other) const { return tenon::true_divide(*this, other); }
Tensor& Tensor::true_divide_(const Operand& other) {
  return assign("true_divide_", *this, tenon::true_divide(before_write(*this), other));
}
Tensor Tensor::floor_divide(const Operand& other) const { return tenon::floor_divide(*this, other); }
Tensor& Tensor::floor_divide_(const Operand& other) {
  return assign("floor_divide_", *this, tenon::floor_divide(before_write(*this), other));
}
Tensor Tensor::remainder(const Operand& other) const { return tenon::remainder(*this, other); }
Tensor& Tensor::remainder_(const Operand& other) {
  return assign("remainder_", *this, tenon::remainder(before_write(*this), other));
}
Tensor Tensor::fmod(const Operand& other) const { return tenon::fmod(*this, other); }
Tensor& Tensor::fmod_(const Operand& other) { return assign("fmod_", *this, tenon::fmod(before_write(*this), other)); }
Tensor Tensor::gcd(const Tensor& other) const { return tenon::gcd(*this, other); }
Tensor& Tensor::gcd_(const Tensor& other) { return assign("gcd_", *this, tenon::gcd(before_write(*this), other)); }
Tensor Tensor::lcm(const Tensor& other) const { return tenon::lcm(*this, other); }
Tensor& Tensor::lcm_(const Tensor& other) { return assign("lcm_", *this, tenon::lcm(before_write(*this), other)); }
Tensor Tensor::pow(const Operand& exponent) const { return tenon::pow(*this, exponent); }
Tensor& Tensor::pow_(const Operand& exponent) {
  return assign("pow_", *this, tenon::pow(before_write(*this), exponent));
}
Tensor Tensor::float_power(const Operand& exponent) const { return tenon::float_power(*this, exponent); }
Tensor Tensor::lerp(const Operand& end, const Operand& weight) const { return tenon::lerp(*this, end, weight); }
Tensor& Tensor::lerp_(const Operand& end, const Operand& weight) {
  return assign("lerp_", *this, tenon::lerp(before_write(*this), end, weight));
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, Number value) const {
  return tenon::addcmul(*this, a, b, value);
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, Number value) {
  return assign("addcmul_", *this, tenon::addcmul(before_write(*this), a, b, value));
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, Number value) const {
  return tenon::addcdiv(*this, a, b, value);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, Number value) {
  return assign("addcdiv_", *this, tenon::addcdiv(before_write(*this), a, b, value));
}
Tensor Tensor::maximum(const Operand& other) const { return tenon::maximum(*this, other); }
Tensor Tensor::minimum(const Operand& other) const { return tenon::minimum(*this, other); }
Tensor Tensor::atan2(const Operand& other) const { return tenon::atan2(*this, other); }
Tensor& Tensor::atan2_(const Operand& other) {
  return assign("atan2_", *this, tenon::atan2(before_write(*this), other));
}
Tensor arctan2(const Operand& x, const Operand& other) { return atan2(x, other); }
Tensor Tensor::arctan2(const Operand& other) const { return tenon::arctan2(*this, other); }
Tensor& Tensor::arctan2_(const Operand& other) {
  return assign("arctan2_", *this, tenon::arctan2(before_write(*this), other));
}
Tensor Tensor::hypot(const Operand& other) const { return tenon::hypot(*this, other); }
Tensor& Tensor::hypot_(const Operand& other) {
  return assign("hypot_", *this, tenon::hypot(before_write(*this), other));
}
Tensor Tensor::fmax(const Tensor& other) const { return tenon::fmax(*this, other); }
Tensor Tensor::fmin(const Tensor& other) const { return tenon::fmin(*this, other); }
Tensor Tensor::xlogy(const Operand& other) const { return tenon::xlogy(*this, other); }
Tensor Tensor::logaddexp(const Operand& other) const { return tenon::logaddexp(*this, other); }
Tensor Tensor::logaddexp2(const Operand& other) const { return tenon::logaddexp2(*this, other); }
Tensor Tensor::copysign(const Operand& other) const { return tenon::copysign(*this, other); }
Tensor& Tensor::copysign_(const Operand& other) {
  return assign("copysign_", *this, tenon::copysign(before_write(*this), other));
}
Tensor Tensor::nextafter(const Tensor& other) const { return tenon::nextafter(*this, other); }
Tensor& Tensor::nextafter_(const Tensor& other) {
  return assign("nextafter_", *this, tenon::nextafter(before_write(*this), other));
}
Tensor Tensor::heaviside(const Tensor& values) const { return tenon::heaviside(*this, values); }
Tensor& Tensor::heaviside_(const Tensor& values) {
  return assign("heaviside_", *this, tenon::heaviside(before_write(*this), values));
}
Tensor Tensor::clamp(std::optional<Operand> min, std::optional<Operand> max) const {
  return tenon::clamp(*this, min, max);
}
Tensor& Tensor::clamp_(std::optional<Operand> min, std::optional<Operand> max) {
  return assign("clamp_", *this, tenon::clamp(before_write(*this), min, max));
}
Tensor clip(const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) { return clamp(x, min, max); }
Tensor Tensor::clip(std::optional<Operand> min, std::optional<Operand> max) const {
  return tenon::clip(*this, min, max);
}
Tensor& Tensor::clip_(std::optional<Operand> min, std::optional<Operand> max) {
  return assign("clip_", *this, tenon::clip(before_write(*this), min, max));
}
Tensor Tensor::clamp_min(const Operand& min) const { return tenon::clamp_min(*this, min); }
Tensor& Tensor::clamp_min_(const Operand& min) {
  return assign("clamp_min_", *this, tenon::clamp_min(before_write(*this), min));
}
Tensor Tensor::clamp_max(const Operand& max) const { return tenon::clamp_max(*this, max); }
Tensor& Tensor::clamp_max_(const Operand& max) {
  return assign("clamp_max_", *this, tenon::clamp_max(before_write(*this), max));
}
Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value) const {
  return tenon::masked_fill(*this, mask, value);
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Operand& value) {
  return assign("masked_fill_", *this, tenon::masked_fill(before_write(*this), mask, value));
}
Tensor Tensor::eq(const Operand& other) const { return tenon::eq(*this, other); }
Tensor& Tensor::eq_(const Operand& other) { return assign("eq_", *this, tenon::eq(before_write(*this), other)); }
Tensor Tensor::ne(const Operand& other) const { return tenon::ne(*this, other); }
Tensor& Tensor::ne_(const Operand& other) { return assign("ne_", *this, tenon::ne(before_write(*this), other)); }
Tensor not_equal(const Operand& x, const Operand& other) { return ne(x, other); }
Tensor Tensor::not_equal(const Operand& other) const { return tenon::not_equal(*this, other); }
Tensor& Tensor::not_equal_(const Operand& other) {
  return assign("not_equal_", *this, tenon::not_equal(before_write(*this), other));
}
Tensor Tensor::lt(const Operand& other) const { return tenon::lt(*this, other); }
Tensor& Tensor::lt_(const Operand& other) { return assign("lt_", *this, tenon::lt(before_write(*this), other)); }
Tensor less(const Operand& x, const Operand& other) { return lt(x, other); }
Tensor Tensor::less(const Operand& other) const { return tenon::less(*this, other); }
Tensor& Tensor::less_(const Operand& other) { return assign("less_", *this, tenon::less(before_write(*this), other)); }
Tensor Tensor::le(const Operand& other) const { return tenon::le(*this, other); }
Tensor& Tensor::le_(const Operand& other) { return assign("le_", *this, tenon::le(before_write(*this), other)); }
Tensor less_equal(const Operand& x, const Operand& other) { return le(x, other); }
Tensor Tensor::less_equal(const Operand& other) const { return tenon::less_equal(*this, other); }
Tensor& Tensor::less_equal_(const Operand& other) {
  return assign("less_equal_", *this, tenon::less_equal(before_write(*this), other));
}
Tensor Tensor::gt(const Operand& other) const { return tenon::gt(*this, other); }
Tensor& Tensor::gt_(const Operand& other) { return assign("gt_", *this, tenon::gt(before_write(*this), other)); }
Tensor greater(const Operand& x, const Operand& other) { return gt(x, other); }
Tensor Tensor::greater(const Operand& other) const { return tenon::greater(*this, other); }
Tensor& Tensor::greater_(const Operand& other) {
  return assign("greater_", *this, tenon::greater(before_write(*this), other));
}
Tensor Tensor::ge(const Operand& other) const { return tenon::ge(*this, other); }
Tensor& Tensor::ge_(const Operand& other) { return assign("ge_", *this, tenon::ge(before_write(*this), other)); }
Tensor greater_equal(const Operand& x, const Operand& other) { return ge(x, other); }
Tensor Tensor::greater_equal(const Operand& other) const { return tenon::greater_equal(*this, other); }
Tensor& Tensor::greater_equal_(const Operand& other) {
  return assign("greater_equal_", *this, tenon::greater_equal(before_write(*this), other));
}
Tensor Tensor::logical_and(const Operand& other) const { return tenon::logical_and(*this, other); }
Tensor& Tensor::logical_and_(const Operand& other) {
  return assign("logical_and_", *this, tenon::logical_and(before_write(*this), other));
}
Tensor Tensor::logical_or(const Operand& other) const { return tenon::logical_or(*this, other); }
Tensor& Tensor::logical_or_(const Operand& other) {
  return assign("logical_or_", *this, tenon::logical_or(before_write(*this), other));
}
Tensor Tensor::logical_xor(const Operand& other) const { return tenon::logical_xor(*this, other); }
Tensor& Tensor::logical_xor_(const Operand& other) {
  return assign("logical_xor_", *this, tenon::logical_xor(before_write(*this), other));
}
Tensor Tensor::logical_not() const { return tenon::logical_not(*this); }
Tensor& Tensor::logical_not_() { return assign("logical_not_", *this, tenon::logical_not(before_write(*this))); }
Tensor Tensor::bitwise_and(const Operand& other) const { return tenon::bitwise_and(*this, other); }
Tensor& Tensor::bitwise_and_(const Operand& other) {
  return assign("bitwise_and_", *this, tenon::bitwise_and(before_write(*this), other));
}
Tensor Tensor::bitwise_or(const Operand& other) const { return tenon::bitwise_or(*this, other); }
Tensor& Tensor::bitwise_or_(const Operand& other) {
  return assign("bitwise_or_", *this, tenon::bitwise_or(before_write(*this), other));
}
Tensor Tensor::bitwise_xor(const Operand& other) const { return tenon::bitwise_xor(*this, other); }
Tensor& Tensor::bitwise_xor_(const Operand& other) {
  return assign("bitwise_xor_", *this, tenon::bitwise_xor(before_write(*this), other));
}
Tensor Tensor::bitwise_not() const { return tenon::bitwise_not(*this); }
Tensor& Tensor::bitwise_not_() { return assign("bitwise_not_", *this, tenon::bitwise_not(before_write(*this))); }
Tensor Tensor::bitwise_left_shift(const Operand& other) const { return tenon::bitwise_left_shift(*this, other); }
Tensor& Tensor::bitwise_left_shift_(const Operand& other) {
  return assign("bitwise_left_shift_", *this, tenon::bitwise_left_shift(before_write(*this), other));
}
Tensor Tensor::bitwise_right_shift(const Operand& other) const { return tenon::bitwise_right_shift(*this, other); }
Tensor& Tensor::bitwise_right_shift_(const Operand& other) {
  return assign("bitwise_right_shift_", *this, tenon::bitwise_right_shift(before_write(*this), other));
}
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tenon::isclose(*this, other, rtol, atol, equal_nan);
}
Tensor Tensor::isnan() const { return tenon::isnan(*this); }
Tensor Tensor::isinf() const { return tenon::isinf(*this); }
Tensor Tensor::isposinf() const { return tenon::isposinf(*this); }
Tensor Tensor::isneginf() const { return tenon::isneginf(*this); }
Tensor Tensor::isfinite() const { return tenon::isfinite(*this); }
Tensor Tensor::signbit() const { return tenon::signbit(*this); }
Tensor Tensor::isin(const Operand& test_elements, bool assume_unique, bool invert) const {
  return tenon::isin(*this, test_elements, assume_unique, invert);
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tenon::allclose(*this, other, rtol, atol, equal_nan);
}
bool Tensor::equal(const Tensor& other) const { return tenon::equal(*this, other); }
Tensor Tensor::neg() const { return tenon::neg(*this); }
Tensor& Tensor::neg_() { return assign("neg_", *this, tenon::neg(before_write(*this))); }
Tensor negative(const Tensor& x) { return neg(x); }
Tensor Tensor::negative() const { return tenon::negative(*this); }
Tensor& Tensor::negative_() { return assign("negative_", *this, tenon::negative(before_write(*this))); }
Tensor Tensor::abs() const { return tenon::abs(*this); }
Tensor& Tensor::abs_() { return assign("abs_", *this, tenon::abs(before_write(*this))); }
Tensor absolute(const Tensor& x) { return abs(x); }
Tensor Tensor::absolute() const { return tenon::absolute(*this); }
Tensor& Tensor::absolute_() { return assign("absolute_", *this, tenon::absolute(before_write(*this))); }
Tensor Tensor::sign() const { return tenon::sign(*this); }
Tensor& Tensor::sign_() { return assign("sign_", *this, tenon::sign(before_write(*this))); }
Tensor sgn(const Tensor& x) { return sign(x); }
Tensor Tensor::sgn() const { return tenon::sgn(*this); }
Tensor& Tensor::sgn_() { return assign("sgn_", *this, tenon::sgn(before_write(*this))); }
Tensor Tensor::sqrt() const { return tenon::sqrt(*this); }
Tensor& Tensor::sqrt_() { return assign("sqrt_", *this, tenon::sqrt(before_write(*this))); }
Tensor Tensor::rsqrt() const { return tenon::rsqrt(*this); }
Tensor& Tensor::rsqrt_() { return assign("rsqrt_", *this, tenon::rsqrt(before_write(*this))); }
Tensor Tensor::square() const { return tenon::square(*this); }
Tensor& Tensor::square_() { return assign("square_", *this, tenon::square(before_write(*this))); }
Tensor Tensor::reciprocal() const { return tenon::reciprocal(*this); }
Tensor& Tensor::reciprocal_() { return assign("reciprocal_", *this, tenon::reciprocal(before_write(*this))); }
Tensor Tensor::exp() const { return tenon::exp(*this); }
Tensor& Tensor::exp_() { return assign("exp_", *this, tenon::exp(before_write(*this))); }
Tensor Tensor::exp2() const { return tenon::exp2(*this); }
Tensor& Tensor::exp2_() { return assign("exp2_", *this, tenon::exp2(before_write(*this))); }
Tensor Tensor::expm1() const { return tenon::expm1(*this); }
Tensor& Tensor::expm1_() { return assign("expm1_", *this, tenon::expm1(before_write(*this))); }
Tensor Tensor::log() const { return tenon::log(*this); }
Tensor& Tensor::log_() { return assign("log_", *this, tenon::log(before_write(*this))); }
Tensor Tensor::log2() const { return tenon::log2(*this); }
Tensor& Tensor::log2_() { return assign("log2_", *this, tenon::log2(before_write(*this))); }
Tensor Tensor::log10() const { return tenon::log10(*this); }
Tensor& Tensor::log10_() { return assign("log10_", *this, tenon::log10(before_write(*this))); }
Tensor Tensor::log1p() const { return tenon::log1p(*this); }
Tensor& Tensor::log1p_() { return assign("log1p_", *this, tenon::log1p(before_write(*this))); }
Tensor Tensor::sin() const { return tenon::sin(*this); }
Tensor& Tensor::sin_() { return assign("sin_", *this, tenon::sin(before_write(*this))); }
Tensor Tensor::cos() const { return tenon::cos(*this); }
Tensor& Tensor::cos_() { return assign("cos_", *this, tenon::cos(before_write(*this))); }
Tensor Tensor::tan() const { return tenon::tan(*this); }
Tensor& Tensor::tan_() { return assign("tan_", *this, tenon::tan(before_write(*this))); }
Tensor Tensor::asin() const { return tenon::asin(*this); }
Tensor& Tensor::asin_() { return assign("asin_", *this, tenon::asin(before_write(*this))); }
Tensor arcsin(const Tensor& x) { return asin(x); }
Tensor Tensor::arcsin() const { return tenon::arcsin(*this); }
Tensor& Tensor::arcsin_() { return assign("arcsin_", *this, tenon::arcsin(before_write(*this))); }
Tensor Tensor::acos() const { return tenon::acos(*this); }
Tensor& Tensor::acos_() { return assign("acos_", *this, tenon::acos(before_write(*this))); }
Tensor arccos(const Tensor& x) { return acos(x); }
Tensor Tensor::arccos() const { return tenon::arccos(*this); }
Tensor& Tensor::arccos_() { return assign("arccos_", *this, tenon::arccos(before_write(*this))); }
Tensor Tensor::atan() const { return tenon::atan(*this); }
Tensor& Tensor::atan_() { return assign("atan_", *this, tenon::atan(before_write(*this))); }
Tensor arctan(const Tensor& x) { return atan(x); }
Tensor Tensor::arctan() const { return tenon::arctan(*this); }
Tensor& Tensor::arctan_() { return assign("arctan_", *this, tenon::arctan(before_write(*this))); }
Tensor Tensor::sinh() const { return tenon::sinh(*this); }
Tensor& Tensor::sinh_() { return assign("sinh_", *this, tenon::sinh(before_write(*this))); }
Tensor Tensor::cosh() const { return tenon::cosh(*this); }
Tensor& Tensor::cosh_() { return assign("cosh_", *this, tenon::cosh(before_write(*this))); }
Tensor Tensor::tanh() const { return tenon::tanh(*this); }
Tensor& Tensor::tanh_() { return assign("tanh_", *this, tenon::tanh(before_write(*this))); }
Tensor Tensor::asinh() const { return tenon::asinh(*this); }
Tensor& Tensor::asinh_() { return assign("asinh_", *this, tenon::asinh(before_write(*this))); }
Tensor arcsinh(const Tensor& x) { return asinh(x); }
Tensor Tensor::arcsinh() const { return tenon::arcsinh(*this); }
Tensor& Tensor::arcsinh_() { return assign("arcsinh_", *this, tenon::arcsinh(before_write(*this))); }
Tensor Tensor::acosh() const { return tenon::acosh(*this); }
Tensor& Tensor::acosh_() { return assign("acosh_", *this, tenon::acosh(before_write(*this))); }
Tensor arccosh(const Tensor& x) { return acosh(x); }
Tensor Tensor::arccosh() const { return tenon::arccosh(*this); }
Tensor& Tensor::arccosh_() { return assign("arccosh_", *this, tenon::arccosh(before_write(*this))); }
Tensor Tensor::atanh() const { return tenon::atanh(*this); }
Tensor& Tensor::atanh_() { return assign("atanh_", *this, tenon::atanh(before_write(*this))); }
Tensor arctanh(const Tensor& x) { return atanh(x); }
Tensor Tensor::arctanh() const { return tenon::arctanh(*this); }
Tensor& Tensor::arctanh_() { return assign("arctanh_", *this, tenon::arctanh(before_write(*this))); }
Tensor Tensor::erf() const { return tenon::erf(*this); }
Tensor& Tensor::erf_() { return assign("erf_", *this, tenon::erf(before_write(*this))); }
Tensor Tensor::erfc() const { return tenon::erfc(*this); }
Tensor& Tensor::erfc_() { return assign("erfc_", *this, tenon::erfc(before_write(*this))); }
Tensor Tensor::erfinv() const { return tenon::erfinv(*this); }
Tensor& Tensor::erfinv_() { return assign("erfinv_", *this, tenon::erfinv(before_write(*this))); }
Tensor Tensor::lgamma() const { return tenon::lgamma(*this); }
Tensor& Tensor::lgamma_() { return assign("lgamma_", *this, tenon::lgamma(before_write(*this))); }
Tensor Tensor::digamma() const { return tenon::digamma(*this); }
Tensor& Tensor::digamma_() { return assign("digamma_", *this, tenon::digamma(before_write(*this))); }
Tensor Tensor::mvlgamma(int64_t p) const { return tenon::mvlgamma(*this, p); }
Tensor& Tensor::mvlgamma_(int64_t p) { return assign("mvlgamma_", *this, tenon::mvlgamma(before_write(*this), p)); }
Tensor Tensor::i0() const { return tenon::i0(*this); }
Tensor& Tensor::i0_() { return assign("i0_", *this, tenon::i0(before_write(*this))); }
Tensor Tensor::logit(std::optional<double> eps) const { return tenon::logit(*this, eps); }
Tensor& Tensor::logit_(std::optional<double> eps) {
  return assign("logit_", *this, tenon::logit(before_write(*this), eps));
}
Tensor Tensor::floor() const { return tenon::floor(*this); }
Tensor& Tensor::floor_() { return assign("floor_", *this, tenon::floor(before_write(*this))); }
Tensor Tensor::ceil() const { return tenon::ceil(*this); }
Tensor& Tensor::ceil_() { return assign("ceil_", *this, tenon::ceil(before_write(*this))); }
Tensor Tensor::round() const { return tenon::round(*this); }
Tensor& Tensor::round_() { return assign("round_", *this, tenon::round(before_write(*this))); }
Tensor Tensor::round(int64_t decimals) const { return tenon::round(*this, decimals); }
Tensor& Tensor::round_(int64_t decimals) {
  return assign("round_", *this, tenon::round(before_write(*this), decimals));
}
Tensor Tensor::trunc() const { return tenon::trunc(*this); }
Tensor& Tensor::trunc_() { return assign("trunc_", *this, tenon::trunc(before_write(*this))); }
Tensor fix(const Tensor& x) { return trunc(x); }
Tensor Tensor::fix() const { return tenon::fix(*this); }
Tensor& Tensor::fix_() { return assign("fix_", *this, tenon::fix(before_write(*this))); }
Tensor Tensor::frac() const { return tenon::frac(*this); }
Tensor& Tensor::frac_() { return assign("frac_", *this, tenon::frac(before_write(*this))); }
Tensor Tensor::sinc() const { return tenon::sinc(*this); }
Tensor& Tensor::sinc_() { return assign("sinc_", *this, tenon::sinc(before_write(*this))); }
Tensor Tensor::deg2rad() const { return tenon::deg2rad(*this); }
Tensor& Tensor::deg2rad_() { return assign("deg2rad_", *this, tenon::deg2rad(before_write(*this))); }
Tensor Tensor::rad2deg() const { return tenon::rad2deg(*this); }
Tensor& Tensor::rad2deg_() { return assign("rad2deg_", *this, tenon::rad2deg(before_write(*this))); }
Tensor Tensor::nan_to_num(double nan, std::optional<double> posinf, std::optional<double> neginf) const {
  return tenon::nan_to_num(*this, nan, posinf, neginf);
}
Tensor& Tensor::nan_to_num_(double nan, std::optional<double> posinf, std::optional<double> neginf) {
  return assign("nan_to_num_", *this, tenon::nan_to_num(before_write(*this), nan, posinf, neginf));
}
Tensor Tensor::sigmoid() const { return tenon::sigmoid(*this); }
Tensor& Tensor::sigmoid_() { return assign("sigmoid_", *this, tenon::sigmoid(before_write(*this))); }
Tensor Tensor::relu() const { return tenon::relu(*this); }
Tensor& Tensor::relu_() { return assign("relu_", *this, tenon::relu(before_write(*this))); }
Tensor Tensor::leaky_relu(double negative_slope) const { return tenon::leaky_relu(*this, negative_slope); }
Tensor Tensor::elu(double alpha) const { return tenon::elu(*this, alpha); }
Tensor Tensor::softplus(double beta, double threshold) const { return tenon::softplus(*this, beta, threshold); }
Tensor Tensor::silu() const { return tenon::silu(*this); }
Tensor Tensor::mish() const { return tenon::mish(*this); }
Tensor Tensor::hardswish() const { return tenon::hardswish(*this); }
Tensor Tensor::gelu(std::string_view approximate) const { return tenon::gelu(*this, approximate); }
Tensor Tensor::relu6() const { return tenon::relu6(*this); }
Tensor Tensor::hardtanh(double min_val, double max_val) const { return tenon::hardtanh(*this, min_val, max_val); }
Tensor Tensor::hardsigmoid() const { return tenon::hardsigmoid(*this); }
Tensor Tensor::celu(double alpha) const { return tenon::celu(*this, alpha); }
Tensor Tensor::selu() const { return tenon::selu(*this); }
Tensor Tensor::glu(int64_t dim) const { return tenon::glu(*this, dim); }
Tensor Tensor::logsigmoid() const { return tenon::logsigmoid(*this); }
Tensor Tensor::softsign() const { return tenon::softsign(*this); }
Tensor Tensor::tanhshrink() const { return tenon::tanhshrink(*this); }
Tensor Tensor::hardshrink(double lambd) const { return tenon::hardshrink(*this, lambd); }
Tensor Tensor::softshrink(double lambd) const { return tenon::softshrink(*this, lambd); }
Tensor Tensor::threshold(double threshold, double value) const { return tenon::threshold(*this, threshold, value); }
Tensor Tensor::prelu(const Tensor& weight) const { return tenon::prelu(*this, weight); }
Tensor Tensor::softmin(int64_t dim, std::optional<DType> dtype) const { return tenon::softmin(*this, dim, dtype); }
Tensor Tensor::softmax(int64_t dim, std::optional<DType> dtype) const { return tenon::softmax(*this, dim, dtype); }
Tensor Tensor::log_softmax(int64_t dim, std::optional<DType> dtype) const {
  return tenon::log_softmax(*this, dim, dtype);
}
Tensor Tensor::sum(const Axes& dim, bool keepdim, std::optional<DType> dtype) const {
  return tenon::sum(*this, dim, keepdim, dtype);
}
Tensor Tensor::nansum(const Axes& dim, bool keepdim, std::optional<DType> dtype) const {
  return tenon::nansum(*this, dim, keepdim, dtype);
}
Tensor Tensor::mean(const Axes& dim, bool keepdim, std::optional<DType> dtype) const {
  return tenon::mean(*this, dim, keepdim, dtype);
}
Tensor Tensor::nanmean(const Axes& dim, bool keepdim, std::optional<DType> dtype) const {
  return tenon::nanmean(*this, dim, keepdim, dtype);
}
Tensor Tensor::prod(const Axes& dim, bool keepdim, std::optional<DType> dtype) const {
  return tenon::prod(*this, dim, keepdim, dtype);
}
Tensor Tensor::amax(const Axes& dim, bool keepdim) const { return tenon::amax(*this, dim, keepdim); }
Tensor Tensor::amin(const Axes& dim, bool keepdim) const { return tenon::amin(*this, dim, keepdim); }
Tensor Tensor::max() const { return tenon::max(*this); }
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return tenon::max(*this, dim, keepdim); }
Tensor Tensor::min() const { return tenon::min(*this); }
std::pair<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return tenon::min(*this, dim, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return tenon::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return tenon::argmin(*this, dim, keepdim); }
Tensor Tensor::var(const Axes& dim, double correction, bool keepdim) const {
  return tenon::var(*this, dim, correction, keepdim);
}
Tensor Tensor::std(const Axes& dim, double correction, bool keepdim) const {
  return tenon::std(*this, dim, correction, keepdim);
}
Tensor Tensor::any(const Axes& dim, bool keepdim) const { return tenon::any(*this, dim, keepdim); }
Tensor Tensor::all(const Axes& dim, bool keepdim) const { return tenon::all(*this, dim, keepdim); }
Tensor Tensor::count_nonzero(const Axes& dim) const { return tenon::count_nonzero(*this, dim); }
Tensor Tensor::norm(double p, const Axes& dim, bool keepdim) const { return tenon::norm(*this, p, dim, keepdim); }
Tensor Tensor::dist(const Tensor& other, double p) const { return tenon::dist(*this, other, p); }
Tensor Tensor::logsumexp(const Axes& dim, bool keepdim) const { return tenon::logsumexp(*this, dim, keepdim); }
Tensor Tensor::cumsum(int64_t dim, std::optional<DType> dtype) const { return tenon::cumsum(*this, dim, dtype); }
Tensor& Tensor::cumsum_(int64_t dim, std::optional<DType> dtype) {
  return assign("cumsum_", *this, tenon::cumsum(before_write(*this), dim, dtype));
}
Tensor Tensor::cumprod(int64_t dim, std::optional<DType> dtype) const { return tenon::cumprod(*this, dim, dtype); }
Tensor& Tensor::cumprod_(int64_t dim, std::optional<DType> dtype) {
  return assign("cumprod_", *this, tenon::cumprod(before_write(*this), dim, dtype));
}
std::pair<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return tenon::cummax(*this, dim); }
std::pair<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return tenon::cummin(*this, dim); }
Tensor Tensor::logcumsumexp(int64_t dim) const { return tenon::logcumsumexp(*this, dim); }
Tensor Tensor::diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const {
  return tenon::diff(*this, n, dim, prepend, append);
}
std::vector<Tensor> gradient(const Tensor& x, std::initializer_list<Tensor> spacing, const Axes& dim,
                             int64_t edge_order) {
  return gradient(x, std::span(spacing.begin(), spacing.size()), dim, edge_order);
}
Tensor Tensor::histc(int64_t bins, double min, double max) const { return tenon::histc(*this, bins, min, max); }
Tensor trapz(const Tensor& y, const Tensor& x, std::optional<double> dx, int64_t dim) {
  return trapezoid(y, x, dx, dim);
}
Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const {
  return tenon::cov(*this, correction, fweights, aweights);
}
Tensor Tensor::corrcoef() const { return tenon::corrcoef(*this); }
Tensor Tensor::median() const { return tenon::median(*this); }
std::pair<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) const { return tenon::median(*this, dim, keepdim); }
Tensor Tensor::nanmedian() const { return tenon::nanmedian(*this); }
std::pair<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) const {
  return tenon::nanmedian(*this, dim, keepdim);
}
std::pair<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return tenon::kthvalue(*this, k, dim, keepdim);
}
std::pair<Tensor, Tensor> Tensor::mode(int64_t dim, bool keepdim) const { return tenon::mode(*this, dim, keepdim); }
Tensor Tensor::quantile(const Operand& q, std::optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) const {
  return tenon::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(const Operand& q, std::optional<int64_t> dim, bool keepdim,
                           std::string_view interpolation) const {
  return tenon::nanquantile(*this, q, dim, keepdim, interpolation);
}
std::pair<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending, bool stable) const {
  return tenon::sort(*this, dim, descending, stable);
}
Tensor Tensor::argsort(int64_t dim, bool descending, bool stable) const {
  return tenon::argsort(*this, dim, descending, stable);
}
std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return tenon::topk(*this, k, dim, largest, sorted);
}
Tensor Tensor::reshape(const Dims& shape) const { return tenon::reshape(*this, shape); }
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const { return tenon::flatten(*this, start_dim, end_dim); }
Tensor Tensor::ravel() const { return tenon::ravel(*this); }
Tensor Tensor::unflatten(int64_t dim, const Dims& sizes) const { return tenon::unflatten(*this, dim, sizes); }
Tensor Tensor::permute(const Dims& dims) const { return tenon::permute(*this, dims); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const { return tenon::transpose(*this, dim0, dim1); }
Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) { return transpose(x, dim0, dim1); }
Tensor Tensor::swapdims(int64_t dim0, int64_t dim1) const { return tenon::swapdims(*this, dim0, dim1); }
Tensor Tensor::swapaxes(int64_t axis0, int64_t axis1) const { return tenon::swapaxes(*this, axis0, axis1); }
Tensor Tensor::t() const { return tenon::t(*this); }
Tensor Tensor::movedim(const Axes& source, const Axes& destination) const {
  return tenon::movedim(*this, source, destination);
}
Tensor moveaxis(const Tensor& x, const Axes& source, const Axes& destination) {
  return movedim(x, source, destination);
}
Tensor Tensor::moveaxis(const Axes& source, const Axes& destination) const {
  return tenon::moveaxis(*this, source, destination);
}
Tensor Tensor::expand(const Dims& shape) const { return tenon::expand(*this, shape); }
Tensor Tensor::broadcast_to(const Dims& shape) const { return tenon::broadcast_to(*this, shape); }
Tensor Tensor::squeeze() const { return tenon::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return tenon::squeeze(*this, dim); }
Tensor Tensor::squeeze(const Dims& dims) const { return tenon::squeeze(*this, dims); }
Tensor Tensor::unsqueeze(int64_t dim) const { return tenon::unsqueeze(*this, dim); }
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diagonal(*this, offset, dim1, dim2);
}
Tensor Tensor::select(int64_t dim, int64_t index) const { return tenon::select(*this, dim, index); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return tenon::narrow(*this, dim, start, length);
}
std::vector<Tensor> Tensor::split(const Dims& sizes, int64_t dim) const { return tenon::split(*this, sizes, dim); }
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const { return tenon::split(*this, size, dim); }
std::vector<Tensor> Tensor::split_with_sizes(const Dims& split_sizes, int64_t dim) const {
  return tenon::split_with_sizes(*this, split_sizes, dim);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const { return tenon::chunk(*this, chunks, dim); }
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return tenon::unbind(*this, dim); }
Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  return tenon::unfold(*this, dimension, size, step);
}
Tensor Tensor::as_strided(const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) const {
  return tenon::as_strided(*this, size, stride, storage_offset);
}
Tensor Tensor::flip(const Axes& dims) const { return tenon::flip(*this, dims); }
Tensor Tensor::fliplr() const { return tenon::fliplr(*this); }
Tensor Tensor::flipud() const { return tenon::flipud(*this); }
Tensor Tensor::roll(int64_t shift, int64_t dim) const { return tenon::roll(*this, shift, dim); }
Tensor Tensor::roll(const Dims& shifts, const Dims& dims) const { return tenon::roll(*this, shifts, dims); }
Tensor Tensor::pad(const Dims& pad, Number value) const { return tenon::pad(*this, pad, value); }
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim) {
  return cat(std::span(tensors.begin(), tensors.size()), dim);
}
Tensor concat(std::span<const Tensor> tensors, int64_t dim) { return cat(tensors, dim); }
Tensor concat(std::initializer_list<Tensor> tensors, int64_t dim) {
  return concat(std::span(tensors.begin(), tensors.size()), dim);
}
Tensor concatenate(std::span<const Tensor> tensors, int64_t dim) { return cat(tensors, dim); }
Tensor concatenate(std::initializer_list<Tensor> tensors, int64_t dim) {
  return concatenate(std::span(tensors.begin(), tensors.size()), dim);
}
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim) {
  return stack(std::span(tensors.begin(), tensors.size()), dim);
}
Tensor hstack(std::initializer_list<Tensor> tensors) {
  return hstack(std::span(tensors.begin(), tensors.size()));
}
Tensor vstack(std::initializer_list<Tensor> tensors) {
  return vstack(std::span(tensors.begin(), tensors.size()));
}
Tensor row_stack(std::span<const Tensor> tensors) { return vstack(tensors); }
Tensor row_stack(std::initializer_list<Tensor> tensors) {
  return row_stack(std::span(tensors.begin(), tensors.size()));
}
Tensor column_stack(std::initializer_list<Tensor> tensors) {
  return column_stack(std::span(tensors.begin(), tensors.size()));
}
Tensor dstack(std::initializer_list<Tensor> tensors) {
  return dstack(std::span(tensors.begin(), tensors.size()));
}
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors, std::string_view indexing) {
  return meshgrid(std::span(tensors.begin(), tensors.size()), indexing);
}
Tensor Tensor::repeat(const Dims& repeats) const { return tenon::repeat(*this, repeats); }
Tensor Tensor::tile(const Dims& dims) const { return tenon::tile(*this, dims); }
Tensor Tensor::repeat_interleave(const Operand& repeats, std::optional<int64_t> dim) const {
  return tenon::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::tril(int64_t diagonal) const { return tenon::tril(*this, diagonal); }
Tensor& Tensor::tril_(int64_t diagonal) { return assign("tril_", *this, tenon::tril(before_write(*this), diagonal)); }
Tensor Tensor::triu(int64_t diagonal) const { return tenon::triu(*this, diagonal); }
Tensor& Tensor::triu_(int64_t diagonal) { return assign("triu_", *this, tenon::triu(before_write(*this), diagonal)); }
Tensor Tensor::diag(int64_t diagonal) const { return tenon::diag(*this, diagonal); }
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diag_embed(*this, offset, dim1, dim2);
}
Tensor Tensor::trace() const { return tenon::trace(*this); }
Tensor Tensor::renorm(double p, int64_t dim, double maxnorm) const { return tenon::renorm(*this, p, dim, maxnorm); }
Tensor& Tensor::renorm_(double p, int64_t dim, double maxnorm) {
  return assign("renorm_", *this, tenon::renorm(before_write(*this), p, dim, maxnorm));
}
Tensor Tensor::gather(int64_t dim, const Tensor& index) const { return tenon::gather(*this, dim, index); }
Tensor Tensor::take(const Tensor& index) const { return tenon::take(*this, index); }
Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<int64_t> dim) const {
  return tenon::take_along_dim(*this, indices, dim);
}
Tensor Tensor::index_select(int64_t dim, const Tensor& index) const { return tenon::index_select(*this, dim, index); }
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, Number alpha) const {
  return tenon::index_add(*this, dim, index, source, alpha);
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, Number alpha) {
  return assign("index_add_", *this, tenon::index_add(before_write(*this), dim, index, source, alpha));
}
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tenon::index_copy(*this, dim, index, source);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) {
  return assign("index_copy_", *this, tenon::index_copy(before_write(*this), dim, index, source));
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Operand& value) const {
  return tenon::index_fill(*this, dim, index, value);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Operand& value) {
  return assign("index_fill_", *this, tenon::index_fill(before_write(*this), dim, index, value));
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Operand& source,
                       std::optional<std::string_view> reduce) const {
  return tenon::scatter(*this, dim, index, source, reduce);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Operand& source,
                         std::optional<std::string_view> reduce) {
  return assign("scatter_", *this, tenon::scatter(before_write(*this), dim, index, source, reduce));
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tenon::scatter_add(*this, dim, index, source);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& source) {
  return assign("scatter_add_", *this, tenon::scatter_add(before_write(*this), dim, index, source));
}
Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                              bool include_self) const {
  return tenon::scatter_reduce(*this, dim, index, source, reduce, include_self);
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                                bool include_self) {
  return assign("scatter_reduce_", *this, tenon::scatter_reduce(before_write(*this), dim, index, source, reduce,
                include_self));
}
Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                            bool include_self) const {
  return tenon::index_reduce(*this, dim, index, source, reduce, include_self);
}
Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                              bool include_self) {
  return assign("index_reduce_", *this, tenon::index_reduce(before_write(*this), dim, index, source, reduce,
                include_self));
}
Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return tenon::select_scatter(*this, src, dim, index);
}
Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                             int64_t step) const {
  return tenon::slice_scatter(*this, src, dim, start, end, step);
}
Tensor Tensor::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diagonal_scatter(*this, src, offset, dim1, dim2);
}
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  return tenon::masked_scatter(*this, mask, source);
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) {
  return assign("masked_scatter_", *this, tenon::masked_scatter(before_write(*this), mask, source));
}
Tensor Tensor::searchsorted(const Operand& values, bool out_int32, bool right, std::optional<std::string_view> side,
                            const Tensor& sorter) const {
  return tenon::searchsorted(*this, values, out_int32, right, side, sorter);
}
Tensor Tensor::bucketize(const Tensor& boundaries, bool out_int32, bool right) const {
  return tenon::bucketize(*this, boundaries, out_int32, right);
}
Tensor Tensor::one_hot(int64_t num_classes) const { return tenon::one_hot(*this, num_classes); }
Tensor Tensor::masked_select(const Tensor& mask) const { return tenon::masked_select(*this, mask); }
Tensor Tensor::nonzero() const { return tenon::nonzero(*this); }
Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const {
  return tenon::bincount(*this, weights, minlength);
}
Tensor Tensor::matmul(const Tensor& b) const { return tenon::matmul(*this, b); }
Tensor Tensor::mm(const Tensor& b) const { return tenon::mm(*this, b); }
Tensor Tensor::bmm(const Tensor& b) const { return tenon::bmm(*this, b); }
Tensor Tensor::mv(const Tensor& b) const { return tenon::mv(*this, b); }
Tensor Tensor::dot(const Tensor& b) const { return tenon::dot(*this, b); }
Tensor vdot(const Tensor& a, const Tensor& b) { return dot(a, b); }
Tensor Tensor::vdot(const Tensor& b) const { return tenon::vdot(*this, b); }
Tensor Tensor::inner(const Tensor& other) const { return tenon::inner(*this, other); }
Tensor Tensor::kron(const Tensor& other) const { return tenon::kron(*this, other); }
Tensor Tensor::cross(const Tensor& other, std::optional<int64_t> dim) const { return tenon::cross(*this, other, dim); }
Tensor Tensor::outer(const Tensor& b) const { return tenon::outer(*this, b); }
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::addmm(*this, a, b, beta, alpha);
}
Tensor& Tensor::addmm_(const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  return assign("addmm_", *this, tenon::addmm(before_write(*this), a, b, beta, alpha));
}
Tensor Tensor::addmv(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::addmv(*this, a, b, beta, alpha);
}
Tensor& Tensor::addmv_(const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  return assign("addmv_", *this, tenon::addmv(before_write(*this), a, b, beta, alpha));
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::baddbmm(*this, a, b, beta, alpha);
}
Tensor& Tensor::baddbmm_(const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  return assign("baddbmm_", *this, tenon::baddbmm(before_write(*this), a, b, beta, alpha));
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::addr(*this, a, b, beta, alpha);
}
Tensor& Tensor::addr_(const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  return assign("addr_", *this, tenon::addr(before_write(*this), a, b, beta, alpha));
}
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span(operands.begin(), operands.size()));
}
Tensor Tensor::bernoulli(Generator* generator) const { return tenon::bernoulli(*this, generator); }
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, Generator* generator) const {
  return tenon::multinomial(*this, num_samples, replacement, generator);
}

}  // namespace tenon
