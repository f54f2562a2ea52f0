// Activations and other layers that change numbers or shapes alone, for Sequential; their arithmetic is that of ops.h.

#pragma once

#include <string>

#include "tenon/nn/module.h"

namespace tenon::nn {

class ReLU : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : slope_(negative_slope) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double slope_;
};

class ELU : public Layer {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double alpha_;
};

class Softplus : public Layer {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double beta_, threshold_;
};

class GELU : public Layer {
 public:
  /// approximate: "none" or "tanh".
  explicit GELU(std::string approximate = "none");
  Tensor forward(const Tensor& x) const override;

 private:
  std::string approximate_;
};

class SiLU : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Mish : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class ReLU6 : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class SELU : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class CELU : public Layer {
 public:
  explicit CELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double alpha_;
};

class Hardtanh : public Layer {
 public:
  explicit Hardtanh(double least = -1, double most = 1);
  Tensor forward(const Tensor& x) const override;

 private:
  double least_, most_;
};

class Hardsigmoid : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class LogSigmoid : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Softsign : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Tanhshrink : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Hardshrink : public Layer {
 public:
  explicit Hardshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double lambd_;
};

class Softshrink : public Layer {
 public:
  explicit Softshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double lambd_;
};

/// x above a threshold, else a value.
class Threshold : public Layer {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double threshold_, value_;
};

/// In training, x below 0 is multiplied by a slope drawn for each element, else by the mean of both limits.
class RReLU : public Layer {
 public:
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : lower_(lower), upper_(upper) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double lower_, upper_;
};

/// The first half of a dim times the sigmoid of the second.
class GLU : public Layer {
 public:
  explicit GLU(int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

class Hardswish : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Tanh : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Sigmoid : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;
};

class Softmax : public Layer {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

class Softmin : public Layer {
 public:
  explicit Softmin(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

class LogSoftmax : public Layer {
 public:
  explicit LogSoftmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t dim_;
};

/// x above 0, and weight * x elsewhere: one weight for all, or one for each channel, which is dim 1.
class PReLU : public Layer {
 public:
  explicit PReLU(int64_t parameters = 1, double first = 0.25, const Options& options = {});
  Tensor forward(const Tensor& x) const override;

  Tensor weight;
};

class Identity : public Layer {
 public:
  Tensor forward(const Tensor& x) const override { return x; }
};

/// Joins the dims first..last; by default all but that of the batch.
class Flatten : public Layer {
 public:
  explicit Flatten(int64_t first = 1, int64_t last = -1) : first_(first), last_(last) {}
  Tensor forward(const Tensor& x) const override { return x.flatten(first_, last_); }

 private:
  int64_t first_, last_;
};

/// A dim as several, whose sizes multiply to its own; one of them may be -1.
class Unflatten : public Layer {
 public:
  Unflatten(int64_t dim, Dims sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override { return x.unflatten(dim_, sizes_); }

 private:
  int64_t dim_;
  Dims sizes_;
};

}  // namespace tenon::nn
