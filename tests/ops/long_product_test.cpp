// Products over a very long inner dimension: they keep their digits, whatever sums them up.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/base/parallel.h"
#include "tenon/tensor/autograd.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

class LongProducts : public FunctionTest {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  /// Numbers in 0..1 that no formula knows.
  Tensor uniform(const Dims& shape, uint64_t seed, DType dtype = DType::f32) const {
    Generator generator(seed);
    return rand(shape, of(dtype), &generator).eval();
  }
  static double error(const Tensor& got, const Tensor& wanted) {
    const Tensor exact = wanted.to(DType::f64);
    return (amax(abs(got.to(DType::f64) - exact)) / amax(abs(exact))).item<double>();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LongProducts, testing::ValuesIn(computing_devices()), device_name);

// The exact values: sums in f64 of products that are exact there.
TEST_P(LongProducts, OfTwoVectorsKeepTheirDigits) {
  const int64_t n = GetParam() == "cpu" ? 10000019 : 1000003;
  const Tensor a = uniform({n}, 1), b = uniform({n}, 2);
  const Tensor exact = sum(a.to(DType::f64) * b.to(DType::f64));
  EXPECT_LE(error(dot(a, b), exact), 3e-7);
  EXPECT_LE(error(einsum("i,i->", {a, b}), exact), 3e-7);
}

// Roundings of equal numbers all go the same way: one sum after the other would be off by 6e-4. A GPU's threads add a
// few hundred each.
TEST_P(LongProducts, OfEqualNumbersKeepTheirDigits) {
  const int64_t n = GetParam() == "cpu" ? 10000019 : 1000003;
  const Tensor a = full({n}, 0.1, of(DType::f32)).clone().eval();
  const double exact = double{0.1F} * double{0.1F} * static_cast<double>(n);
  EXPECT_NEAR(dot(a, a).item<double>(), exact, (GetParam() == "cpu" ? 1e-5 : 3e-5) * exact);
}

TEST_P(LongProducts, OfFewRowsAndColumnsKeepTheirDigits) {
  const int64_t n = 400000;
  const Tensor a = uniform({3, n}, 1), b = uniform({n, 2}, 2);
  const Tensor exact = matmul(a.to(DType::f64), b.to(DType::f64));
  EXPECT_LE(error(matmul(a, b), exact), 3e-7);
  EXPECT_LE(error(matmul(b.t(), a.t()), exact.t()), 3e-7) << "transposed operands";
  EXPECT_LE(error(matmul(a.unsqueeze(0), b.unsqueeze(0)), exact), 3e-7) << "in a batch";
}

TEST_P(LongProducts, Of16BitsAreSummedInF32AndRoundedOnce) {
  const Tensor ones = full({1 << 18}, 1.0, of(DType::bf16)).clone().eval();
  EXPECT_EQ(dot(ones, ones).item<double>(), 1 << 18);
  EXPECT_EQ(dtype_of(dot(ones, ones)), "bf16");
}

// Roundings of equal numbers all go one way, along rows, down columns and over everything.
TEST_P(LongProducts, SumsOfEqualNumbersKeepTheirDigits) {
  constexpr double kExact = 0.9841307997703552;
  const int64_t n = GetParam() == "cpu" ? 100000 : 20000;
  const Tensor wide = full({20, n}, kExact, of(DType::f32)).clone().eval(), tall = wide.t().contiguous().eval();
  const auto error_of = [&](const Tensor& mean) {
    return amax(abs(mean.to(DType::f64) - kExact)).item<double>() / kExact;
  };
  EXPECT_LE(error_of(mean(wide, {1})), 1e-5) << "rows";
  EXPECT_LE(error_of(mean(tall, {0})), 1e-5) << "columns";
  EXPECT_LE(error_of(mean(wide.t(), {0})), 1e-5) << "rows that are seen as columns";
  EXPECT_LE(error_of(mean(tall.slice(1, 0, 1))), 1e-5) << "everything";
}

// Adding in pairs loses at most half a unit of the last place in each of log2(n) rounds: so does this, along rows, down
// columns and over everything, for equal numbers, whose roundings all go one way, and for numbers that cancel.
TEST_P(LongProducts, SumsOfF64LoseNoMoreThanPairsDo) {
  const double number = 1e33 / 3;
  for (const int64_t n : {2000, 4096, 7967, GetParam() == "cpu" ? 1000003 : 70001}) {
    SCOPED_TRACE(n);
    const double rounds = std::ceil(std::log2(static_cast<double>(n)));
    const double bound = 0x1p-53 * rounds * number * static_cast<double>(n);
    const Tensor equal = full({n}, number, of(DType::f64)).clone().eval();
    EXPECT_NEAR(sum(equal).item<double>(), number * static_cast<double>(n), bound) << "everything";
    const Tensor signs = from_vector(
        [&] {
          std::vector<double> made(static_cast<size_t>(n));
          for (size_t i = 0; i < made.size(); ++i) made[i] = (i * 2654435761u >> 7) % 3 == 0 ? 2 : -1;
          return made;
        }(),
        {n}, of(DType::f64));
    const double left = sum(signs.to(DType::i64)).item<double>();  // whole numbers are added exactly
    EXPECT_NEAR(sum(equal * signs).item<double>(), number * left, 2 * bound) << "numbers that cancel";
    if (n > 8000) continue;
    const Tensor rows = equal.expand({5, n}).clone().eval();
    EXPECT_LE(amax(abs(sum(rows, {1}) - number * static_cast<double>(n))).item<double>(), bound) << "rows";
    const Tensor columns = equal.unsqueeze(1).expand({n, 33}).clone().eval();
    EXPECT_LE(amax(abs(sum(columns, {0}) - number * static_cast<double>(n))).item<double>(), bound) << "columns";
  }
}

TEST_P(LongProducts, SumsOfNoRowsAreEmpty) {
  EXPECT_EQ(sum(zeros({0, 1 << 18}, of(DType::f32)), {1}).shape(), (Dims{0}));
  EXPECT_EQ(sum(zeros({0, 4096}, of(DType::f64)), {1}).shape(), (Dims{0}));
}

TEST_P(LongProducts, HaveTheirGradients) {
  const int64_t n = (1 << 17) + 5;
  Tensor a = uniform({2, n}, 1).requires_grad_(), b = uniform({n, 1}, 2).requires_grad_();
  const Tensor weight = reals({3, 5}, {2, 1});
  sum(matmul(a, b) * weight).backward();
  EXPECT_TRUE(allclose(a.grad(), matmul(weight, b.t()).detach()));
  EXPECT_TRUE(allclose(b.grad(), matmul(a.t(), weight).detach()));
}

TEST(LongProduct, HasTheSameBitsOnAnyNumberOfThreads) {
  const int before = base::num_threads();
  Generator generator(3);
  const Tensor a = rand({1000003}, {}, &generator).eval(), b = rand({1000003}, {}, &generator).eval();
  const float together = dot(a, b).item<float>();
  base::set_num_threads(1);
  const float alone = dot(a, b).item<float>();
  base::set_num_threads(before);
  EXPECT_EQ(alone, together);
}

}  // namespace
}  // namespace tenon::ops_test
