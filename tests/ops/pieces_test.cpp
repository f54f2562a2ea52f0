// Results that are pieces of something larger are computed where they belong: at places where vectors may not begin.

#include <gtest/gtest.h>

#include "tenon/tensor/autograd.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

class Pieces : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Pieces, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Pieces, OfAGradientBeginAnywhere) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const int64_t first : {31, 30, 1}) {
      Tensor x = full({first + 6}, 1.0, of(dtype)).clone().eval().requires_grad_();
      (sum(x.slice(0, 0, first)) * 2.0 + sum(x.slice(0, first, first + 2)) * 3.0 +
       sum(x.slice(0, first + 2, first + 6)) * 4.0)
          .backward();
      std::vector<float> wanted(static_cast<size_t>(first), 2.0F);
      wanted.insert(wanted.end(), {3, 3, 4, 4, 4, 4});
      EXPECT_EQ(x.grad().to(DType::f32).to_vector<float>(), wanted) << name(dtype) << ", " << first;
    }
  }
}

TEST_P(Pieces, OfSeveralRowsBeginAnywhere) {
  const Tensor x = arange(21, of(DType::f32)).reshape({3, 7}), y = arange(28, of(DType::f32)).reshape({4, 7});
  const std::vector<float> left = (x * 2.0).to_vector<float>(), right = (y + 1.0).to_vector<float>();
  std::vector<float> wanted = left;
  wanted.insert(wanted.end(), right.begin(), right.end());
  EXPECT_EQ(cat({x * 2.0, y + 1.0}, 0).to_vector<float>(), wanted);
}

TEST_P(Pieces, OfTwoGradientsAreAddedUp) {
  Tensor x = tensor({0.5, 1.0, 2.0}, of(DType::f32)).requires_grad_();
  square(roll(x, 1, 0)).sum().backward();
  square(roll(x + 1.0, 1, 0)).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{4, 6, 10}));
}

}  // namespace
}  // namespace tenon::ops_test
