// Operators of tensors, and what some functions return. The functions themselves: ops.h.

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon {

/// Arithmetic, comparisons, logic and shifts, element by element and broadcast: each is the function of ops.h of that
/// meaning. At least one side is a tensor.
///   tensor({1, 2}) + 10;  // [11 12]
///   tensor({1, 5}) > 2;  // [False True]
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
