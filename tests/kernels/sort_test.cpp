// Sorted lines shorter and longer than what a block sorts: values and indices have the cpu's bits.

#include <limits>

#include "on_opencl.h"

namespace tenon::kernels_test {
namespace {

using Sort = OnOpenCl;

void expect_same(const Twice& x, int64_t dim, bool descending) {
  const auto [values, indices] = sort(x.opencl, dim, descending);
  const auto [wanted, places] = sort(x.cpu, dim, descending);
  EXPECT_TRUE(same_bits(values, wanted)) << x.cpu.numel();
  EXPECT_TRUE(same_bits(indices, places)) << x.cpu.numel();
}

TEST_F(Sort, KeepsTheOrderOfEqualElementsAtEveryLength) {
  for (const int64_t length : {1, 2, 31, 257, 1023, 1025, 5000}) expect_same(twice(40, {length}), 0, false);
}

TEST_F(Sort, SortsLinesOfEveryAxis) {
  expect_same(twice(9, {301, 7}), 1, true);
  expect_same(twice(9, {7, 301}), 0, true);
  expect_same(twice(99, {3, 1100, 2}), 1, false);
}

TEST_F(Sort, SortsNumbersOf64Bits) {
  expect_same(twice(1000, {2, 1500}, DType::f64), 1, true);
  expect_same(twice(1000, {1500}, DType::i64), 0, false);
}

TEST_F(Sort, SortsAViewThatGoesBackwards) {
  Twice x = twice(50, {6, 70});
  x = {flip(x.cpu, {0, 1}).transpose(0, 1), flip(x.opencl, {0, 1}).transpose(0, 1)};
  expect_same(x, 0, false);
}

TEST_F(Sort, PutsNanAboveEverythingAndHoldsZerosEqual) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{0.0f, kNan, -0.0f, -kInf, kInf, -kNan, -1};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = from_vector(values, {7}, Options(dtype, "opencl"));
    EXPECT_EQ(argsort(x).to_vector<int64_t>(), (std::vector<int64_t>{3, 6, 0, 2, 4, 1, 5}));
    EXPECT_EQ(argsort(x, 0, true).to_vector<int64_t>(), (std::vector<int64_t>{1, 5, 4, 0, 2, 6, 3}));
  }
}

}  // namespace
}  // namespace tenon::kernels_test
