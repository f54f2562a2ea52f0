// Activations and other layers that change numbers or shapes alone, for Sequential; their arithmetic is that of ops.h.

#pragma once

#include <string>

#include "tenon/nn/module.h"

namespace tenon::nn {

/// max(x, 0).
///   nn::ReLU()(tensor({-1.0, 2.0}));  // [0. 2.]
class ReLU : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x, or negative_slope * x below 0.
///   nn::LeakyReLU(0.1)(tensor({-1.0, 2.0}));  // [-0.1 2.]
class LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : slope_(negative_slope) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double slope_;
};

/// x, or alpha * (exp(x) - 1) below 0.
///   nn::ELU()(tensor({-1.0, 2.0}));  // [-0.6321 2.]
class ELU : public Layer {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double alpha_;
};

/// log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold.
///   nn::Softplus()(tensor({0.0, 30.0}));  // [0.6931 30.]
class Softplus : public Layer {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double beta_, threshold_;
};

/// x times the share of a normal distribution that lies below x.
///   nn::GELU("tanh")(tensor({-1.0, 2.0}));  // [-0.1588 1.955]
class GELU : public Layer {
 public:
  /// approximate: "none" or "tanh".
  explicit GELU(std::string approximate = "none");
  Tensor forward(const Tensor& x) const override;

 private:
  std::string approximate_;
};

/// x * sigmoid(x).
///   nn::SiLU()(tensor({-1.0, 2.0}));  // [-0.2689 1.762]
class SiLU : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x * tanh(softplus(x)).
///   nn::Mish()(tensor({-1.0, 2.0}));  // [-0.3034 1.944]
class Mish : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x between 0 and 6.
///   nn::ReLU6()(tensor({-1.0, 8.0}));  // [0. 6.]
class ReLU6 : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// ELU with the scale and alpha that keep mean 0 and variance 1 (Klambauer et al., 2017).
///   nn::SELU()(tensor({-1.0, 2.0}));  // [-1.111 2.101]
class SELU : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x, or alpha * (exp(x / alpha) - 1) below 0.
///   nn::CELU()(tensor({-1.0, 2.0}));  // [-0.6321 2.]
class CELU : public Layer {
 public:
  explicit CELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double alpha_;
};

/// x between two limits.
///   nn::Hardtanh()(tensor({-2.0, 0.5}));  // [-1. 0.5]
class Hardtanh : public Layer {
 public:
  explicit Hardtanh(double least = -1, double most = 1);
  Tensor forward(const Tensor& x) const override;

 private:
  double least_, most_;
};

/// x / 6 + 1 / 2, between 0 and 1.
///   nn::Hardsigmoid()(tensor({-4.0, 0.0, 4.0}));  // [0. 0.5 1.]
class Hardsigmoid : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// log(sigmoid(x)).
///   nn::LogSigmoid()(tensor({0.0}));  // [-0.6931]
class LogSigmoid : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x / (1 + |x|).
///   nn::Softsign()(tensor({-1.0, 3.0}));  // [-0.5 0.75]
class Softsign : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x - tanh(x).
///   nn::Tanhshrink()(tensor({0.0, 1.0}));  // [0. 0.2384]
class Tanhshrink : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// x, or 0 where |x| is at most lambd.
///   nn::Hardshrink()(tensor({-1.0, 0.3}));  // [-1. 0.]
class Hardshrink : public Layer {
 public:
  explicit Hardshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double lambd_;
};

/// x, lambd nearer to 0, and 0 where |x| is at most lambd.
///   nn::Softshrink()(tensor({-1.0, 0.3}));  // [-0.5 0.]
class Softshrink : public Layer {
 public:
  explicit Softshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double lambd_;
};

/// x above a threshold, else a value.
///   nn::Threshold(0, 9)(tensor({-1.0, 2.0}));  // [9. 2.]
class Threshold : public Layer {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double threshold_, value_;
};

/// In training, x below 0 is multiplied by a slope drawn for each element, else by the mean of both limits.
///   nn::RReLU layer;
///   layer.eval();
///   layer(tensor({-24.0, 2.0}));  // [-5.5 2.]
class RReLU : public Layer {
 public:
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : lower_(lower), upper_(upper) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double lower_, upper_;
};

/// The first half of a dim times the sigmoid of the second.
///   nn::GLU()(tensor({1.0, 2.0, 0.0, 0.0}));  // [0.5 1.]
class GLU : public Layer {
 public:
  explicit GLU(int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

/// x * hardsigmoid(x).
///   nn::Hardswish()(tensor({-4.0, 4.0}));  // [0. 4.]
class Hardswish : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// tanh(x).
///   nn::Tanh()(tensor({0.0, 1.0}));  // [0. 0.7616]
class Tanh : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// 1 / (1 + exp(-x)).
///   nn::Sigmoid()(tensor({0.0}));  // [0.5]
class Sigmoid : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// Exponentials that sum to 1 along a dim.
///   nn::Softmax(0)(tensor({0.0, 0.0}));  // [0.5 0.5]
class Softmax : public Layer {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

/// The softmax of -x along a dim.
///   nn::Softmin(0)(tensor({0.0, 0.0}));  // [0.5 0.5]
class Softmin : public Layer {
 public:
  explicit Softmin(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

/// The logarithm of the softmax along a dim.
///   nn::LogSoftmax(0)(tensor({0.0, 0.0}));  // [-0.6931 -0.6931]
class LogSoftmax : public Layer {
 public:
  explicit LogSoftmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

/// x above 0, and weight * x elsewhere: one weight for all, or one for each channel, which is dim 1.
///   nn::PReLU()(tensor({-4.0, 2.0}));  // [-1. 2.]
class PReLU : public Layer {
 public:
  explicit PReLU(int64_t parameters = 1, double first = 0.25, const Options& options = {});
  Tensor forward(const Tensor& x) const override;

  Tensor weight;  // the slopes below 0
};

/// x as it is.
///   nn::Identity()(tensor({1, 2}));  // [1 2]
class Identity : public Layer {
 public:
  Tensor forward(const Tensor& x) const override { return x; }
};

/// Joins the dims first..last; by default all but that of the batch.
///   nn::Flatten()(images).shape();  // (2, 192)
class Flatten : public Layer {
 public:
  explicit Flatten(int64_t first = 1, int64_t last = -1) : first_(first), last_(last) {}
  Tensor forward(const Tensor& x) const override { return x.flatten(first_, last_); }

 private:
  int64_t first_, last_;
};

/// A dim as several, whose sizes multiply to its own; one of them may be -1.
///   nn::Unflatten(1, {2, -1})(ones({5, 6})).shape();  // (5, 2, 3)
class Unflatten : public Layer {
 public:
  Unflatten(int64_t dim, Dims sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override { return x.unflatten(dim_, sizes_); }

 private:
  int64_t dim_;
  Dims sizes_;
};

}  // namespace tenon::nn
