// Numbers that vary from call to call.

#pragma once

#include <memory>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// A number that may change between calls of a captured function: `x * lr`. Elsewhere it is what a literal is.
///   Scalar lr(0.5);
///   auto scaled = compile([&](const Tensor& v) { return v * lr; });
///   scaled(tensor({1.0, 2.0}));
///   lr.set(2);
///   scaled(tensor({1.0, 2.0}));  // [2. 4.]
class Scalar {
 public:
  explicit Scalar(double value, DType dtype = DType::f32, Device device = {});
  /// Changes the number, gives it, or shows it as a tensor of shape ().
  void set(double value);
  double get() const;
  Tensor tensor() const;
  operator Operand() const { return tensor(); }  // NOLINT: a number among tensors

  struct State {
    double value;
    DType dtype;
    Device device;
  };

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tenon
