// Methods that are spelled as functions elsewhere.

#include "tenon/tensor/ops.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

Tensor Tensor::abs() const { return tenon::abs(*this); }
Tensor Tensor::exp() const { return tenon::exp(*this); }
Tensor Tensor::log() const { return tenon::log(*this); }
Tensor Tensor::sqrt() const { return tenon::sqrt(*this); }
Tensor Tensor::rsqrt() const { return tenon::rsqrt(*this); }
Tensor Tensor::square() const { return tenon::square(*this); }
Tensor Tensor::sin() const { return tenon::sin(*this); }
Tensor Tensor::cos() const { return tenon::cos(*this); }
Tensor Tensor::tanh() const { return tenon::tanh(*this); }
Tensor Tensor::sigmoid() const { return tenon::sigmoid(*this); }
Tensor Tensor::relu() const { return tenon::relu(*this); }
Tensor Tensor::pow(const Operand& exponent) const { return tenon::pow(*this, exponent); }
Tensor Tensor::clamp(std::optional<Number> min, std::optional<Number> max) const {
  return tenon::clamp(*this, min, max);
}
Tensor Tensor::masked_fill(const Tensor& mask, Number value) const { return tenon::masked_fill(*this, mask, value); }
Tensor Tensor::operator-() const { return tenon::neg(*this); }
Tensor Tensor::operator!() const { return tenon::logical_not(*this); }

Tensor Tensor::sum() const { return tenon::sum(*this); }
Tensor Tensor::sum(const Dims& dims, bool keepdim) const { return tenon::sum(*this, dims, keepdim); }
Tensor Tensor::mean() const { return tenon::mean(*this); }
Tensor Tensor::mean(const Dims& dims, bool keepdim) const { return tenon::mean(*this, dims, keepdim); }
Tensor Tensor::max() const { return tenon::amax(*this); }
Tensor Tensor::min() const { return tenon::amin(*this); }
Tensor Tensor::amax(const Dims& dims, bool keepdim) const { return tenon::amax(*this, dims, keepdim); }
Tensor Tensor::amin(const Dims& dims, bool keepdim) const { return tenon::amin(*this, dims, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return tenon::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return tenon::argmin(*this, dim, keepdim); }
Tensor Tensor::any() const { return tenon::any(*this); }
Tensor Tensor::all() const { return tenon::all(*this); }
Tensor Tensor::softmax(int64_t dim) const { return tenon::softmax(*this, dim); }

Tensor Tensor::reshape(const Dims& shape) const { return tenon::reshape(*this, shape); }
Tensor Tensor::flatten(int64_t first, int64_t last) const { return tenon::flatten(*this, first, last); }
Tensor Tensor::permute(const Dims& dims) const { return tenon::permute(*this, dims); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return tenon::transpose(*this, a, b); }
Tensor Tensor::expand(const Dims& shape) const { return tenon::expand(*this, shape); }
Tensor Tensor::squeeze() const { return tenon::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return tenon::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return tenon::unsqueeze(*this, dim); }
std::vector<Tensor> Tensor::split(const Dims& sizes, int64_t dim) const { return tenon::split(*this, sizes, dim); }
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const { return tenon::chunk(*this, chunks, dim); }

Tensor Tensor::matmul(const Tensor& other) const { return tenon::matmul(*this, other); }

}  // namespace tenon
