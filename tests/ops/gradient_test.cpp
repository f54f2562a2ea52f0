// Gradients of every differentiable op against finite differences, once and twice; and the points where a derivative
// has to be chosen (ties, kinks, zeros), where PyTorch's choice is the expected one.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/device/registry.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/ops/differences.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {
namespace {

using ir::Op;
using ir::Value;
using Numbers = std::vector<double>;

// ---- Every row -----------------------------------------------------------------------------------------------------

using Param = std::tuple<std::string, Op>;

std::string param_name(const testing::TestParamInfo<Param>& info) {
  return test_name(fmt::format("{}_{}", std::get<0>(info.param), ir::name(std::get<1>(info.param))));
}

std::vector<Op> differentiable_ops() {
  std::vector<Op> ops;
  for (const Row& row : rows()) {
    if (row.slope == Slope::finite_differences) ops.push_back(row.op);
  }
  return ops;
}

class Gradient : public testing::TestWithParam<Param> {
 protected:
  ir::DeviceId device() const { return device::find(std::get<0>(GetParam())); }
  const Row& row() const { return *find_row(std::get<1>(GetParam())); }

  /// Calls f(sample, layout) for every sample, contiguous, strided and broadcast.
  template <typename F>
  void for_each_case(F&& f) const {
    std::vector<std::pair<const Sample*, Layout>> cases;
    for (const Sample& sample : row().samples) {
      if (sample.large) continue;
      for (Layout layout :
           {Layout::contiguous, Layout::transposed, Layout::stepped, Layout::expanded_first, Layout::expanded_last})
        cases.emplace_back(&sample, layout);
    }
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const auto& [sample, layout] : cases_for(std::get<0>(GetParam()), test, cases, 1)) {
      SCOPED_TRACE(fmt::format("{} {}, operands {}", ir::name(row().op), sample->name, name(layout)));
      f(*sample, layout);
    }
  }

  template <typename F>
  void for_each_function(F&& f) const {
    if (const std::string why = why_no_f64(std::get<0>(GetParam())); !why.empty()) GTEST_SKIP() << why;
    for_each_case([&](const Sample& sample, Layout layout) {
      std::vector<Host> arguments;
      const Function function = function_of(sample, layout, DType::f64, device(), arguments);
      f(function, arguments);
    });
  }
};

TEST_P(Gradient, IsTheSlope) {
  for_each_function(
      [&](const Function& f, const std::vector<Host>& at) { EXPECT_TRUE(gradient_is_slope(f, at, device())); });
}

TEST_P(Gradient, HasAGradientItself) {
  for_each_function(
      [&](const Function& f, const std::vector<Host>& at) { EXPECT_TRUE(second_gradient_is_slope(f, at, device())); });
}

// For devices without f64.
TEST_P(Gradient, InF32IsThatOfTheCpu) {
  for_each_case([&](const Sample& sample, Layout layout) {
    const auto gradients_on = [&](ir::DeviceId where) {
      std::vector<Host> arguments;
      const Function function = function_of(sample, layout, DType::f32, where, arguments);
      return gradients_of(function, arguments, where);
    };
    const std::vector<Host> got = gradients_on(device()), expected = gradients_on(device::find("cpu"));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(close(got[i], expected[i], 10)) << "argument " << i;
  });
}

TEST_P(Gradient, HasTheDTypeOfItsOperand) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Sample& sample : row().samples) {
      if (sample.large) continue;
      SCOPED_TRACE(fmt::format("{} {} in {}", ir::name(row().op), sample.name, tenon::name(dtype)));
      std::vector<Host> arguments;
      const Function f = function_of(sample, Layout::contiguous, dtype, device(), arguments);
      const std::vector<Host> gradients = gradients_of(f, arguments, device());
      for (size_t i = 0; i < gradients.size(); ++i) {
        if (!is_float(arguments[i].type.dtype)) continue;
        EXPECT_EQ(tenon::name(gradients[i].type.dtype), tenon::name(arguments[i].type.dtype)) << "argument " << i;
        EXPECT_EQ(gradients[i].type.shape, arguments[i].type.shape) << "argument " << i;
        for (double slope : gradients[i].numbers()) EXPECT_TRUE(std::isfinite(slope)) << "argument " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient,
                         testing::Combine(testing::ValuesIn(computing_devices()),
                                          testing::ValuesIn(differentiable_ops())),
                         param_name);

class NullGradient : public testing::TestWithParam<Op> {};

TEST_P(NullGradient, AcceptsEveryCommandOfThePlan) {
  const ir::DeviceId null = device::find("null");
  for (const Sample& sample : find_row(GetParam())->samples) {
    for (Layout layout : {Layout::contiguous, Layout::stepped, Layout::expanded_last}) {
      std::vector<Host> arguments;
      const Function f = function_of(sample, layout, DType::f32, null, arguments);
      EXPECT_NO_THROW(gradients_of(f, arguments, null)) << sample.name << ", operands " << name(layout);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, NullGradient, testing::ValuesIn(differentiable_ops()),
                         [](const testing::TestParamInfo<Op>& tested) { return std::string(ir::name(tested.param)); });

// ---- Points where the derivative is a choice, and rules that have to look at their operands ------------------------

class GradientAt : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  ir::DeviceId device() const { return device::find(GetParam()); }
  Tensor made(const Numbers& values, const Dims& shape) const { return from_vector(values, shape, Options(device())); }
  Tensor made(const Numbers& values) const { return made(values, {static_cast<int64_t>(values.size())}); }
  Tensor leaf(const Numbers& values, const Dims& shape) const { return made(values, shape).requires_grad_(); }
  Tensor leaf(const Numbers& values) const { return made(values).requires_grad_(); }
  Host array(const Numbers& values, const Dims& shape) const { return Host({DType::f64, shape}, values); }
  Host array(const Numbers& values) const { return array(values, {static_cast<int64_t>(values.size())}); }

  /// The gradient of the sum of y * weights.
  static Numbers slope(const Tensor& y, const Tensor& x, const Tensor& weights) {
    return grad(sum(y * weights), x).to_vector<double>();
  }
  static Numbers slope(const Tensor& y, const Tensor& x) { return grad(sum(y), x).to_vector<double>(); }
};

INSTANTIATE_TEST_SUITE_P(Devices, GradientAt, testing::ValuesIn(computing_devices()),
                         [](const testing::TestParamInfo<std::string>& tested) { return test_name(tested.param); });

TEST_P(GradientAt, CastHandsTheGradientBackInTheOperandsDType) {
  for (DType from : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (DType to : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      Tensor x = made({1, 2, 3}).to(from).requires_grad_();
      const Tensor g = grad(sum(x.to(to) * made({0.5, -2, 4}).to(to)), x);
      EXPECT_EQ(tenon::name(g.dtype()), tenon::name(from));
      EXPECT_EQ(g.to_vector<double>(), (Numbers{0.5, -2, 4})) << tenon::name(from) << " to " << tenon::name(to);
    }
  }
}

TEST_P(GradientAt, CastToAnIntegerCutsTheGraph) {
  EXPECT_FALSE(leaf({1.5, 2.5}).to(DType::i64).to(DType::f64).requires_grad());
}

TEST_P(GradientAt, DetachedValuesPassNone) {
  Tensor x = leaf({1, 2, 3});
  EXPECT_EQ(slope(x * x.detach(), x), (Numbers{1, 2, 3}));
}

TEST_P(GradientAt, MaximumSharesTiesEvenly) {
  Tensor a = leaf({1, 2, 3}), b = leaf({1, 5, 0});
  const Tensor top = maximum(a, b);
  EXPECT_EQ(slope(top, a), (Numbers{0.5, 0, 1}));
  EXPECT_EQ(slope(top, b), (Numbers{0.5, 1, 0}));
}

TEST_P(GradientAt, TheLargestElementsOfARowShareItsGradient) {
  Tensor x = leaf({3, 1, 3, 3, 2, 0}, {2, 3});
  EXPECT_EQ(slope(amax(x, {1}), x, made({1, 4})), (Numbers{0.5, 0, 0.5, 4, 0, 0}));
}

TEST_P(GradientAt, AbsAtZeroIsZero) {
  Tensor x = leaf({-2, 0, 2, -0.0});
  EXPECT_EQ(slope(abs(x), x), (Numbers{-1, 0, 1, 0}));
}

TEST_P(GradientAt, PowAtZeroIsFinite) {
  Tensor base = leaf({0, 0, 0, 2}), exponent = leaf({2, 0, 1, 0});
  const Tensor y = pow(base, exponent);
  EXPECT_EQ(slope(y, base), (Numbers{0, 0, 1, 0}));
  EXPECT_TRUE(close(slope(y, exponent), {0, 0, 0, std::log(2)}, 1e-12));
}

TEST_P(GradientAt, ProdWithZerosIsTheProductOfTheOthers) {
  Tensor x = leaf({2, 0, 3, 0, 4, 0}, {2, 3});
  EXPECT_EQ(slope(prod(x, {1}), x), (Numbers{0, 6, 0, 0, 0, 0}));
}

TEST_P(GradientAt, ProdOfManyAxesKeepsItsElementsApart) {
  EXPECT_TRUE(gradient_is_slope(
      [](std::span<const Tensor> x) {
        return sum(prod(x[0], {0, 2}) * x[1]);
      },
      {random_host({DType::f64, {2, 3, 4}}, 5), random_host({DType::f64, {3}}, 6)}, device()));
}

TEST_P(GradientAt, ProdWithZerosHasASecondDerivative) {
  EXPECT_TRUE(second_gradient_is_slope([](std::span<const Tensor> x) { return sum(prod(x[0], {0}) * x[1]); },
                                       {array({2, 0, 3, 1.5}), array({0.7}, {})}, device()));
  EXPECT_TRUE(second_gradient_is_slope([](std::span<const Tensor> x) { return sum(prod(x[0], {0}) * x[1]); },
                                       {array({2, 0, 3, 0}), array({0.7}, {})}, device()));
}

TEST_P(GradientAt, CumprodWithZerosIsTheSumOfTheProductsOfTheOthers) {
  const auto weighted = [](std::span<const Tensor> x) { return sum(cumprod(x[0], 0) * x[1]); };
  const Host weights = array({1, 2, 3, 4});
  EXPECT_TRUE(gradient_is_slope(weighted, {array({2, 0, 3, 1.5}), weights}, device()));
  EXPECT_TRUE(gradient_is_slope(weighted, {array({2, 0, 0, 1.5}), weights}, device()));
  EXPECT_TRUE(gradient_is_slope(weighted, {array({0, 5, 0, 1.5}), weights}, device()));
}

TEST_P(GradientAt, CumprodWithZerosHasASecondDerivative) {
  const auto weighted = [](std::span<const Tensor> x) { return sum(cumprod(x[0], 0) * x[1]); };
  EXPECT_TRUE(second_gradient_is_slope(weighted, {array({2, 0, 3, 1.5}), array({1, 2, 3, 4})}, device()));
}

TEST_P(GradientAt, GatherAddsUpWhatWasPickedTwice) {
  Tensor x = leaf({1, 2, 3});
  const Tensor index = from_vector(std::vector<int64_t>{2, 0, 2}, {3}, Options(device()));
  EXPECT_EQ(slope(index_select(x, 0, index), x, made({1, 10, 100})), (Numbers{10, 0, 101}));
}

TEST_P(GradientAt, SortSendsTheGradientToTheElementThatMoved) {
  Tensor x = leaf({3, 1, 2});
  EXPECT_EQ(slope(sort(x).first, x, made({10, 20, 30})), (Numbers{30, 10, 20}));
}

TEST_P(GradientAt, StoreTakesOverWhatItReplaces) {
  Tensor base = leaf({1, 2, 3, 4}), value = leaf({5, 6});
  const Value stored_into = ir::store(value_of(base), value_of(value), {{Op::shrink, ir::ShrinkAttrs{{1}, {2}, {2}}}});
  const Tensor weights = made({1, 10, 100, 1000});
  EXPECT_EQ(slope(tensor_of(stored_into), base, weights), (Numbers{1, 0, 100, 0}));
  EXPECT_EQ(slope(tensor_of(stored_into), value, weights), (Numbers{10, 1000}));
}

TEST_P(GradientAt, ExpandedOperandsCollectTheGradientsOfTheirCopies) {
  Tensor x = leaf({2, 3}, {2, 1});
  EXPECT_EQ(slope(x.expand({2, 3}), x, made({1, 2, 3, 4, 5, 6}, {2, 3})), (Numbers{6, 15}));
}

TEST_P(GradientAt, AnOperandUsedTwiceGetsBothGradients) {
  Tensor x = leaf({3});
  EXPECT_EQ(slope(x * x + x, x), (Numbers{7}));
}

TEST_P(GradientAt, ModKeepsTheQuotientWhole) {
  Tensor a = leaf({7, -7, 6}), b = leaf({3, 3, 3});
  EXPECT_EQ(slope(fmod(a, b), a), (Numbers{1, 1, 1}));
  EXPECT_EQ(slope(fmod(a, b), b), (Numbers{-2, 2, -2}));
}

TEST_P(GradientAt, DivisionOfEqualValuesIsFlat) {
  Tensor x = leaf({2, 5});
  EXPECT_EQ(slope(x / x, x), (Numbers{0, 0}));
}

TEST_P(GradientAt, ReachesAnIntermediateViewThatIsViewedAgain) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor flat = x.reshape({6}), turned = x.transpose(0, 1);
  EXPECT_EQ(slope(flat.reshape({3, 2}), flat), (Numbers{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(slope(turned.transpose(0, 1), turned), (Numbers{1, 1, 1, 1, 1, 1}));
}

// ---- Calls whose gradient goes through a decomposition -------------------------------------------------------------

class AttentionGradient : public GradientAt {
 protected:
  static Tensor attended(const Tensor& q, const Tensor& k, const Tensor& v) {
    return tensor_of(ir::attention({value_of(q), value_of(k), value_of(v)}, {0.7, true, false}).first);
  }
  static Tensor log_sum(const Tensor& q, const Tensor& k, const Tensor& v) {
    return tensor_of(ir::attention({value_of(q), value_of(k), value_of(v)}, {0.7, true, false}).second);
  }
  static Host random(uint64_t seed) { return random_host({DType::f64, {1, 1, 3, 2}}, seed); }
};
INSTANTIATE_TEST_SUITE_P(Devices, AttentionGradient, testing::ValuesIn(computing_devices()),
                         [](const testing::TestParamInfo<std::string>& tested) { return test_name(tested.param); });

TEST_P(AttentionGradient, OfTheLogSumAloneIsTheSlope) {
  EXPECT_TRUE(gradient_is_slope([](std::span<const Tensor> x) { return sum(log_sum(x[0], x[1], x[2])); },
                                {random(1), random(2), random(3)}, device()));
}

// An operand of the call that is computed from another operand must not get that one's gradient twice.
TEST_P(AttentionGradient, OfTheLogSumWhenOneOperandIsMadeOfAnother) {
  EXPECT_TRUE(gradient_is_slope([](std::span<const Tensor> x) { return sum(log_sum(x[0], x[0] * 2.0, x[1])); },
                                {random(1), random(2)}, device()));
}

// The decomposition transposes the keys: it must not look through a transpose that made them.
TEST_P(AttentionGradient, OfTheLogSumWhenTheKeysAreAView) {
  EXPECT_TRUE(
      gradient_is_slope([](std::span<const Tensor> x) { return sum(log_sum(x[0], x[1].transpose(2, 3), x[2])); },
                        {random(1), random_host({DType::f64, {1, 1, 2, 3}}, 2), random(3)}, device()));
}

TEST_P(AttentionGradient, WhenOneTensorIsQueryKeyAndValue) {
  const Function self_attention = [](std::span<const Tensor> x) { return sum(attended(x[0], x[0], x[0]) * x[1]); };
  EXPECT_TRUE(gradient_is_slope(self_attention, {random(1), random(2)}, device()));
  EXPECT_TRUE(second_gradient_is_slope(self_attention, {random(1), random(2)}, device()));
}

TEST_P(AttentionGradient, TwiceWhenOneOperandIsMadeOfAnother) {
  EXPECT_TRUE(second_gradient_is_slope(
      [](std::span<const Tensor> x) { return sum(attended(x[0], tanh(x[0]), x[0] * 2.0) * x[1]); },
      {random(1), random(2)}, device()));
}

// ---- User-defined functions ----------------------------------------------------------------------------------------

class CustomGradient : public GradientAt {
 protected:
  /// x^3, with a rule that can be differentiated again.
  static CustomFunction cube() {
    return {"cube", [](std::span<const Tensor> x) { return std::vector{x[0] * x[0] * x[0]}; },
            [](std::span<const Tensor> x, std::span<const Tensor> g) { return std::vector{g[0] * 3.0 * x[0] * x[0]}; }};
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CustomGradient, testing::ValuesIn(computing_devices()),
                         [](const testing::TestParamInfo<std::string>& tested) { return test_name(tested.param); });

TEST_P(CustomGradient, FollowsTheGivenRuleTwice) {
  const Function f = [](std::span<const Tensor> x) { return sum(apply(cube(), x[0]) * x[1]); };
  const std::vector<Host> at{array({1, -2, 3}), array({1, 10, 100})};
  EXPECT_TRUE(gradient_is_slope(f, at, device()));
  EXPECT_TRUE(second_gradient_is_slope(f, at, device()));
}

TEST_P(CustomGradient, ReachesAnInputThroughAnUnusedResult) {
  const CustomFunction both{"both",
                            [](std::span<const Tensor> x) {
                              return std::vector{x[0] * 2.0, x[0] * 5.0};
                            },
                            [](std::span<const Tensor>, std::span<const Tensor> g) {
                              EXPECT_FALSE(g[0].defined());
                              return std::vector{g[1] * 5.0};
                            }};
  Tensor x = leaf({1, 2});
  EXPECT_EQ(slope(tenon::apply(both, std::span(&x, 1))[1], x), (Numbers{5, 5}));
}

TEST_P(CustomGradient, ReachesAnInputWhenTheFirstResultIsAnInteger) {
  const CustomFunction signs{
      "signs",
      [](std::span<const Tensor> x) {
        return std::vector{x[0].to(DType::i64), x[0] * 2.0};
      },
      [](std::span<const Tensor>, std::span<const Tensor> g) { return std::vector{g[1] * 2.0}; }};
  Tensor x = leaf({1, 2});
  const Tensor doubled = tenon::apply(signs, std::span(&x, 1))[1];
  ASSERT_TRUE(doubled.requires_grad());
  EXPECT_EQ(slope(doubled, x), (Numbers{2, 2}));
}

}  // namespace
}  // namespace tenon::ops_test
