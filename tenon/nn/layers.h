// Layers with parameters, and dropout. Initial values are PyTorch's; Options give dtype and device of the parameters.
//
//   nn::Embedding tokens(50257, 768);
//   nn::LayerNorm norm(768);
//   nn::Linear head(768, 50257, false);
//   head.weight = tokens.weight;  // tied: one parameter under two names
//   Tensor logits = head(norm(tokens(ids)));

#pragma once

#include <memory>
#include <optional>

#include "tenon/nn/embedding_bag.h"
#include "tenon/nn/lora.h"
#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::nn {

/// x (..., in) to x @ weight^T + bias (..., out).
///   nn::Linear layer(3, 2);
///   layer(ones({4, 3})).shape();  // (4, 2)
class Linear : public Layer, public Adaptable {
 public:
  Linear(int64_t in, int64_t out, bool has_bias = true, const Options& options = {});
  Tensor forward(const Tensor& x) const override;

  void adapt(const LoraOptions& options) override;
  void merge() override;
  const Lora* lora() const override { return lora_.get(); }

  Tensor weight;  // (out, in)
  Tensor bias;    // (out,), undefined without one

 private:
  std::unique_ptr<Lora> lora_;
};

/// x (..., in1) and y (..., in2) to x @ weight[i] @ y for each i of `out`, plus bias: (..., out).
///   nn::Bilinear layer(3, 4, 5);
///   layer(ones({2, 3}), ones({2, 4})).shape();  // (2, 5)
class Bilinear : public ModuleOf<Bilinear> {
 public:
  Bilinear(int64_t in1, int64_t in2, int64_t out, bool has_bias = true, const Options& options = {});
  Tensor forward(const Tensor& x, const Tensor& y) const;

  Tensor weight;  // (out, in1, in2)
  Tensor bias;    // (out,), undefined without one
};

/// Rows of a table picked by i32 or i64 indices: (...) to (..., width).
///   nn::Embedding table(10, 4);
///   table(tensor({1, 7})).shape();  // (2, 4)
class Embedding : public Layer {
 public:
  /// The row `padding` starts as zeros and gets no gradient.
  Embedding(int64_t count, int64_t width, std::optional<int64_t> padding = {}, const Options& options = {});
  Tensor forward(const Tensor& index) const override;

  Tensor weight;  // (count, width)

 private:
  std::optional<int64_t> padding_;
};

/// Sums, means or maxima of rows of a table: of the rows that each row of a matrix of indices names, or those between
/// two offsets in a vector of them.
///   nn::EmbeddingBag table(10, 4, nn::BagMode::sum);
///   table(tensor({1, 7, 7}), tensor({0, 2})).shape();  // (2, 4)
class EmbeddingBag : public ModuleOf<EmbeddingBag> {
 public:
  /// The row `padding` starts as zeros, does not count and gets no gradient. With `include_last_offset` the last offset
  /// is the number of indices.
  EmbeddingBag(int64_t count, int64_t width, BagMode mode = BagMode::mean, std::optional<int64_t> padding = {},
               bool include_last_offset = false, const Options& options = {});
  /// Weights, for sums alone, are one for each index.
  Tensor forward(const Tensor& index, const Tensor& offsets = Tensor(),
                 const Tensor& per_sample_weights = Tensor()) const;

  Tensor weight;  // (count, width)

 private:
  BagMode mode_;
  std::optional<int64_t> padding_;
  bool include_last_offset_;
};

/// Mean 0 and variance 1 over the trailing dims, a width or Dims{2, 3}, then scaled by `weight` and shifted by `bias`.
///   nn::LayerNorm norm(3);
///   norm(tensor({{1.0, 2.0, 3.0}}));  // [[-1.225 0. 1.225]]
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(const Dims& shape, double eps = 1e-5, bool affine = true, bool has_bias = true,
                     const Options& options = {});
  explicit LayerNorm(int64_t width, double eps = 1e-5, bool affine = true, bool has_bias = true,
                     const Options& options = {})
      : LayerNorm(Dims{width}, eps, affine, has_bias, options) {}
  Tensor forward(const Tensor& x) const override;

  Tensor weight, bias;  // of the normalised shape; undefined where left out

 private:
  Dims shape_;
  double eps_;
};

/// Mean square 1 over the trailing dims, then scaled by `weight`.
///   nn::RMSNorm norm(2);
///   norm(tensor({{3.0, 3.0}}));  // [[1 1]]
class RMSNorm : public Layer {
 public:
  explicit RMSNorm(const Dims& shape, double eps = 1e-6, bool affine = true, const Options& options = {});
  explicit RMSNorm(int64_t width, double eps = 1e-6, bool affine = true, const Options& options = {})
      : RMSNorm(Dims{width}, eps, affine, options) {}
  Tensor forward(const Tensor& x) const override;

  Tensor weight;

 private:
  Dims shape_;
  double eps_;
};

/// In training, zeroes elements with probability p and scales the others by 1 / (1 - p).
///   nn::Dropout dropout(0.1);
///   dropout.eval();
///   dropout(tensor({1.0, 2.0}));  // [1. 2.]
class Dropout : public Layer {
 public:
  /// Draws from `generator` where one is given, else from the default one.
  explicit Dropout(double p = 0.5, std::optional<Generator> generator = {});
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
  mutable std::optional<Generator> generator_;  // drawing advances it
};

/// The same for whole channels of sequences (batch, channels, length) or (channels, length).
///   nn::Dropout1d dropout(0.1);
///   dropout(ones({2, 3, 8})).shape();  // (2, 3, 8)
class Dropout1d : public Layer {
 public:
  explicit Dropout1d(double p = 0.5, std::optional<Generator> generator = {});
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
  mutable std::optional<Generator> generator_;
};

/// The same for whole channels of pictures (batch, channels, height, width).
///   nn::Dropout2d dropout(0.1);
///   dropout(images).shape();  // (2, 3, 8, 8)
class Dropout2d : public Layer {
 public:
  explicit Dropout2d(double p = 0.5, std::optional<Generator> generator = {});
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
  mutable std::optional<Generator> generator_;
};

/// In training, sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et
/// al., 2017.
///   nn::AlphaDropout dropout(0.1);
///   dropout.eval();
///   dropout(tensor({1.0, 2.0}));  // [1. 2.]
class AlphaDropout : public Layer {
 public:
  explicit AlphaDropout(double p = 0.5, std::optional<Generator> generator = {});
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
  mutable std::optional<Generator> generator_;
};

}  // namespace tenon::nn
