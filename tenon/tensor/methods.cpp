// Methods that are functions of ops.h.

#include "tenon/tensor/access.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

Tensor Tensor::add(const Operand& other) const { return tenon::add(*this, other); }
Tensor Tensor::add(const Operand& other, Number alpha) const { return tenon::add(*this, other, alpha); }
Tensor Tensor::sub(const Operand& other) const { return tenon::sub(*this, other); }
Tensor Tensor::sub(const Operand& other, Number alpha) const { return tenon::sub(*this, other, alpha); }
Tensor Tensor::mul(const Operand& other) const { return tenon::mul(*this, other); }
Tensor Tensor::div(const Operand& other) const { return tenon::div(*this, other); }
Tensor Tensor::floor_divide(const Operand& other) const { return tenon::floor_divide(*this, other); }
Tensor Tensor::remainder(const Operand& other) const { return tenon::remainder(*this, other); }
Tensor Tensor::fmod(const Operand& other) const { return tenon::fmod(*this, other); }
Tensor Tensor::pow(const Operand& exponent) const { return tenon::pow(*this, exponent); }
Tensor Tensor::maximum(const Operand& other) const { return tenon::maximum(*this, other); }
Tensor Tensor::minimum(const Operand& other) const { return tenon::minimum(*this, other); }
Tensor Tensor::atan2(const Operand& other) const { return tenon::atan2(*this, other); }
Tensor Tensor::hypot(const Operand& other) const { return tenon::hypot(*this, other); }
Tensor Tensor::logaddexp(const Operand& other) const { return tenon::logaddexp(*this, other); }
Tensor Tensor::lerp(const Operand& end, const Operand& weight) const { return tenon::lerp(*this, end, weight); }
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, Number value) const {
  return tenon::addcmul(*this, a, b, value);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, Number value) const {
  return tenon::addcdiv(*this, a, b, value);
}
Tensor Tensor::eq(const Operand& other) const { return tenon::eq(*this, other); }
Tensor Tensor::ne(const Operand& other) const { return tenon::ne(*this, other); }
Tensor Tensor::lt(const Operand& other) const { return tenon::lt(*this, other); }
Tensor Tensor::le(const Operand& other) const { return tenon::le(*this, other); }
Tensor Tensor::gt(const Operand& other) const { return tenon::gt(*this, other); }
Tensor Tensor::ge(const Operand& other) const { return tenon::ge(*this, other); }
Tensor Tensor::logical_and(const Operand& other) const { return tenon::logical_and(*this, other); }
Tensor Tensor::logical_or(const Operand& other) const { return tenon::logical_or(*this, other); }
Tensor Tensor::logical_xor(const Operand& other) const { return tenon::logical_xor(*this, other); }
Tensor Tensor::logical_not() const { return tenon::logical_not(*this); }
Tensor Tensor::bitwise_and(const Operand& other) const { return tenon::bitwise_and(*this, other); }
Tensor Tensor::bitwise_or(const Operand& other) const { return tenon::bitwise_or(*this, other); }
Tensor Tensor::bitwise_xor(const Operand& other) const { return tenon::bitwise_xor(*this, other); }
Tensor Tensor::bitwise_not() const { return tenon::bitwise_not(*this); }
Tensor Tensor::neg() const { return tenon::neg(*this); }
Tensor Tensor::abs() const { return tenon::abs(*this); }
Tensor Tensor::sign() const { return tenon::sign(*this); }
Tensor Tensor::sqrt() const { return tenon::sqrt(*this); }
Tensor Tensor::rsqrt() const { return tenon::rsqrt(*this); }
Tensor Tensor::square() const { return tenon::square(*this); }
Tensor Tensor::reciprocal() const { return tenon::reciprocal(*this); }
Tensor Tensor::exp() const { return tenon::exp(*this); }
Tensor Tensor::exp2() const { return tenon::exp2(*this); }
Tensor Tensor::expm1() const { return tenon::expm1(*this); }
Tensor Tensor::log() const { return tenon::log(*this); }
Tensor Tensor::log2() const { return tenon::log2(*this); }
Tensor Tensor::log10() const { return tenon::log10(*this); }
Tensor Tensor::log1p() const { return tenon::log1p(*this); }
Tensor Tensor::sin() const { return tenon::sin(*this); }
Tensor Tensor::cos() const { return tenon::cos(*this); }
Tensor Tensor::tan() const { return tenon::tan(*this); }
Tensor Tensor::asin() const { return tenon::asin(*this); }
Tensor Tensor::acos() const { return tenon::acos(*this); }
Tensor Tensor::atan() const { return tenon::atan(*this); }
Tensor Tensor::sinh() const { return tenon::sinh(*this); }
Tensor Tensor::cosh() const { return tenon::cosh(*this); }
Tensor Tensor::tanh() const { return tenon::tanh(*this); }
Tensor Tensor::asinh() const { return tenon::asinh(*this); }
Tensor Tensor::acosh() const { return tenon::acosh(*this); }
Tensor Tensor::atanh() const { return tenon::atanh(*this); }
Tensor Tensor::erf() const { return tenon::erf(*this); }
Tensor Tensor::erfc() const { return tenon::erfc(*this); }
Tensor Tensor::lgamma() const { return tenon::lgamma(*this); }
Tensor Tensor::digamma() const { return tenon::digamma(*this); }
Tensor Tensor::sigmoid() const { return tenon::sigmoid(*this); }
Tensor Tensor::floor() const { return tenon::floor(*this); }
Tensor Tensor::ceil() const { return tenon::ceil(*this); }
Tensor Tensor::round() const { return tenon::round(*this); }
Tensor Tensor::trunc() const { return tenon::trunc(*this); }
Tensor Tensor::frac() const { return tenon::frac(*this); }
Tensor Tensor::isnan() const { return tenon::isnan(*this); }
Tensor Tensor::isinf() const { return tenon::isinf(*this); }
Tensor Tensor::isfinite() const { return tenon::isfinite(*this); }
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tenon::isclose(*this, other, rtol, atol, equal_nan);
}
Tensor Tensor::isin(const Tensor& elements) const { return tenon::isin(*this, elements); }
Tensor Tensor::nan_to_num(double nan, std::optional<double> posinf, std::optional<double> neginf) const {
  return tenon::nan_to_num(*this, nan, posinf, neginf);
}
Tensor Tensor::clamp(std::optional<Operand> min, std::optional<Operand> max) const {
  return tenon::clamp(*this, min, max);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value) const {
  return tenon::masked_fill(*this, mask, value);
}
Tensor Tensor::relu() const { return tenon::relu(*this); }
Tensor Tensor::sum(const Axes& dims, bool keepdim) const { return tenon::sum(*this, dims, keepdim); }
Tensor Tensor::nansum(const Axes& dims, bool keepdim) const { return tenon::nansum(*this, dims, keepdim); }
Tensor Tensor::mean(const Axes& dims, bool keepdim) const { return tenon::mean(*this, dims, keepdim); }
Tensor Tensor::nanmean(const Axes& dims, bool keepdim) const { return tenon::nanmean(*this, dims, keepdim); }
Tensor Tensor::prod(const Axes& dims, bool keepdim) const { return tenon::prod(*this, dims, keepdim); }
Tensor Tensor::amax(const Axes& dims, bool keepdim) const { return tenon::amax(*this, dims, keepdim); }
Tensor Tensor::amin(const Axes& dims, bool keepdim) const { return tenon::amin(*this, dims, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return tenon::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return tenon::argmin(*this, dim, keepdim); }
Tensor Tensor::var(const Axes& dims, double correction, bool keepdim) const {
  return tenon::var(*this, dims, correction, keepdim);
}
Tensor Tensor::std(const Axes& dims, double correction, bool keepdim) const {
  return tenon::std(*this, dims, correction, keepdim);
}
Tensor Tensor::any(const Axes& dims, bool keepdim) const { return tenon::any(*this, dims, keepdim); }
Tensor Tensor::all(const Axes& dims, bool keepdim) const { return tenon::all(*this, dims, keepdim); }
Tensor Tensor::count_nonzero(const Axes& dims) const { return tenon::count_nonzero(*this, dims); }
Tensor Tensor::norm(double p, const Axes& dims, bool keepdim) const { return tenon::norm(*this, p, dims, keepdim); }
Tensor Tensor::logsumexp(const Axes& dims, bool keepdim) const { return tenon::logsumexp(*this, dims, keepdim); }
Tensor Tensor::softmax(int64_t dim) const { return tenon::softmax(*this, dim); }
Tensor Tensor::log_softmax(int64_t dim) const { return tenon::log_softmax(*this, dim); }
Tensor Tensor::cumsum(int64_t dim) const { return tenon::cumsum(*this, dim); }
Tensor Tensor::cumprod(int64_t dim) const { return tenon::cumprod(*this, dim); }
Tensor Tensor::diff(int64_t n, int64_t dim) const { return tenon::diff(*this, n, dim); }
Tensor Tensor::median() const { return tenon::median(*this); }
std::pair<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) const { return tenon::median(*this, dim, keepdim); }
std::pair<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return tenon::kthvalue(*this, k, dim, keepdim);
}
Tensor Tensor::quantile(const Operand& q, std::optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) const {
  return tenon::quantile(*this, q, dim, keepdim, interpolation);
}
std::pair<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const {
  return tenon::sort(*this, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) const { return tenon::argsort(*this, dim, descending); }
std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest) const {
  return tenon::topk(*this, k, dim, largest);
}
Tensor Tensor::reshape(const Dims& shape) const { return tenon::reshape(*this, shape); }
Tensor Tensor::flatten(int64_t first, int64_t last) const { return tenon::flatten(*this, first, last); }
Tensor Tensor::unflatten(int64_t dim, const Dims& sizes) const { return tenon::unflatten(*this, dim, sizes); }
Tensor Tensor::permute(const Dims& dims) const { return tenon::permute(*this, dims); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return tenon::transpose(*this, a, b); }
Tensor Tensor::movedim(const Axes& from, const Axes& to) const { return tenon::movedim(*this, from, to); }
Tensor Tensor::expand(const Dims& shape) const { return tenon::expand(*this, shape); }
Tensor Tensor::squeeze() const { return tenon::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return tenon::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return tenon::unsqueeze(*this, dim); }
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diagonal(*this, offset, dim1, dim2);
}
std::vector<Tensor> Tensor::split(const Dims& sizes, int64_t dim) const { return tenon::split(*this, sizes, dim); }
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const { return tenon::split(*this, size, dim); }
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const { return tenon::chunk(*this, chunks, dim); }
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return tenon::unbind(*this, dim); }
Tensor Tensor::repeat(const Dims& repeats) const { return tenon::repeat(*this, repeats); }
Tensor Tensor::repeat_interleave(const Operand& repeats, std::optional<int64_t> dim) const {
  return tenon::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::roll(int64_t shift, int64_t dim) const { return tenon::roll(*this, shift, dim); }
Tensor Tensor::tril(int64_t diagonal) const { return tenon::tril(*this, diagonal); }
Tensor Tensor::triu(int64_t diagonal) const { return tenon::triu(*this, diagonal); }
Tensor Tensor::diag(int64_t diagonal) const { return tenon::diag(*this, diagonal); }
Tensor Tensor::trace() const { return tenon::trace(*this); }
Tensor Tensor::unfold(int64_t dim, int64_t size, int64_t step) const { return tenon::unfold(*this, dim, size, step); }
Tensor Tensor::gather(int64_t dim, const Tensor& index) const { return tenon::gather(*this, dim, index); }
Tensor Tensor::take(const Tensor& index) const { return tenon::take(*this, index); }
Tensor Tensor::take_along_dim(const Tensor& index, int64_t dim) const {
  return tenon::take_along_dim(*this, index, dim);
}
Tensor Tensor::index_select(int64_t dim, const Tensor& index) const { return tenon::index_select(*this, dim, index); }
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, Number alpha) const {
  return tenon::index_add(*this, dim, index, source, alpha);
}
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tenon::index_copy(*this, dim, index, source);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Operand& value) const {
  return tenon::index_fill(*this, dim, index, value);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Operand& source) const {
  return tenon::scatter(*this, dim, index, source);
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tenon::scatter_add(*this, dim, index, source);
}
Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                              bool include_self) const {
  return tenon::scatter_reduce(*this, dim, index, source, reduce, include_self);
}
Tensor Tensor::masked_select(const Tensor& mask) const { return tenon::masked_select(*this, mask); }
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  return tenon::masked_scatter(*this, mask, source);
}
Tensor Tensor::nonzero() const { return tenon::nonzero(*this); }
Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const {
  return tenon::bincount(*this, weights, minlength);
}
Tensor Tensor::matmul(const Tensor& other) const { return tenon::matmul(*this, other); }
Tensor Tensor::mm(const Tensor& other) const { return tenon::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tenon::bmm(*this, other); }
Tensor Tensor::mv(const Tensor& vector) const { return tenon::mv(*this, vector); }
Tensor Tensor::dot(const Tensor& other) const { return tenon::dot(*this, other); }
Tensor Tensor::outer(const Tensor& other) const { return tenon::outer(*this, other); }
Tensor Tensor::copysign(const Operand& sign) const { return tenon::copysign(*this, sign); }
Tensor Tensor::heaviside(const Tensor& at_0) const { return tenon::heaviside(*this, at_0); }
Tensor Tensor::float_power(const Operand& exponent) const { return tenon::float_power(*this, exponent); }
Tensor Tensor::logit(std::optional<double> eps) const { return tenon::logit(*this, eps); }
Tensor Tensor::signbit() const { return tenon::signbit(*this); }
Tensor Tensor::sinc() const { return tenon::sinc(*this); }
Tensor Tensor::deg2rad() const { return tenon::deg2rad(*this); }
Tensor Tensor::rad2deg() const { return tenon::rad2deg(*this); }
Tensor Tensor::nanmedian() const { return tenon::nanmedian(*this); }
std::pair<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) const {
  return tenon::nanmedian(*this, dim, keepdim);
}
Tensor Tensor::logcumsumexp(int64_t dim) const { return tenon::logcumsumexp(*this, dim); }
Tensor Tensor::dist(const Tensor& other, double p) const { return tenon::dist(*this, other, p); }
Tensor Tensor::histc(int64_t bins, double low, double high) const { return tenon::histc(*this, bins, low, high); }
Tensor Tensor::addmv(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::addmv(*this, a, b, beta, alpha);
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::baddbmm(*this, a, b, beta, alpha);
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::addr(*this, a, b, beta, alpha);
}
Tensor Tensor::select_scatter(const Tensor& source, int64_t dim, int64_t index) const {
  return tenon::select_scatter(*this, source, dim, index);
}
Tensor Tensor::slice_scatter(const Tensor& source, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                             int64_t step) const {
  return tenon::slice_scatter(*this, source, dim, start, end, step);
}
Tensor Tensor::diagonal_scatter(const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diagonal_scatter(*this, source, offset, dim1, dim2);
}
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, Number beta, Number alpha) const {
  return tenon::addmm(*this, a, b, beta, alpha);
}

Tensor Tensor::operator-() const { return tenon::neg(*this); }
Tensor Tensor::operator!() const { return tenon::logical_not(*this); }
Tensor Tensor::operator~() const { return tenon::bitwise_not(*this); }
Tensor Tensor::clamp_min(const Operand& min) const { return tenon::clamp(*this, min, {}); }
Tensor Tensor::clamp_max(const Operand& max) const { return tenon::clamp(*this, {}, max); }
Tensor Tensor::where(const Tensor& condition, const Operand& other) const {
  return tenon::where(condition, *this, other);
}
Tensor Tensor::flip(const Axes& dims) const { return tenon::flip(*this, dims); }
Tensor Tensor::expand_as(const Tensor& other) const { return tenon::expand(*this, other.shape()); }
Tensor Tensor::max() const { return tenon::max(*this); }
Tensor Tensor::min() const { return tenon::min(*this); }
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return tenon::max(*this, dim, keepdim); }
std::pair<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return tenon::min(*this, dim, keepdim); }

}  // namespace tenon
