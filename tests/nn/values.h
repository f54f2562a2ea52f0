// What the tests of layers compare.

#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon {

using Floats = std::vector<float>;

inline Floats values(const Tensor& x) { return x.detach().to_vector<float>(); }

inline void expect_near(const Tensor& x, const Floats& expected, float tolerance = 1e-5f) {
  const Floats found = values(x);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

}  // namespace tenon
