// Operators of tensors, and what some functions return. The functions themselves: ops.h.

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon {

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator%(const Operand& a, const Operand& b);
Tensor operator<(const Operand& a, const Operand& b);
Tensor operator<=(const Operand& a, const Operand& b);
Tensor operator>(const Operand& a, const Operand& b);
Tensor operator>=(const Operand& a, const Operand& b);
Tensor operator==(const Operand& a, const Operand& b);
Tensor operator!=(const Operand& a, const Operand& b);
Tensor operator&(const Operand& a, const Operand& b);
Tensor operator|(const Operand& a, const Operand& b);
Tensor operator^(const Operand& a, const Operand& b);
Tensor operator<<(const Tensor& a, const Operand& b);
Tensor operator>>(const Tensor& a, const Operand& b);

/// What unique() finds.
struct Unique {
  Tensor values;   // sorted
  Tensor inverse;  // in the shape of x, a vector for slices: which of the values each element is
  Tensor counts;   // how often each value occurs
};

}  // namespace tenon
