// Column sums of values that are the same everywhere.

#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

// The gradient of a copied value is a sum over a matrix of ones, all of which are one number in memory.
TEST(ColumnConstants, ANumberThatEveryRowReadsIsReadBeforeTheFirstRow) {
  for (const char* device : {"simulated", "simulated_unfused"}) {
    const Tensor w = full({8, 2}, 0.5, Options(DType::f32, device)).requires_grad_();
    const Tensor copies = w.expand({3, 8, 2});
    stack({copies, copies, copies}, 2).sum().backward();
    EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(16, 9)) << device;
  }
}

}  // namespace
}  // namespace tenon
