// Numbers that vary from call to call.

#pragma once

#include <memory>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// A number that may change between calls of a captured function: `x * lr`. Elsewhere it is what a literal is.
class Scalar {
 public:
  explicit Scalar(double value, DType dtype = DType::f32, Device device = {});
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
