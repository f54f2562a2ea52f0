// What stands behind a product and may become part of it: a bias, a matrix, relu, another dtype. Whatever is joined,
// the results are those of the same steps taken one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

class BehindProducts : public FunctionTest {
 protected:
  // Small whole numbers, whose sums are exact in every dtype.
  Tensor numbers(const Dims& shape, int64_t spread) const {
    const int64_t n = ir::count(shape);
    const Tensor line = remainder(arange(n, of(DType::f32)) * 5.0, static_cast<double>(spread)) - 1.0;
    return line.reshape(shape).eval();
  }
  static std::vector<float> host(const Tensor& x) { return x.to(DType::f32).to_vector<float>(); }
  bool has(DType dtype) const { return dtype != DType::f64 || why_no_f64(GetParam()).empty(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, BehindProducts, testing::ValuesIn(computing_devices()), device_name);

TEST_P(BehindProducts, BecomeAnyDType) {
  if (GetParam().ends_with("_unfused")) GTEST_SKIP() << "nothing is joined there";
  const Tensor x = numbers({33, 16}, 3), w = numbers({16, 24}, 4), bias = numbers({24}, 5),
               residual = numbers({33, 24}, 7);
  const std::vector<float> product = host(matmul(x, w)), addends = host(residual), line = host(bias);
  for (const DType dtype : {DType::f64, DType::i64, DType::bf16, DType::boolean}) {
    if (!has(dtype)) continue;
    SCOPED_TRACE(name(dtype));
    const auto expect = [&](const Tensor& got, const char* what, const std::function<float(size_t)>& number) {
      const std::vector<float> values = host(got.to(dtype).eval());
      for (size_t i = 0; i < values.size(); ++i) {
        const float wanted = dtype == DType::boolean ? static_cast<float>(number(i) != 0) : number(i);
        ASSERT_EQ(values[i], wanted) << what << ", element " << i;
      }
    };
    const auto biased = [&](size_t i) { return product[i] + line[i % 24]; };
    expect(matmul(x, w), "nothing", [&](size_t i) { return product[i]; });
    expect(matmul(x, w) + bias, "bias", biased);
    expect(matmul(x, w) + bias + residual, "both", [&](size_t i) { return biased(i) + addends[i]; });
    expect(relu(matmul(x, w) + bias), "relu", [&](size_t i) { return std::max(biased(i), 0.0F); });
  }
}

}  // namespace
}  // namespace tenon::ops_test
