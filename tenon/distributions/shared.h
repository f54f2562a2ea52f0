// What distributions are made with: parameters that fit together, sums along events; for the files of this room only.

#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tenon/distributions/distribution.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::distributions {

/// Parameters in one shape and dtype of reals.
std::vector<Tensor> together(const char* op, std::vector<Operand> parameters);

/// Fails for a parameter that is a number, or whose values are there and few, where one of them is not allowed.
void require(const char* op, const char* what, const Operand& parameter, const char* wanted,
             const std::function<bool(double)>& is_allowed);
void require_positive(const char* op, const char* what, const Operand& parameter);

/// Logarithms of draws of gamma distributions of rate 1, which lie far below what a number can hold where the
/// concentration is small. Gradients lead to it.
Tensor log_of_gamma(const Tensor& concentration, const Dims& shape, Generator* generator);

/// How the logarithm of such a draw moves with its concentration, where its share of the distribution stays the same.
Tensor slope_of_log(const Tensor& log_of_draw, const Tensor& concentration);

/// x log y, 0 where x is 0.
inline Tensor times_log(const Tensor& x, const Tensor& y) { return xlogy(x, y); }
inline double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-52;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}
/// The smallest number with all digits.
inline double tiny(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::min() : dtype == DType::f16 ? 0x1p-14 : 0x1p-126;
}
/// Away from 0 and 1, so that logarithms are finite.
inline Tensor inside(const Tensor& probs) {
  const double e = epsilon(probs.dtype());
  return clamp(probs, e, 1 - e);
}

}  // namespace tenon::distributions
