// What tests of views share.

#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

using Wholes = std::vector<int64_t>;
using Reals = std::vector<double>;

inline Wholes wholes(const Tensor& x) { return x.to_vector<int64_t>(); }
inline Reals reals(const Tensor& x) { return x.to_vector<double>(); }

/// 0, 1, 2, ... in its own memory.
inline Tensor counting(const Dims& shape) {
  Wholes values(static_cast<size_t>(ir::count(shape)));
  std::iota(values.begin(), values.end(), int64_t{0});
  return from_vector(values, shape);
}

}  // namespace tenon
