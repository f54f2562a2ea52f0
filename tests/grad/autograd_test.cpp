// Gradients as users meet them: backward(), grad(), modes, leaves, custom functions, devices.

#include <limits>
#include <random>
#include <thread>

#include "tenon/backends/reference/reference_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tests/grad/support.h"

namespace tenon {
namespace {

// ---- backward and leaves ----

TEST(Autograd, BackwardFillsTheLeaves) {
  Tensor x = leaf({1, 2, 3}), y = leaf({4, 5, 6});
  sum(x * y + x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({5, 6, 7}));
  EXPECT_EQ(reals(y.grad()), Reals({1, 2, 3}));
}

TEST(Autograd, BackwardOfAVectorTakesItsGradient) {
  Tensor x = leaf({1, 2, 3});
  (x * x).backward(tensor({1.0, 10.0, 100.0}, DType::f64));
  EXPECT_EQ(reals(x.grad()), Reals({2, 40, 600}));
}

TEST(Autograd, TheGivenGradientIsConvertedToTheDtype) {
  Tensor x = leaf({1, 2});
  (x * 3).backward(ones({2}, DType::f32));
  EXPECT_EQ(x.grad().dtype(), DType::f64);
  EXPECT_EQ(reals(x.grad()), Reals({3, 3}));
}

TEST(Autograd, GradientsAddUpOverCallsOfBackward) {
  Tensor x = leaf({1, 2});
  for (int i = 0; i < 3; ++i) sum(x * x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({6, 12}));
  x.grad().eval();
  sum(x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({7, 13}));
}

// A leaf that was read on the way is another node from there on; what arrives at both is added up as at one.
TEST(Autograd, GradientsHaveTheSameBitsWhetherTheirLeafWasReadOrNot) {
  Generator generator(1);
  const Tensor numbers = randn({512}, {}, &generator).eval();
  const auto gradient = [&](bool reads) {
    Tensor a = numbers.clone().requires_grad_();
    const Tensor v = a / (a.abs() + 0.5);
    if (reads) wait({a.detach()});
    (sum(a.abs() * a) + sum(v)).backward();
    return a.grad().to_vector<float>();
  };
  EXPECT_EQ(gradient(false), gradient(true));
}

TEST(Autograd, ZeroGradForgetsTheGradient) {
  Tensor x = leaf({1, 2});
  sum(x * x).backward();
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  sum(x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({1, 1}));
  Tensor constant = ones({2});
  constant.zero_grad();  // nothing to forget, and no error
  EXPECT_FALSE(constant.grad().defined());
}

TEST(Autograd, SetGradIsWhatBackwardAddsTo) {
  Tensor x = leaf({1, 2});
  x.set_grad(tensor({10.0, 20.0}, DType::f64));
  sum(x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({11, 21}));
}

// Clipping by hand, as everyone writes it: for p in parameters: p.grad.mul_(scale).
TEST(Autograd, TheGradientCanBeChangedInPlace) {
  Tensor x = leaf({1, 2});
  sum(x * x).backward();
  x.grad().mul_(0.5);
  EXPECT_EQ(reals(x.grad()), Reals({1, 2}));
  x.grad().zero_();
  EXPECT_EQ(reals(x.grad()), Reals({0, 0}));
}

TEST(Autograd, TheGradientHeldAcrossBackwardIsTheOneThatGrows) {
  Tensor x = leaf({1, 2});
  sum(x).backward();
  const Tensor held = x.grad();
  sum(x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({2, 2}));
  EXPECT_EQ(reals(held), Reals({2, 2}));  // PyTorch adds in place
}

TEST(Autograd, GradientsHaveTheDtypeOfTheirLeaf) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    Tensor x = ones({2}, dtype).requires_grad_();
    sum((x * 2).to(DType::f32)).backward();
    EXPECT_EQ(x.grad().dtype(), dtype);
    EXPECT_EQ(reals(x.grad()), Reals({2, 2}));
  }
}

TEST(Autograd, BroadcastGradientsAreSummed) {
  Tensor row = leaf({1, 2, 3}), column = leaf({10, 20}, {2, 1}), number = leaf(5);
  sum(row * column + number).backward();
  EXPECT_EQ(reals(row.grad()), Reals({30, 30, 30}));
  EXPECT_EQ(reals(column.grad()), Reals({6, 6}));
  EXPECT_EQ(number.grad().item<double>(), 6);
  EXPECT_EQ(column.grad().shape(), (Dims{2, 1}));
}

TEST(Autograd, ALeafItselfHasGradientOne) {
  Tensor x = leaf(3);
  x.backward();
  x.backward();
  EXPECT_EQ(x.grad().item<double>(), 2);
}

TEST(Autograd, PromotedOperandsGetGradientsOfTheirOwnDtype) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_(), y = leaf({3, 4});
  sum(x * y).backward();
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  EXPECT_EQ(y.grad().dtype(), DType::f64);
  EXPECT_EQ(reals(x.grad()), Reals({3, 4}));
}

TEST(Autograd, ALeafUpdatedAfterForwardGetsTheGradientOfForward) {
  Tensor x = leaf(3);
  Tensor y = x * x;
  {
    NoGrad update;
    x.fill_(100);
  }
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 6);
  EXPECT_EQ(x.item<double>(), 100);
}

TEST(Autograd, GradientsOfTwoVersionsOfALeafAddUp) {
  Tensor x = leaf(3);
  const Tensor before = x * x;
  {
    NoGrad update;
    x.fill_(10);
  }
  (before + x * x).backward();
  EXPECT_EQ(x.grad().item<double>(), 26);
}

TEST(Autograd, GradOfAnUpdatedLeafFindsItInTheGraph) {
  Tensor x = leaf(3);
  const Tensor y = x * 2;
  {
    NoGrad update;
    x.fill_(10);
  }
  Tensor slope;
  ASSERT_NO_THROW(slope = grad(y, x));
  EXPECT_EQ(slope.item<double>(), 2);
}

TEST(Autograd, ATrainingLoopConverges) {
  Tensor w = leaf({0, 0});
  const Tensor x = tensor({{1.0, 2.0}, {3.0, -1.0}, {0.5, 0.5}}, DType::f64);
  const Tensor target = matmul(x, tensor({2.0, -3.0}, DType::f64));
  for (int step = 0; step < 200; ++step) {
    nn::mse_loss(matmul(x, w), target).backward();
    NoGrad update;
    w.sub_(w.grad() * 0.1);
    w.zero_grad();
    w.eval();
  }
  expect_near(reals(w), {2, -3}, 1e-6);
}

// ---- what requires grad ----

TEST(Autograd, RequiresGradSpreads) {
  Tensor x = leaf({1, 2}), constant = ones({2}, DType::f64);
  EXPECT_TRUE((x + constant).requires_grad());
  EXPECT_FALSE((constant + constant).requires_grad());
  EXPECT_TRUE(x[0].requires_grad());
  EXPECT_TRUE(x.to(DType::f32).requires_grad());
  EXPECT_TRUE(x.clone().requires_grad());
  EXPECT_TRUE(sort(x).first.requires_grad());
}

TEST(Autograd, WhatIsNoRealNumberNeverRequiresGrad) {
  Tensor x = leaf({1, 2});
  EXPECT_FALSE((x > 1).requires_grad());
  EXPECT_FALSE(argmax(x).requires_grad());
  EXPECT_FALSE(sort(x).second.requires_grad());
  EXPECT_FALSE(x.to(DType::i64).requires_grad());
  EXPECT_FALSE(max(x, 0).second.requires_grad());
  EXPECT_FALSE(x.to(DType::i64).to(DType::f64).requires_grad());
}

TEST(Autograd, LeavesAreWhatUsersMake) {
  Tensor x = leaf({1, 2});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE((x * 2).is_leaf());
  EXPECT_FALSE(x[0].is_leaf());
  EXPECT_TRUE(x.detach().is_leaf());
  EXPECT_TRUE(ones({2}).is_leaf());
  EXPECT_TRUE(tensor({1, 2}).is_leaf());
  EXPECT_FALSE((x * 2).requires_grad_().is_leaf());
  EXPECT_FALSE((x * 2).grad().defined());
}

TEST(Autograd, RequiresGradCanBeTakenBack) {
  Tensor x = leaf({1, 2});
  x.requires_grad_(false);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_FALSE((x * 2).requires_grad());
  x.requires_grad_();
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(Autograd, DetachCutsTheGraph) {
  Tensor x = leaf(3);
  const Tensor y = x * x;
  (y.detach() * x).backward();
  EXPECT_EQ(x.grad().item<double>(), 9);  // not 27
}

TEST(Autograd, UnusedLeavesGetNoGradient) {
  Tensor x = leaf(3), y = leaf(4);
  (x * 2).backward();
  EXPECT_FALSE(y.grad().defined());
}

// PyTorch: a step function has gradient 0, and backward() through it is no error.
TEST(Autograd, StepFunctionsHaveGradientZero) {
  for (auto step : {floor, ceil, round, trunc, sign}) {
    Tensor x = leaf({1.5, -0.5});
    const Tensor y = step(x);
    EXPECT_TRUE(y.requires_grad());
    if (!y.requires_grad()) continue;
    sum(y).backward();
    EXPECT_EQ(reals(x.grad()), Reals({0, 0}));
  }
}

TEST(Autograd, TheSlopeOfAStepIsZeroWithoutASign) {
  for (auto step : {floor, ceil, round, trunc, sign}) {
    Tensor x = tensor({-1.5, 0.25, 0, 2}).requires_grad_();
    (step(x) * tensor({-2., 3., -4., 5.})).sum().backward();
    for (const double slope : x.grad().to_vector<double>()) EXPECT_FALSE(std::signbit(slope)) << slope;
  }
}

// A number that was read is memory, and no number that a plan could fold.
TEST(Autograd, WhatWasReadBeforeChangesNoSignOfAZero) {
  const auto zeros_of = [] { return sum(neg(zeros({4, 4})), {1}).to_vector<float>(); };
  const auto is_plus_zero = [](float x) { return x == 0 && !std::signbit(x); };
  for (const float x : zeros_of()) EXPECT_TRUE(is_plus_zero(x));
  const Tensor held = zeros({17, 20});
  held.to_vector<float>();
  for (const float x : zeros_of()) EXPECT_TRUE(is_plus_zero(x)) << "after a read";
  const Tensor balanced = tensor({1.f, -1.f}).eval();
  EXPECT_TRUE(is_plus_zero(sum(neg(balanced)).item<float>()));
}

// ---- modes ----

TEST(Autograd, NoGradRecordsNoHistory) {
  Tensor x = leaf({1, 2});
  {
    NoGrad off;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    EXPECT_FALSE(x[0].requires_grad());
    EXPECT_FALSE(matmul(x, x).requires_grad());
    EXPECT_FALSE(cat({x, x}).requires_grad());
    EXPECT_FALSE(where(x > 0, x, 0.0).requires_grad());
    EXPECT_FALSE(x.clone().requires_grad());
    EXPECT_FALSE(x.to(DType::f32).requires_grad());
    EXPECT_FALSE(gather(x, 0, tensor({0})).requires_grad());
    EXPECT_FALSE(nn::layer_norm(x, {2}, x, x).requires_grad());
    EXPECT_FALSE(softmax(x, 0).requires_grad());
    EXPECT_TRUE(x.requires_grad());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(Autograd, EveryOpUnderNoGradIsWithoutHistory) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor index = tensor({{0, 1}, {1, 0}});
  NoGrad off;
  const Tensor results[] = {x + x,
                            x - 1,
                            2 * x,
                            x / 3,
                            pow(x, 2),
                            pow(x, 2.5),
                            maximum(x, 2),
                            minimum(x, 2),
                            -x,
                            abs(x),
                            exp(x),
                            x % 2,
                            sum(x),
                            mean(x),
                            prod(x),
                            amax(x),
                            amin(x),
                            var(x),
                            std(x),
                            norm(x),
                            logsumexp(x, {0}),
                            cumsum(x, 0),
                            cumprod(x, 0),
                            sort(x).first,
                            topk(x, 1).first,
                            max(x, 0).first,
                            log_softmax(x, 0),
                            x.t(),
                            x.reshape({4}),
                            x.expand({3, 2, 2}),
                            flip(x, {0}),
                            pad(x, {1, 1}),
                            pad(x, {1, 1}, 2),
                            stack({x, x}),
                            repeat(x, {2, 2}),
                            roll(x, 1, 0),
                            tril(x),
                            index_select(x, 0, tensor({1})),
                            scatter_add(x, 0, index, x),
                            einsum("ij,jk->ik", {x, x}),
                            masked_fill(x, x > 1, 0),
                            clamp(x, 1, 2),
                            relu(x),
                            gelu(x),
                            nn::linear(x, x),
                            nn::embedding(x, index),
                            nn::dropout(x),
                            nn::rms_norm(x, {2}),
                            nn::scaled_dot_product_attention(x, x, x),
                            nn::mse_loss(x, x),
                            nn::cross_entropy(x, tensor({0, 1})),
                            x.contiguous(),
                            x.t().contiguous(),
                            outer(x[0], x[1])};
  for (size_t i = 0; i < std::size(results); ++i) {
    EXPECT_FALSE(results[i].requires_grad() && !results[i].is_leaf()) << "result " << i;
  }
}

TEST(Autograd, EnableGradInsideNoGrad) {
  Tensor x = leaf(2);
  NoGrad off;
  Tensor y;
  {
    EnableGrad on;
    y = x * x;
    NoGrad inner;
    EXPECT_FALSE((x * x).requires_grad());
  }
  EXPECT_FALSE(grad_enabled());
  y.backward();  // the mode at the time of recording counts
  EXPECT_EQ(x.grad().item<double>(), 4);
}

TEST(Autograd, ModesEndWithAnException) {
  try {
    NoGrad off;
    ones({2}) + ones({3});
  } catch (const Error&) {
  }
  EXPECT_TRUE(grad_enabled());
}

TEST(Autograd, ModesBelongToTheirThread) {
  NoGrad off;
  bool enabled_elsewhere = false;
  std::thread([&] { enabled_elsewhere = grad_enabled(); }).join();
  EXPECT_TRUE(enabled_elsewhere);
}

TEST(Autograd, ThreadsTakeGradientsAtOnce) {
  Tensor shared = leaf({1, 2});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) sum(shared * shared).backward();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reals(shared.grad()), Reals({80, 160}));
}

// ---- graphs ----

TEST(Autograd, SharedSubexpressionsCountOncePerUse) {
  Tensor x = leaf(3);
  const Tensor y = x * x;
  (y + y * y).backward();  // 2x + 4x^3
  EXPECT_EQ(x.grad().item<double>(), 6 + 108);
}

TEST(Autograd, Diamonds) {
  Tensor x = leaf(2);
  const Tensor top = x * 3, left = top * top, right = sin(top);
  (left * right).backward();
  const double t = 6;
  EXPECT_NEAR(x.grad().item<double>(), 3 * (2 * t * std::sin(t) + t * t * std::cos(t)), 1e-12);
}

TEST(Autograd, AnOperandUsedTwiceInOneOp) {
  Tensor x = leaf({1, 2}), m = leaf({1, 2, 3, 4}, {2, 2});
  sum(x * x).backward();
  EXPECT_EQ(reals(x.grad()), Reals({2, 4}));
  sum(matmul(m, m)).backward();  // column sums of m plus row sums of m
  EXPECT_EQ(reals(m.grad()), Reals({3 + 4, 7 + 4, 3 + 6, 7 + 6}));
}

TEST(Autograd, ALongChainNeedsNoStack) {
  Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < 30000; ++i) y = y + x;
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 30001);
}

TEST(Autograd, PartsOfTheGraphThatNeedNoGradientAreLeftOut) {
  Tensor x = leaf(2);
  const Tensor constant = exp(ones({}, DType::f64));
  const Tensor slope = grad(x * constant, x);
  EXPECT_FALSE(slope.requires_grad());
  EXPECT_NEAR(slope.item<double>(), std::exp(1), 1e-12);
}

// ---- grad() ----

TEST(Autograd, GradTouchesNoLeaf) {
  Tensor x = leaf({1, 2});
  EXPECT_EQ(reals(grad(sum(x * x), x)), Reals({2, 4}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, GradOfAnIntermediate) {
  Tensor x = leaf(3);
  const Tensor y = x * x, z = y * y;
  EXPECT_EQ(grad(z, y).item<double>(), 18);
  EXPECT_EQ(grad(z, x).item<double>(), 108);
  EXPECT_EQ(grad(z, z).item<double>(), 1);
  const Tensor both[] = {y, x};
  const auto slopes = grad(std::span(&z, 1), both);
  EXPECT_EQ(slopes[0].item<double>(), 18);
  EXPECT_EQ(slopes[1].item<double>(), 108);
}

// A view of a view is recorded as one move, but the view between them is still part of the graph.
TEST(Autograd, GradOfAViewThatIsViewedAgain) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6});
  const Tensor base = x * 2, matrix = base.reshape({2, 3}), turned = matrix.t();
  const auto slope = [](const Tensor& y, const Tensor& view) {
    try {
      return reals(grad(sum(y), view));
    } catch (const Error&) {
      return Reals();
    }
  };
  EXPECT_EQ(slope(square(matrix.reshape({6})), matrix), Reals({4, 8, 12, 16, 20, 24}));
  EXPECT_EQ(slope(square(turned.t()), turned), Reals({4, 16, 8, 20, 12, 24}));
  EXPECT_EQ(slope(square(matrix.slice(0, 1)), matrix), Reals({0, 0, 0, 16, 20, 24}));
}

TEST(Autograd, GradOfSeveralOutputsAddsThem) {
  Tensor x = leaf({1, 2});
  const Tensor outputs[] = {sum(x * x), x * 3}, inputs[] = {x};
  GradOptions options;
  options.grad_outputs = {scalar(10.0), tensor({1.0, 2.0})};
  EXPECT_EQ(reals(grad(outputs, inputs, options)[0]), Reals({23, 46}));
}

TEST(Autograd, GradMayLeaveOutGradientsOfSingleNumbers) {
  Tensor x = leaf({1, 2});
  const Tensor outputs[] = {sum(x * x), x * 3}, inputs[] = {x};
  GradOptions options;
  options.grad_outputs = {Tensor(), tensor({1.0, 2.0})};
  EXPECT_EQ(reals(grad(outputs, inputs, options)[0]), Reals({5, 10}));
}

TEST(Autograd, UnusedInputsAreUndefinedWhenAllowed) {
  Tensor x = leaf(3), y = leaf(4);
  const Tensor out = x * 2, inputs[] = {y, x};
  GradOptions options;
  options.allow_unused = true;
  const auto slopes = grad(std::span(&out, 1), inputs, options);
  EXPECT_FALSE(slopes[0].defined());
  EXPECT_EQ(slopes[1].item<double>(), 2);
}

// ---- custom functions ----

const CustomFunction kScaledCube{"scaled_cube",
                                 [](std::span<const Tensor> in) { return std::vector{in[0] * in[0] * in[0] * in[1]}; },
                                 [](std::span<const Tensor> in, std::span<const Tensor> g) {
                                   return std::vector{g[0] * 3.0 * in[0] * in[0] * in[1], g[0] * in[0] * in[0] * in[0]};
                                 }};

TEST(Autograd, ACustomFunctionHasItsOwnRule) {
  const CustomFunction clipped{
      "straight_through", [](std::span<const Tensor> in) { return std::vector{clamp(in[0], -1, 1)}; },
      [](std::span<const Tensor>, std::span<const Tensor> g) { return std::vector{g[0] * 7.0}; }};
  Tensor x = leaf({-3, 0.5, 3});
  const Tensor y = apply(clipped, x);
  EXPECT_EQ(reals(y), Reals({-1, 0.5, 1}));
  EXPECT_TRUE(y.requires_grad());
  sum(y).backward();
  EXPECT_EQ(reals(x.grad()), Reals({7, 7, 7}));
}

TEST(Autograd, ACustomFunctionOfSeveralInputs) {
  Tensor x = leaf({2}), s = leaf({5});
  const Tensor inputs[] = {x, s};
  Tensor y = apply(kScaledCube, inputs)[0];
  EXPECT_EQ(y.item<double>(), 40);
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 60);
  EXPECT_EQ(s.grad().item<double>(), 8);
}

TEST(Autograd, SecondDerivativesGoThroughACustomRule) {
  const Function f = [](const std::vector<Tensor>& in) { return sum(apply(kScaledCube, in)[0]); };
  const std::vector<Tensor> at{leaf({0.5, 1.5}), leaf({2.0, -1.0})};
  expect_gradient(f, at);
  expect_gradient(weighted_gradient(f), at);
}

// Called without tenon::, with vectors and functions that are const or not.
TEST(CustomFunction, TakesAnyVectorWithoutANamespace) {
  CustomFunction twice{
      "twice", [](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] * 2.0}; },
      [](std::span<const Tensor>, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0] * 2.0}; }};
  const CustomFunction& same = twice;
  std::vector<Tensor> inputs{full({}, 3.0)};
  const std::vector<Tensor>& seen = inputs;
  for (const Tensor& y : {apply(twice, inputs)[0], apply(twice, seen)[0], apply(same, inputs)[0], apply(same, seen)[0],
                          apply(twice, std::vector<Tensor>{inputs[0]})[0]})
    EXPECT_EQ(y.item<float>(), 6.0f);
}

TEST(CustomFunction, OfOneTensorGivesOne) {
  const CustomFunction pair{
      "pair",
      [](std::span<const Tensor> in) {
        return std::vector<Tensor>{in[0], in[0] * 2.0};
      },
      [](std::span<const Tensor>, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0]}; }};
  EXPECT_THROW(apply(pair, full({}, 1.0)), Error);
}

TEST(Autograd, ACustomFunctionOfSeveralResults) {
  const CustomFunction both{"sum_and_product",
                            [](std::span<const Tensor> in) {
                              return std::vector{in[0] + in[1], in[0] * in[1]};
                            },
                            [](std::span<const Tensor> in, std::span<const Tensor> g) {
                              Tensor a = zeros_like(in[0]), b = zeros_like(in[1]);
                              if (g[0].defined()) a = a + g[0], b = b + g[0];
                              if (g[1].defined()) a = a + g[1] * in[1], b = b + g[1] * in[0];
                              return std::vector{a, b};
                            }};
  Tensor x = leaf({2, 3}), y = leaf({10, 20});
  const Tensor inputs[] = {x, y};
  const auto results = apply(both, inputs);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(reals(results[0]), Reals({12, 23}));
  EXPECT_EQ(reals(results[1]), Reals({20, 60}));
  EXPECT_EQ(reals(grad(sum(results[0]), x)), Reals({1, 1}));    // only the first takes part
  EXPECT_EQ(reals(grad(sum(results[1]), x)), Reals({10, 20}));  // only the second
  EXPECT_EQ(reals(grad(sum(results[0] * results[1]), y)), Reals({20 + 12 * 2, 60 + 23 * 3}));
}

TEST(Autograd, ACustomFunctionMayGiveIndicesFirst) {
  const CustomFunction top{
      "top",
      [](std::span<const Tensor> in) {
        auto [values, index] = max(in[0], 0);
        return std::vector{index, values};
      },
      [](std::span<const Tensor> in, std::span<const Tensor> g) { return std::vector{ones_like(in[0]) * g[1]}; }};
  Tensor x = leaf({2, 3});
  const Tensor inputs[] = {x};
  const auto results = apply(top, inputs);
  EXPECT_FALSE(results[0].requires_grad());
  ASSERT_TRUE(results[1].requires_grad());
  EXPECT_EQ(reals(grad(results[1], x)), Reals({1, 1}));
}

TEST(Autograd, ACustomRuleMayLeaveInputsWithoutGradient) {
  const CustomFunction picks{"picks",
                             [](std::span<const Tensor> in) { return std::vector{in[0] * in[1].to(DType::f64)}; },
                             [](std::span<const Tensor> in, std::span<const Tensor> g) {
                               return std::vector{g[0] * in[1], Tensor()};
                             }};
  Tensor x = leaf({2, 3});
  const Tensor inputs[] = {x, tensor({4, 5})};
  sum(apply(picks, inputs)[0]).backward();
  EXPECT_EQ(reals(x.grad()), Reals({4, 5}));
}

TEST(Autograd, ACustomFunctionWithoutGradientsToGiveRecordsNone) {
  EXPECT_FALSE(tenon::apply(kScaledCube, std::vector<Tensor>{ones({1}), ones({1})})[0].requires_grad());
  Tensor x = leaf({2});
  NoGrad off;
  EXPECT_FALSE(tenon::apply(kScaledCube, std::vector<Tensor>{x, x})[0].requires_grad());
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Autograd, ACustomRuleThatDoesNotFit) {
  const auto with = [](std::function<std::vector<Tensor>(std::span<const Tensor>, std::span<const Tensor>)> backward) {
    return CustomFunction{"mine", [](std::span<const Tensor> in) { return std::vector{in[0] + in[1]}; },
                          std::move(backward)};
  };
  Tensor x = leaf({2, 3}), y = leaf({4, 5});
  const Tensor inputs[] = {x, y};
  const auto backward_error = [&](const CustomFunction& function) {
    return error_of([&] { sum(apply(function, inputs)[0]).backward(); });
  };
  EXPECT_EQ(backward_error(with([](auto, auto g) { return std::vector{g[0]}; })),
            "[mine] backward() returned 1 gradients for 2 inputs");
  EXPECT_EQ(backward_error(with([](auto, auto g) {
              return std::vector{g[0], sum(g[0])};
            })),
            "[mine] backward() returned a gradient of shape () for input 1 of (2,)");
  EXPECT_FALSE(x.grad().defined());  // a failed backward changes nothing
  EXPECT_FALSE(y.grad().defined());
}

// ---- two devices ----

Device second_device() {
  static const Device device = device::add({"reference2", backends::reference::open});
  return device;
}

TEST(Autograd, GradientsCrossDevices) {
  Tensor x = leaf({1, 2, 3});
  Tensor w = from_vector(Reals{10, 20, 30}, {3}, Options(DType::f64, second_device())).requires_grad_();
  const Tensor there = (x * x).to(second_device());
  EXPECT_EQ(there.device().name(), "reference2");
  Tensor loss = sum(there * w);
  EXPECT_EQ(loss.device().name(), "reference2");
  loss.backward();
  EXPECT_EQ(x.grad().device(), x.device());
  EXPECT_EQ(w.grad().device().name(), "reference2");
  EXPECT_EQ(reals(x.grad()), Reals({20, 80, 180}));
  EXPECT_EQ(reals(w.grad()), Reals({1, 4, 9}));
}

TEST(Autograd, SecondDerivativesCrossDevices) {
  const Function f = [](const std::vector<Tensor>& in) {
    const Tensor there = (in[0] * in[0]).to(second_device());
    return sum(sin(there)).to(in[0].device()) * sum(in[0]);
  };
  expect_gradient(f, {leaf({0.5, 1.5})});
  expect_gradient(weighted_gradient(f), {leaf({0.5, 1.5})});
}

TEST(Autograd, ACopyToAnotherDeviceKeepsTheValueOfItsMoment) {
  Tensor x = from_vector(Reals{1, 2}, {2});
  const Tensor there = x.to(second_device());
  x.fill_(9);
  EXPECT_EQ(reals(there), Reals({1, 2}));
  Tensor target = zeros({2}, Options(DType::f64, second_device()));
  target.copy_(x);
  x.fill_(5);
  EXPECT_EQ(reals(target), Reals({9, 9}));
}

}  // namespace
}  // namespace tenon
