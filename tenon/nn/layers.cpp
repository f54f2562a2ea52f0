// Parameters and their initial values; the arithmetic is that of functional.h.

#include "tenon/nn/layers.h"

#include <cmath>

#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/autograd.h"

namespace tenon::nn {
namespace {

void require_positive(std::string_view layer, std::string_view what, int64_t size) {
  if (size <= 0) base::fail(layer, "{} must be positive, got {}", what, size);
}

void require_eps(std::string_view layer, double eps) {
  if (!(eps >= 0)) base::fail(layer, "eps cannot be negative, got {}", eps);
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, bool has_bias, const Options& options) {
  require_positive("linear", "the number of inputs", in);
  require_positive("linear", "the number of outputs", out);
  weight = empty({out, in}, options);
  init::kaiming_uniform_(weight, std::sqrt(5.0));  // as PyTorch: a bound of 1 / sqrt(in)
  register_parameter("weight", weight);
  if (has_bias) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    bias = empty({out}, options);
    init::uniform_(bias, -bound, bound);
  }
  register_parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& x) const {
  const Tensor y = linear(x, weight, bias);
  return lora_ ? y + (*lora_)(x) : y;
}

void Linear::adapt(const LoraOptions& options) {
  if (lora_) base::fail("lora", "{} has a correction already; merge() it first", scope_name());
  lora_ = std::make_unique<Lora>(weight.size(1), weight.size(0), options, Options(weight.dtype(), weight.device()));
  lora_->train(is_training());
  register_module("lora", *lora_);
}

void Linear::merge() {
  if (!lora_) return;
  const NoGrad merging;
  weight.add_(lora_->delta().transpose(0, 1));
  remove_module("lora");
  lora_.reset();
}

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, bool has_bias, const Options& options) {
  require_positive("bilinear", "the number of first inputs", in1);
  require_positive("bilinear", "the number of second inputs", in2);
  require_positive("bilinear", "the number of outputs", out);
  const double bound = 1 / std::sqrt(static_cast<double>(in1));
  weight = empty({out, in1, in2}, options);
  init::uniform_(weight, -bound, bound);
  register_parameter("weight", weight);
  if (has_bias) {
    bias = empty({out}, options);
    init::uniform_(bias, -bound, bound);
  }
  register_parameter("bias", bias);
}

Tensor Bilinear::forward(const Tensor& x, const Tensor& y) const { return bilinear(x, y, weight, bias); }

namespace {

// A table whose row `padding`, if any, is zeros; a negative one becomes its place from the beginning.
Tensor new_table(std::string_view layer, int64_t count, int64_t width, std::optional<int64_t>& padding,
                 const Options& options) {
  require_positive(layer, "the number of rows", count);
  require_positive(layer, "the width", width);
  if (padding && (*padding < -count || *padding >= count))
    base::fail(layer, "padding row {} is out of range for {} rows", *padding, count);
  if (padding && *padding < 0) *padding += count;
  Tensor table = empty({count, width}, options);
  init::normal_(table);
  if (padding) table.select(0, *padding).zero_();
  return table;
}

}  // namespace

Embedding::Embedding(int64_t count, int64_t width, std::optional<int64_t> padding, const Options& options)
    : padding_(padding) {
  weight = new_table("embedding", count, width, padding_, options);
  register_parameter("weight", weight);
}

Tensor Embedding::forward(const Tensor& index) const { return embedding(weight, index, padding_); }

EmbeddingBag::EmbeddingBag(int64_t count, int64_t width, BagMode mode, std::optional<int64_t> padding,
                           bool include_last_offset, const Options& options)
    : mode_(mode), padding_(padding), include_last_offset_(include_last_offset) {
  weight = new_table("embedding_bag", count, width, padding_, options);
  register_parameter("weight", weight);
}

Tensor EmbeddingBag::forward(const Tensor& index, const Tensor& offsets, const Tensor& per_sample_weights) const {
  return embedding_bag(weight, index, {offsets, mode_, per_sample_weights, include_last_offset_, padding_});
}

LayerNorm::LayerNorm(const Dims& shape, double eps, bool affine, bool has_bias, const Options& options)
    : shape_(shape), eps_(eps) {
  require_eps("layer_norm", eps);
  if (affine) weight = ones(shape, options);
  if (affine && has_bias) bias = zeros(shape, options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor LayerNorm::forward(const Tensor& x) const { return layer_norm(x, shape_, weight, bias, eps_); }

RMSNorm::RMSNorm(const Dims& shape, double eps, bool affine, const Options& options) : shape_(shape), eps_(eps) {
  require_eps("rms_norm", eps);
  if (affine) weight = ones(shape, options);
  register_parameter("weight", weight);
}

Tensor RMSNorm::forward(const Tensor& x) const { return rms_norm(x, shape_, weight, eps_); }

Dropout::Dropout(double p, std::optional<Generator> generator) : p_(p), generator_(std::move(generator)) {
  if (!(p >= 0 && p <= 1)) base::fail("dropout", "p must lie in 0..1, got {}", p);
}

Tensor Dropout::forward(const Tensor& x) const {
  return dropout(x, p_, is_training(), generator_ ? &*generator_ : nullptr);
}

Dropout1d::Dropout1d(double p, std::optional<Generator> generator) : p_(p), generator_(std::move(generator)) {
  if (!(p >= 0 && p <= 1)) base::fail("dropout1d", "p must lie in 0..1, got {}", p);
}

Tensor Dropout1d::forward(const Tensor& x) const {
  return dropout1d(x, p_, is_training(), generator_ ? &*generator_ : nullptr);
}

Dropout2d::Dropout2d(double p, std::optional<Generator> generator) : p_(p), generator_(std::move(generator)) {
  if (!(p >= 0 && p <= 1)) base::fail("dropout2d", "p must lie in 0..1, got {}", p);
}

Tensor Dropout2d::forward(const Tensor& x) const {
  if (x.dim() != 4) base::fail("dropout2d", "takes (batch, channels, height, width), got {}", ir::to_string(x.shape()));
  if (!is_training() || p_ == 0) return x;
  const Tensor channels = ones({x.size(0), x.size(1), 1, 1}, Options(x.dtype(), x.device()));
  return mul(x, dropout(channels, p_, true, generator_ ? &*generator_ : nullptr));
}

AlphaDropout::AlphaDropout(double p, std::optional<Generator> generator) : p_(p), generator_(std::move(generator)) {
  if (!(p >= 0 && p <= 1)) base::fail("alpha_dropout", "p must lie in 0..1, got {}", p);
}

Tensor AlphaDropout::forward(const Tensor& x) const {
  return alpha_dropout(x, p_, is_training(), generator_ ? &*generator_ : nullptr);
}

}  // namespace tenon::nn
