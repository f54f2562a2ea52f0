// Initial values: their spread, their bounds, and which layer has which.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

struct Spread {
  double mean, deviation, low, high;
};

Spread spread_of(const Tensor& x) {
  const std::vector<double> v = x.detach().to_vector<double>();
  double total = 0, squares = 0;
  for (double one : v) total += one;
  const double mean = total / static_cast<double>(v.size());
  for (double one : v) squares += (one - mean) * (one - mean);
  return {mean, std::sqrt(squares / static_cast<double>(v.size())), *std::min_element(v.begin(), v.end()),
          *std::max_element(v.begin(), v.end())};
}

class Init : public testing::Test {
 protected:
  Init() { manual_seed(1); }
  Tensor weight = zeros({200, 100}).requires_grad_();
};

TEST_F(Init, UniformFillsItsBounds) {
  const Spread s = spread_of(nn::init::uniform_(weight, -2, 4));
  EXPECT_NEAR(s.mean, 1, 0.05);
  EXPECT_NEAR(s.deviation, 6 / std::sqrt(12.0), 0.03);
  EXPECT_GE(s.low, -2);
  EXPECT_LT(s.high, 4);
}

TEST_F(Init, NormalHasItsMeanAndDeviation) {
  const Spread s = spread_of(nn::init::normal_(weight, 3, 0.5));
  EXPECT_NEAR(s.mean, 3, 0.02);
  EXPECT_NEAR(s.deviation, 0.5, 0.01);
}

TEST_F(Init, TruncatedNormalStaysInsideAndKeepsItsShape) {
  Spread s = spread_of(nn::init::trunc_normal_(weight));
  EXPECT_NEAR(s.mean, 0, 0.02);
  EXPECT_NEAR(s.deviation, 0.8796, 0.01);  // of a normal cut at two deviations
  EXPECT_GE(s.low, -2);
  EXPECT_LE(s.high, 2);
  s = spread_of(nn::init::trunc_normal_(weight, 0, 1, 0, 10));
  EXPECT_NEAR(s.mean, std::sqrt(2 / M_PI), 0.02);  // half a normal
  EXPECT_GE(s.low, 0);
}

TEST_F(Init, FansCountTheReceptiveField) {
  const nn::init::Fans fans = nn::init::fans_of(zeros({8, 4, 3, 3}));
  EXPECT_EQ(fans.in, 36);
  EXPECT_EQ(fans.out, 72);
  EXPECT_EQ(text_of([] { nn::init::fans_of(zeros({3})); }),
            "[init] fans need a weight of at least two dims, got shape (3,)");
}

TEST_F(Init, KaimingAndXavierHaveTheirDeviations) {
  using nn::init::FanMode;
  EXPECT_NEAR(spread_of(nn::init::kaiming_normal_(weight)).deviation, std::sqrt(2.0 / 100), 0.003);
  EXPECT_NEAR(spread_of(nn::init::kaiming_normal_(weight, 0, FanMode::out)).deviation, std::sqrt(2.0 / 200), 0.002);
  EXPECT_NEAR(spread_of(nn::init::kaiming_uniform_(weight)).high, std::sqrt(6.0 / 100), 0.001);
  EXPECT_NEAR(spread_of(nn::init::xavier_normal_(weight, 2)).deviation, 2 * std::sqrt(2.0 / 300), 0.004);
  EXPECT_NEAR(spread_of(nn::init::xavier_uniform_(weight)).low, -std::sqrt(6.0 / 300), 0.001);
}

TEST_F(Init, KeepsLeavesAndDtypes) {
  Tensor half = zeros({64, 64}, DType::bf16).requires_grad_();
  nn::init::normal_(half);
  EXPECT_EQ(half.dtype(), DType::bf16);
  EXPECT_TRUE(half.is_leaf() && half.requires_grad());
  EXPECT_NEAR(spread_of(half).deviation, 1, 0.05);
}

TEST_F(Init, AGivenGeneratorDecides) {
  Generator a(4), b(4);
  Tensor other = zeros({200, 100});
  nn::init::normal_(weight, 0, 1, &a);
  nn::init::normal_(other, 0, 1, &b);
  EXPECT_TRUE(equal(weight.detach(), other));
}

TEST_F(Init, LinearIsPyTorchs) {
  const nn::Linear fc(100, 200);
  for (const Tensor& p : {fc.weight, fc.bias}) {
    const Spread s = spread_of(p);
    EXPECT_NEAR(s.high, 0.1, 0.003);
    EXPECT_NEAR(s.low, -0.1, 0.003);
    EXPECT_NEAR(s.deviation, 0.1 / std::sqrt(3.0), 0.005);
  }
}

TEST_F(Init, EmbeddingIsNormal) {
  const Spread s = spread_of(nn::Embedding(200, 100).weight);
  EXPECT_NEAR(s.mean, 0, 0.03);
  EXPECT_NEAR(s.deviation, 1, 0.02);
}

TEST_F(Init, TheSeedDecidesAndLayersDiffer) {
  const nn::Linear a(8, 8), b(8, 8);
  manual_seed(1);
  const nn::Linear c(8, 8);
  EXPECT_TRUE(equal(a.weight.detach(), c.weight.detach()));
  EXPECT_FALSE(equal(a.weight.detach(), b.weight.detach()));
}

TEST_F(Init, GainsAreThoseOfTheNonlinearity) {
  EXPECT_EQ(nn::init::calculate_gain("tanh"), 5.0 / 3);
  EXPECT_EQ(nn::init::calculate_gain("conv2d"), 1);
  EXPECT_DOUBLE_EQ(nn::init::calculate_gain("leaky_relu", 0.5), std::sqrt(1.6));
  EXPECT_TRUE(
      text_of([] { nn::init::calculate_gain("step"); }).starts_with("[calculate_gain] there is no gain of 'step'"));
  Tensor plain = zeros({200, 100}).clone();
  nn::init::kaiming_normal_(plain, 0, nn::init::FanMode::in, nullptr, "linear");
  EXPECT_NEAR(spread_of(plain).deviation, 0.1, 0.003);
}

TEST_F(Init, EyeHandsOnAsManyAsThereAre) {
  Tensor matrix = full({2, 3}, 7.0).clone();
  nn::init::eye_(matrix);
  EXPECT_EQ(matrix.to_vector<double>(), (std::vector<double>{1, 0, 0, 0, 1, 0}));
  Tensor cube = zeros({2, 2, 2}).clone();
  EXPECT_EQ(text_of([&] { nn::init::eye_(cube); }), "[eye_] takes a matrix, got (2, 2, 2)");
}

TEST_F(Init, DiracHandsChannelsOnInEveryGroup) {
  Tensor kernels = full({4, 2, 3, 2}, 7.0).clone();
  nn::init::dirac_(kernels, 2);
  const Tensor images = rand({1, 4, 5, 5});
  // Of two columns the second is the middle one: what is added before the first column is looked at last.
  const Tensor same = nn::conv2d(nn::pad(images, {1, 0, 1, 1}), kernels, Tensor(), {.groups = 2});
  EXPECT_TRUE(equal(same, images));
  Tensor few = zeros({3, 2, 3}).clone();
  nn::init::dirac_(few);
  EXPECT_EQ(few.to_vector<double>(), (std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(text_of([&] { nn::init::dirac_(few, 2); }).empty());
}

TEST_F(Init, OrthogonalRowsOrColumnsStandAtRightAngles) {
  Tensor wide = zeros({3, 4, 2}).clone(), tall = zeros({70, 40}, Options(DType::f64)).clone();
  nn::init::orthogonal_(wide, 2);
  nn::init::orthogonal_(tall);
  const Tensor rows = wide.reshape({3, 8});
  EXPECT_TRUE(allclose(matmul(rows, rows.t()), eye(3) * 4.0, 1e-6, 1e-6));
  EXPECT_TRUE(allclose(matmul(tall.t(), tall), eye(40, {}, Options(DType::f64)), 1e-13, 1e-13));
}

// Weights are drawn once, not whenever something depends on them.
TEST_F(Init, AWeightIsComputedWithTheFirstValueThatNeedsIt) {
  const nn::Linear fc(8, 8);
  fc(ones({1, 8})).eval();
  EXPECT_TRUE(fc.weight.is_evaluated());
}

TEST_F(Init, Gpt2ScalesTheEndsOfResidualBranches) {
  struct Block : nn::ModuleOf<Block> {
    Block() {
      register_module("norm", norm);
      register_module("c_fc", c_fc);
      register_module("c_proj", c_proj);
    }
    nn::LayerNorm norm{128};
    nn::Linear c_fc{128, 512}, c_proj{512, 128};
  } block;
  nn::init::constant_(block.norm.weight, 5);
  nn::init::gpt2_(block, 8);
  EXPECT_NEAR(spread_of(block.c_fc.weight).deviation, 0.02, 0.0005);
  EXPECT_NEAR(spread_of(block.c_proj.weight).deviation, 0.005, 0.0002);
  EXPECT_EQ(spread_of(block.c_fc.bias).high, 0);
  EXPECT_EQ(spread_of(block.norm.weight).low, 1);
  EXPECT_EQ(spread_of(block.norm.bias).high, 0);
}

}  // namespace
}  // namespace tenon
