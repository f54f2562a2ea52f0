// What is drawn: the values that draws may have, their means, and what a generator repeats.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tenon/nn/functional.h"
#include "tests/error_text.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

class Draws : public FunctionTest {
 protected:
  void SetUp() override { manual_seed(5); }
  Tensor empty_of(int64_t n, DType dtype = DType::f32) const { return zeros({n}, of(dtype)).clone(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Draws, testing::ValuesIn(computing_devices()), device_name);

std::set<int64_t> seen(const Tensor& x) {
  const Wholes all = x.to(DType::i64).to_vector<int64_t>();
  return {all.begin(), all.end()};
}
double mean_of(const Tensor& x) { return mean(x.detach().to(DType::f32)).item<double>(); }

TEST_P(Draws, ExponentialNumbersHaveTheirMean) {
  Tensor x = empty_of(4000);
  x.exponential_(2);
  EXPECT_NEAR(mean_of(x), 0.5, 0.04);  // five deviations
  EXPECT_TRUE(all(x >= 0).item<bool>());
  EXPECT_NEAR(mean_of(x > std::log(2.0) / 2), 0.5, 0.04);
  EXPECT_EQ(text_of([&] { x.exponential_(0); }), "[exponential_] lambd must be positive, got 0");
}

TEST_P(Draws, IntegersLieBetweenTheirLimits) {
  EXPECT_EQ(seen(empty_of(200).random_({}, 3)), (std::set<int64_t>{0, 1, 2}));
  EXPECT_EQ(seen(empty_of(200, DType::i64).random_(-2, 0)), (std::set<int64_t>{-2, -1}));
  EXPECT_EQ(seen(empty_of(200, DType::boolean).random_()), (std::set<int64_t>{0, 1}));
  const auto bytes = seen(empty_of(4000, DType::u8).random_());
  EXPECT_EQ(*bytes.begin(), 0);
  EXPECT_EQ(*bytes.rbegin(), 255);
  const auto halves = seen(empty_of(4000, DType::f16).random_());
  EXPECT_GT(*halves.rbegin(), 2000);
  EXPECT_LE(*halves.rbegin(), 2048);
  EXPECT_EQ(text_of([&] { empty_of(1).random_(3, 3); }), "[random_] there is no integer from 3 to below 3");
}

TEST_P(Draws, IntegersOf64BitsAreEven) {
  const Tensor all = empty_of(1000, DType::i64).random_();
  EXPECT_TRUE(tenon::all(all >= 0).item<bool>());
  EXPECT_NEAR(mean_of(all > (int64_t{1} << 62)), 0.5, 0.08);
  EXPECT_NEAR(mean_of(all % 2), 0.5, 0.08);
  const int64_t most = int64_t{3} << 40;
  const Tensor some = empty_of(1000, DType::i64).random_(-most, most);
  EXPECT_TRUE(tenon::all(logical_and(some >= -most, some < most)).item<bool>());
  EXPECT_NEAR(mean_of(some < 0), 0.5, 0.08);
}

TEST_P(Draws, NormalNumbersHaveMeansAndDeviationsOfTheirOwn) {
  const Tensor means = reals({-100, 100}).unsqueeze(0), deviations = full({2000, 1}, 2.0, of(DType::f32));
  const Tensor drawn = normal(means, deviations);
  EXPECT_EQ(shape_of(drawn), "(2000, 2)");
  EXPECT_TRUE(is(mean(drawn, {0}), {-100, 100}, 0.0025));
  EXPECT_TRUE(is(tenon::std(drawn, {0}), {2, 2}, 0.1));
  EXPECT_NEAR(mean_of(normal(3, zeros({4}, of(DType::f32)))), 3, 1e-6);
  EXPECT_FALSE(normal(reals({1}).requires_grad_(), 1).requires_grad());
  EXPECT_EQ(text_of([&] { normal(means, -1); }), "[normal] std must not be negative, got -1");
  EXPECT_EQ(text_of([&] { normal(wholes({1}), 1); }), "[normal] makes floating-point values, not i64");
}

TEST_P(Draws, AGeneratorRepeatsThem) {
  const auto twice = [&](auto&& draw) {
    Generator first(9), second(9);
    EXPECT_TRUE(equal(draw(&first), draw(&second)));
  };
  twice([&](Generator* g) { return Tensor(empty_of(9).exponential_(1, g)); });
  twice([&](Generator* g) { return Tensor(empty_of(9).random_({}, {}, g)); });
  twice([&](Generator* g) { return normal(reals({1, 2}), 1, g); });
  twice([&](Generator* g) { return rrelu(reals({-1, -2}), 0.1, 0.9, true, g); });
}

TEST_P(Draws, SlopesOfRreluLieBetweenTheirLimits) {
  const Tensor y = rrelu(full({500}, -1.0, of(DType::f32)), 0.25, 0.75, true);
  EXPECT_TRUE(all(logical_and(y <= -0.25, y >= -0.75)).item<bool>());
  EXPECT_NEAR(mean_of(y), -0.5, 0.04);
  EXPECT_TRUE(is(rrelu(reals({-4, 4}), 0.25, 0.75), {-2, 4}));
  EXPECT_EQ(text_of([&] { rrelu(y, 1, 0); }), "[rrelu] draws slopes from 1 to 0: the first is larger");
}

TEST_P(Draws, DroppedChannelsAreDroppedWhole) {
  const auto expect_whole = [&](const Tensor& dropped, int64_t length) {
    const Tensor rows = dropped.reshape({-1, length}), first = rows.slice(1, 0, 1);
    EXPECT_TRUE(all(rows == first).item<bool>());
    EXPECT_TRUE(all(logical_or(first == 0, first == 2)).item<bool>());
    EXPECT_NEAR(mean_of(first), 1, 0.5);
  };
  expect_whole(nn::dropout1d(ones({10, 20, 3}, of(DType::f32))), 3);
  expect_whole(nn::dropout1d(ones({200, 3}, of(DType::f32))), 3);
  expect_whole(nn::dropout2d(ones({10, 20, 2, 2}, of(DType::f32))), 4);
  EXPECT_TRUE(is(nn::dropout2d(reals({1, 2}, {1, 2}), 0.5, false), {1, 2}));
  EXPECT_EQ(text_of([&] { nn::dropout2d(reals({1})); }), "[dropout2d] takes (batch, channels, ...), got (1,)");
  EXPECT_EQ(text_of([&] { nn::dropout1d(reals({1})); }),
            "[dropout1d] takes (batch, channels, length) or (channels, length), got (1,)");
}

TEST_P(Draws, AlphaDropoutKeepsMeanAndVariance) {
  const Tensor y = nn::alpha_dropout(randn({8000}, of(DType::f32)), 0.3);
  EXPECT_NEAR(mean_of(y), 0, 0.06);
  EXPECT_NEAR(tenon::std(y).item<double>(), 1, 0.06);
  EXPECT_TRUE(is(nn::alpha_dropout(reals({1, -2}), 1), {0, 0}));
  EXPECT_TRUE(is(nn::alpha_dropout(reals({1, -2}), 0.5, false), {1, -2}));
}

TEST_P(Draws, GumbelSoftmaxDrawsClasses) {
  const Tensor logits = log(reals({0.1, 0.2, 0.7})).expand({3000, 3});
  const Tensor hard = nn::gumbel_softmax(logits, 1, true), soft = nn::gumbel_softmax(logits, 1);
  EXPECT_TRUE(is(mean(hard, {0}), {0.1, 0.2, 0.7}, 0.05));
  EXPECT_TRUE(is(amax(hard, {1}).slice(0, 0, 2), {1, 1}));
  EXPECT_TRUE(is(sum(soft, {1}).slice(0, 0, 2), {1, 1}));
  EXPECT_EQ(text_of([&] { nn::gumbel_softmax(logits, 0); }), "[gumbel_softmax] tau must be positive, got 0");
}

}  // namespace
}  // namespace tenon::ops_test
