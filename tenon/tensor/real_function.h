// What special functions are made with: polynomials, and functions of real numbers whose gradient is a rule of its own.

#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "tenon/tensor/ops.h"

namespace tenon::special {

/// Highest power first.
template <size_t N>
Tensor polynomial(const Tensor& x, const std::array<double, N>& coefficients) {
  Tensor y = add(mul(x, coefficients[0]), coefficients[1]);
  for (size_t i = 2; i < N; ++i) y = add(mul(y, x), coefficients[i]);
  return y;
}

using Rule = std::function<Tensor(const Tensor&)>;

/// A function of real numbers, with its derivative: integers as f32, 16-bit floats computed in f32.
Tensor real_function(const Tensor& x, std::string_view name, const Rule& values, const Rule& slope);

}  // namespace tenon::special
