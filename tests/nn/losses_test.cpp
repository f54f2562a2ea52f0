// Losses where they have corners, or would have them by the formula they are written with.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/tenon.h"

namespace tenon {
namespace {

using nn::Reduction;
using Numbers = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor numbers(const Numbers& values) {
  return from_vector(values, {static_cast<int64_t>(values.size())}, Options(DType::f64));
}

/// First and second derivatives of the sum of an elementwise loss.
template <typename F>
std::pair<Numbers, Numbers> slopes(F&& f, const Numbers& at) {
  Tensor x = numbers(at).requires_grad_();
  const Tensor first = grad(sum(f(x)), x, true), second = grad(sum(first), x);
  return {first.to_vector<double>(), second.to_vector<double>()};
}

TEST(BinaryCrossEntropyWithLogits, HasNoCornerAtZero) {
  const Tensor target = numbers({0, 1, 0.25});
  const auto loss = [&](const Tensor& x) { return nn::binary_cross_entropy_with_logits(x, target, Reduction::none); };
  const auto [first, second] = slopes(loss, {0, 0, -0.0});
  EXPECT_EQ(first, (Numbers{0.5, -0.5, 0.25}));
  EXPECT_EQ(second, (Numbers{0.25, 0.25, 0.25}));
}

TEST(BinaryCrossEntropyWithLogits, OfInfiniteLogitsIsPyTorchs) {
  const Tensor x = numbers({kInf, kInf, -kInf}), target = numbers({0, 1, 1});
  const Numbers loss = nn::binary_cross_entropy_with_logits(x, target, Reduction::none).to_vector<double>();
  EXPECT_EQ(loss[0], kInf);
  EXPECT_TRUE(std::isnan(loss[1]));
  EXPECT_TRUE(std::isnan(loss[2]));
}

TEST(BinaryCrossEntropy, OfACertainAndWrongAnswerIsHundredWithAFiniteSlope) {
  const Tensor target = numbers({1, 0, 0, 1});
  const auto loss = [&](const Tensor& x) { return nn::binary_cross_entropy(x, target, Reduction::none); };
  EXPECT_EQ(loss(numbers({0, 1, 0, 1})).to_vector<double>(), (Numbers{100, 100, 0, 0}));
  const Numbers first = slopes(loss, {0, 1, 0, 1}).first;
  EXPECT_NEAR(first[0], -1e12, 1e5);
  EXPECT_NEAR(first[1], 1e12, 1e5);
  EXPECT_EQ(first[2], 0);
  EXPECT_EQ(first[3], 0);
}

TEST(CrossEntropy, OfNothingHasNoMean) {
  const Tensor none = zeros({0, 3});
  EXPECT_TRUE(std::isnan(nn::cross_entropy(none, none).item<double>()));
  EXPECT_TRUE(std::isnan(nn::cross_entropy(none, zeros({0}, int64)).item<double>()));
  EXPECT_EQ(nn::cross_entropy(none, none, {.reduction = Reduction::sum}).item<double>(), 0);
}

TEST(HuberLoss, IsASquareAtTheTargetItself) {
  const auto loss = [](const Tensor& x) { return nn::huber_loss(x, numbers({1, 1, 1}), 1, Reduction::none); };
  const auto [first, second] = slopes(loss, {1, 1.5, kInf});
  EXPECT_EQ(first, (Numbers{0, 0.5, 1}));
  EXPECT_EQ(second, (Numbers{1, 1, 0}));
}

TEST(SmoothL1Loss, IsASquareAtTheTargetItself) {
  const auto loss = [](const Tensor& x) { return nn::smooth_l1_loss(x, numbers({1, 1, 1}), 0.5, Reduction::none); };
  const auto [first, second] = slopes(loss, {1, 1.25, kInf});
  EXPECT_EQ(first, (Numbers{0, 0.5, 1}));
  EXPECT_EQ(second, (Numbers{2, 2, 0}));
}

}  // namespace
}  // namespace tenon
