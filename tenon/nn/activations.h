// Activations and other layers without parameters, for Sequential; their arithmetic is that of ops.h.

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

}  // namespace tenon::nn
