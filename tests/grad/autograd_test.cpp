// Gradients as users meet them: backward(), grad(), modes, leaves, higher derivatives, custom functions, devices, and
// the options of cross_entropy against values worked out by hand.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "tenon/backends/reference/reference_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;

Reals reals(const Tensor& x) { return x.to_vector<double>(); }

/// A leaf of f64 values.
Tensor leaf(const Reals& values, const Dims& shape) { return from_vector(values, shape).requires_grad_(); }
Tensor leaf(const Reals& values) { return leaf(values, {static_cast<int64_t>(values.size())}); }
Tensor leaf(double value) { return leaf({value}, {}); }

/// Values in -1..1 without a pattern.
Reals scattered(int64_t count, double phase) {
  Reals values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::sin(static_cast<double>(i * i) * 0.37 + phase * 1.7 + 0.5 * static_cast<double>(i)));
  return values;
}
Tensor scattered_leaf(const Dims& shape, double phase) { return leaf(scattered(ir::count(shape), phase), shape); }

/// Equal within a tolerance that grows with the value; the first difference is enough to read.
void expect_near(const Reals& seen, const Reals& expected, double tolerance) {
  ASSERT_EQ(seen.size(), expected.size());
  for (size_t i = 0; i < seen.size(); ++i)
    ASSERT_NEAR(seen[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << "element " << i;
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// Central differences of a function to a single number, for one of its inputs.
Reals differences(const Function& f, const std::vector<Tensor>& inputs, size_t which) {
  constexpr double kStep = 1e-5;
  Reals slopes;
  const Reals at = reals(inputs[which]);
  for (size_t i = 0; i < at.size(); ++i) {
    double side[2];
    for (int s : {0, 1}) {
      Reals moved = at;
      moved[i] += s ? kStep : -kStep;
      std::vector<Tensor> changed = inputs;
      changed[which] = leaf(moved, inputs[which].shape());
      side[s] = f(changed).item<double>();
    }
    slopes.push_back((side[1] - side[0]) / (2 * kStep));
  }
  return slopes;
}

/// The gradient of f is that of finite differences.
void expect_gradient(const Function& f, const std::vector<Tensor>& inputs) {
  const Tensor y = f(inputs);
  const auto slopes = grad(std::span(&y, 1), inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE(fmt::format("input {}", i));
    expect_near(reals(slopes[i]), differences(f, inputs, i), 1e-7);
  }
}

/// The function whose gradient is f's second derivative: the gradients of f, weighted and added up.
Function weighted_gradient(const Function& f) {
  return [f](const std::vector<Tensor>& inputs) {
    const Tensor y = f(inputs);
    GradOptions options;
    options.create_graph = true;
    const auto slopes = grad(std::span(&y, 1), inputs, options);
    Tensor total;
    for (size_t i = 0; i < slopes.size(); ++i) {
      const Tensor weight = from_vector(scattered(slopes[i].numel(), 5 + static_cast<double>(i)), slopes[i].shape());
      const Tensor part = sum(slopes[i] * weight);
      total = total.defined() ? total + part : part;
    }
    return total;
  };
}

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

// Unlike PyTorch's, as the header says: equal expressions are one value, and its gradient counts every use.
TEST(Autograd, EqualIntermediatesAreOneValue) {
  Tensor x = leaf(3);
  const Tensor a = x.clone(), b = x.clone();
  EXPECT_EQ(grad(a * b, a).item<double>(), 6);
  EXPECT_EQ(grad(a * b, x).item<double>(), 6);
  Tensor y = leaf(3);  // leaves are never one, whatever they hold
  EXPECT_EQ(grad(x * y, x).item<double>(), 3);
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

// ---- higher derivatives ----

TEST(Autograd, SecondDerivativeOfACube) {
  Tensor x = leaf(2);
  for (const auto& cube : std::vector<std::function<Tensor()>>{[&] { return x * x * x; }, [&] { return pow(x, 3); },
                                                               [&] { return pow(x, 3.0); }}) {
    const Tensor first = grad(cube(), x, true);
    const Tensor second = grad(first, x, true);
    EXPECT_EQ(first.item<double>(), 12);
    EXPECT_EQ(second.item<double>(), 12);
    EXPECT_EQ(grad(second, x).item<double>(), 6);
  }
}

TEST(Autograd, DerivativesOfSineGoRound) {
  Tensor x = leaf(0.7);
  Tensor y = sin(x);
  const double expected[] = {std::cos(0.7), -std::sin(0.7), -std::cos(0.7), std::sin(0.7)};
  for (double value : expected) {
    y = grad(y, x, true);
    EXPECT_NEAR(y.item<double>(), value, 1e-12);
  }
}

TEST(Autograd, SecondDerivativesOfEverySmoothFunction) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"exp", exp},
      {"log", log},
      {"sqrt", sqrt},
      {"rsqrt", rsqrt},
      {"sin", sin},
      {"cos", cos},
      {"tan", tan},
      {"tanh", tanh},
      {"sinh", sinh},
      {"cosh", cosh},
      {"sigmoid", sigmoid},
      {"erf", erf},
      {"expm1", expm1},
      {"log1p", log1p},
      {"square", square},
      {"log2", log2},
      {"reciprocal", reciprocal},
      {"exp2", exp2},
      {"silu", silu},
      {"mish", mish},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu tanh", [](const Tensor& x) { return gelu(x, "tanh"); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"pow", [](const Tensor& x) { return pow(x, 2.5); }},
      {"power of", [](const Tensor& x) { return pow(1.5, x); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 0); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, 0); }},
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {0}); }},
      {"cumsum", [](const Tensor& x) { return square(cumsum(x, 0)); }},
      {"cumprod", [](const Tensor& x) { return cumprod(x, 0); }},
      {"prod", [](const Tensor& x) { return prod(x, {0}); }},
      {"var", [](const Tensor& x) { return var(x); }},
      {"std", [](const Tensor& x) { return std(x); }},
      {"norm", [](const Tensor& x) { return norm(x); }},
      {"layer_norm", [](const Tensor& x) { return nn::layer_norm(x, {3}); }},
      {"sort", [](const Tensor& x) { return square(sort(x).first); }},
      {"matmul", [](const Tensor& x) { return matmul(outer(x, x), x); }},
      {"gather",
       [](const Tensor& x) {
         return square(gather(x, 0, tensor({2, 0, 2})));
       }},
  };
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    const Function weighted = [f = f](const std::vector<Tensor>& in) {
      const Tensor y = f(in[0]);
      return sum(y * from_vector(scattered(y.numel(), 3), y.shape()));
    };
    const std::vector<Tensor> at{leaf({0.4, 0.9, 1.2})};
    expect_gradient(weighted, at);
    expect_gradient(weighted_gradient(weighted), at);
  }
}

// f(x, y) = x^2 y + sin(x y)
TEST(Autograd, HessianOfASmallFunction) {
  Tensor v = leaf({0.6, 1.3});
  const Tensor x = v[0], y = v[1];
  const Tensor first = grad(x * x * y + sin(x * y), v, true);
  const Reals row0 = reals(grad(first[0], v, true)), row1 = reals(grad(first[1], v, true));
  const double a = 0.6, b = 1.3, s = std::sin(a * b), c = std::cos(a * b);
  expect_near(row0, {2 * b - b * b * s, 2 * a + c - a * b * s}, 1e-12);
  expect_near(row1, {2 * a + c - a * b * s, -a * a * s}, 1e-12);
}

TEST(Autograd, GradientPenalty) {
  const Reals w0 = scattered(6, 1);
  const Tensor x = from_vector(scattered(8, 2), {4, 2});
  const Function penalty = [&](const std::vector<Tensor>& in) {
    Tensor points = x.detach().clone().requires_grad_();
    const Tensor score = sum(tanh(matmul(points, in[0])));
    const Tensor slope = grad(score, points, true);
    return mean(square(norm(slope, 2, {1}) - 1.0));
  };
  expect_gradient(penalty, {leaf(w0, {2, 3})});
}

TEST(Autograd, BackwardThroughAGradient) {
  Tensor x = leaf(2);
  Tensor slope = grad(x * x * x, x, true);
  (slope * slope).backward();  // (3x^2)^2 = 9x^4
  EXPECT_EQ(x.grad().item<double>(), 36 * 8);
}

TEST(Autograd, CreateGraphDecidesWhetherGradientsHaveHistory) {
  Tensor x = leaf(2);
  EXPECT_FALSE(grad(x * x, x).requires_grad());
  EXPECT_TRUE(grad(x * x, x, true).requires_grad());
  EXPECT_FALSE(grad(x * 3, x, true).requires_grad());  // constant
  (x * x).backward();
  EXPECT_FALSE(x.grad().requires_grad());
  x.zero_grad();
  (x * x).backward(Tensor(), false, true);
  EXPECT_TRUE(x.grad().requires_grad());
  EXPECT_EQ(grad(x.grad(), x).item<double>(), 2);
}

TEST(Autograd, RetainGraphAllowsAnotherBackward) {
  Tensor x = leaf(3);
  Tensor y = x * x;
  y.backward(Tensor(), true);
  y.backward(Tensor(), true);
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 18);
  EXPECT_THROW(y.backward(), Error);
}

TEST(Autograd, AUsedUpTensorStillHasItsValue) {
  Tensor x = leaf(3);
  Tensor y = x * x;
  y.backward();
  EXPECT_EQ(y.item<double>(), 9);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
}

TEST(Autograd, SecondDerivativeThroughWritesInPlace) {
  const Function f = [](const std::vector<Tensor>& in) {
    Tensor y = in[0] * in[0];
    y[0].mul_(y[1]);
    y.slice(0, 1).add_(in[0].slice(0, 0, 2));
    return sum(y * y * from_vector(Reals{1, 2, 3}, {3}));
  };
  expect_gradient(f, {leaf({0.4, 0.9, 1.7})});
  expect_gradient(weighted_gradient(f), {leaf({0.4, 0.9, 1.7})});
}

// ---- random programs against dual numbers ----

// A number and its slope as the leaf moves along a fixed direction: forward differentiation, one operation at a time.
struct Dual {
  double value, slope;
};

// Writes through views of an intermediate, with and without history, beside arrays of dual numbers. Gradients are right
// when the slope of a weighted sum is the product of the leaf's gradient and the direction.
class DualProgram {
 public:
  explicit DualProgram(uint32_t seed)
      : random_(seed), leaf_(leaf(scattered(12, seed), {3, 4})), direction_(scattered(12, seed + 0.5)) {
    const Reals at = reals(leaf_);
    for (size_t i = 0; i < at.size(); ++i) memory_.push_back({2 * at[i], 2 * direction_[i]});
    views_.push_back({leaf_ * 2, {}, false});
    for (size_t i = 0; i < at.size(); ++i) views_[0].positions.push_back(i);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (const View& view : views_) check(view);
    Tensor total;
    double slope = 0;
    for (const View& view : views_) {
      if (view.detached) continue;
      const Reals weight = scattered(static_cast<int64_t>(view.positions.size()), 9);
      const Tensor part = sum(view.tensor * from_vector(weight, view.tensor.shape()));
      total = total.defined() ? total + part : part;
      for (size_t i = 0; i < weight.size(); ++i) slope += weight[i] * memory_[view.positions[i]].slope;
    }
    const Reals gradient = reals(grad(total, leaf_));
    double seen = 0;
    for (size_t i = 0; i < gradient.size(); ++i) seen += gradient[i] * direction_[i];
    EXPECT_NEAR(seen, slope, 1e-9 * (1 + std::fabs(slope))) << log_;
  }

 private:
  struct View {
    Tensor tensor;
    std::vector<size_t> positions;
    bool detached;
  };

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  View& any_view() { return views_[static_cast<size_t>(below(static_cast<int64_t>(views_.size())))]; }

  void check(const View& view) {
    Reals expected;
    for (size_t at : view.positions) expected.push_back(memory_[at].value);
    EXPECT_EQ(reals(view.tensor), expected) << log_;
    EXPECT_FALSE(view.detached && view.tensor.requires_grad()) << log_;
  }

  void step() {
    switch (below(6)) {
      case 0:
      case 1: return add_view();
      case 2: return write(true);
      case 3: return write(false);
      case 4: any_view().tensor.eval(); return;
      default: return check(any_view());
    }
  }

  void add_view() {
    if (views_.size() > 8) return;
    const View from = any_view();
    const Dims& shape = from.tensor.shape();
    View made = from;
    std::vector<int64_t> flat(from.positions.begin(), from.positions.end());
    const Tensor positions = from_vector(flat, shape);
    const auto move = [&](auto f) {
      made.tensor = f(from.tensor);
      flat = f(positions).template to_vector<int64_t>();
      made.positions.assign(flat.begin(), flat.end());
    };
    const int64_t axis = shape.empty() ? 0 : below(static_cast<int64_t>(shape.size()));
    switch (below(4)) {
      case 0:
        made.tensor = from.tensor.detach();
        made.detached = true;
        break;
      case 1:
        if (shape.empty()) return;
        move([&](const Tensor& t) { return t.select(axis, 0); });
        break;
      case 2:
        if (shape.empty()) return;
        move([&](const Tensor& t) { return t.slice(axis, {}, {}, -1); });
        break;
      default:
        if (shape.size() < 2) return;
        move([&](const Tensor& t) { return t.transpose(0, 1); });
        break;
    }
    log_ += fmt::format("view {} {}\n", fmt::join(made.positions, " "), made.detached ? "detached" : "");
    views_.push_back(made);
  }

  // target = 0.5 target + 0.25 source + 1, where the source has as many elements or is one number.
  void write(bool tracked) {
    View &to = any_view(), &from = any_view();
    if (from.positions.size() != to.positions.size()) return;
    const bool keeps_history = tracked && !to.detached;
    log_ += fmt::format("write {} from {} {}\n", fmt::join(to.positions, " "), fmt::join(from.positions, " "),
                        keeps_history ? "with history" : "without");
    std::vector<Dual> next;
    for (size_t i = 0; i < to.positions.size(); ++i) {
      const Dual a = memory_[to.positions[i]], b = memory_[from.positions[i]];
      const double source_slope = from.detached ? 0 : b.slope;
      next.push_back(
          {a.value * 0.5 + b.value * 0.25 + 1, keeps_history ? a.slope * 0.5 + source_slope * 0.25 : a.slope});
    }
    const auto perform = [&] {
      to.tensor.copy_(to.tensor * 0.5 + from.tensor.reshape(to.tensor.shape()) * 0.25 + 1.0);
    };
    if (tracked) {
      perform();
    } else {
      NoGrad off;
      perform();
    }
    for (size_t i = 0; i < next.size(); ++i) memory_[to.positions[i]] = next[i];
  }

  std::mt19937 random_;
  Tensor leaf_;
  Reals direction_;
  std::vector<Dual> memory_;
  std::vector<View> views_;
  std::string log_;
};

TEST(Autograd, RandomProgramsOfWritesHaveTheSlopesOfDualNumbers) {
  for (uint32_t seed = 0; seed < 150 && !HasFailure(); ++seed) DualProgram(seed).run(30);
}

// ---- attention ----

struct AttentionCase {
  const char* name;
  Dims query, key, value;
  nn::AttentionOptions options;
};

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  cases.push_back({"plain", {3, 2}, {4, 2}, {4, 3}, {}});
  cases.push_back({"causal", {1, 3, 2}, {1, 3, 2}, {1, 3, 2}, {}});
  cases.back().options.causal = true;
  cases.push_back({"masked", {2, 3, 2}, {2, 3, 2}, {2, 3, 2}, {}});
  cases.back().options.mask = from_vector(scattered(9, 4), {3, 3});
  cases.push_back({"bool mask", {3, 2}, {3, 2}, {3, 2}, {}});
  cases.back().options.mask = tensor({{true, false, true}, {true, true, true}, {false, false, true}});
  cases.push_back({"shared heads", {4, 2, 2}, {2, 3, 2}, {2, 3, 2}, {}});
  cases.back().options.gqa = true;
  cases.push_back({"scaled", {3, 2}, {3, 2}, {3, 2}, {}});
  cases.back().options.scale = 1.7;
  return cases;
}

Function attention_loss(const nn::AttentionOptions& options) {
  return [options](const std::vector<Tensor>& in) {
    const Tensor y = nn::scaled_dot_product_attention(in[0], in[1], in[2], options);
    return sum(y * y * from_vector(scattered(y.numel(), 3), y.shape()));
  };
}

TEST(Autograd, AttentionGradient) {
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.name);
    expect_gradient(attention_loss(c.options),
                    {scattered_leaf(c.query, 0), scattered_leaf(c.key, 1), scattered_leaf(c.value, 2)});
  }
}

TEST(Autograd, AttentionSecondDerivative) {
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.name);
    expect_gradient(weighted_gradient(attention_loss(c.options)),
                    {scattered_leaf(c.query, 0), scattered_leaf(c.key, 1), scattered_leaf(c.value, 2)});
  }
}

TEST(Autograd, AttentionGradientOfItsMask) {
  const Function f = [](const std::vector<Tensor>& in) {
    nn::AttentionOptions options;
    options.mask = in[1];
    return sum(square(nn::scaled_dot_product_attention(in[0], in[0] * 2, sin(in[0]), options)));
  };
  const std::vector<Tensor> at{scattered_leaf({3, 2}, 0), scattered_leaf({3, 3}, 1)};
  expect_gradient(f, at);
  expect_gradient(weighted_gradient(f), at);
}

// Query, key and value all come from one tensor, as in every transformer: each path must count once.
TEST(Autograd, SelfAttentionSecondDerivative) {
  const Function f = [](const std::vector<Tensor>& in) {
    const Tensor y = nn::scaled_dot_product_attention(matmul(in[0], in[1]), in[0], tanh(in[0]), {});
    return sum(y * y * from_vector(scattered(y.numel(), 3), y.shape()));
  };
  const std::vector<Tensor> at{scattered_leaf({3, 2}, 0), scattered_leaf({2, 2}, 1)};
  expect_gradient(f, at);
  expect_gradient(weighted_gradient(f), at);
}

TEST(Autograd, AttentionGradientIsThatOfItsFormula) {
  Tensor q = scattered_leaf({3, 2}, 0), k = scattered_leaf({4, 2}, 1), v = scattered_leaf({4, 3}, 2);
  const Tensor plain = matmul(softmax(matmul(q, k.t()) / std::sqrt(2.0), -1), v);
  const Tensor fused = nn::scaled_dot_product_attention(q, k, v);
  expect_near(reals(fused), reals(plain), 1e-12);
  const Tensor inputs[] = {q, k, v}, loss = sum(square(fused)), same = sum(square(plain));
  const auto a = grad(std::span(&loss, 1), inputs), b = grad(std::span(&same, 1), inputs);
  for (size_t i = 0; i < 3; ++i) expect_near(reals(a[i]), reals(b[i]), 1e-12);
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

// ---- cross entropy ----

struct ClassCase {
  Reals logits;  // (3, 4)
  std::vector<int64_t> target;
  Reals weight;
  int64_t ignore = -100;
  double smoothing = 0;
};

// PyTorch's documented formula, term by term.
Reals losses_by_hand(const ClassCase& c, double& counted) {
  Reals losses;
  counted = 0;
  for (size_t row = 0; row < 3; ++row) {
    if (c.target[row] == c.ignore) {
      losses.push_back(0);
      continue;
    }
    double total = 0;
    for (size_t k = 0; k < 4; ++k) total += std::exp(c.logits[4 * row + k]);
    const auto log_p = [&](size_t k) { return c.logits[4 * row + k] - std::log(total); };
    const auto t = static_cast<size_t>(c.target[row]);
    const auto weight = [&](size_t k) { return c.weight.empty() ? 1.0 : c.weight[k]; };
    double smooth = 0;
    for (size_t k = 0; k < 4; ++k) smooth -= weight(k) * log_p(k);
    losses.push_back(-(1 - c.smoothing) * weight(t) * log_p(t) + c.smoothing / 4 * smooth);
    counted += weight(t);
  }
  return losses;
}

TEST(Autograd, CrossEntropyOptionsAreThoseOfTheFormula) {
  const Reals logits = scattered(12, 6), weight{0.5, 2, 1, 3};
  const ClassCase cases[] = {
      {logits, {0, 3, 1}, {}},
      {logits, {0, 3, 1}, weight},
      {logits, {0, -100, 1}, {}},
      {logits, {2, -100, 1}, weight},
      {logits, {0, 3, 1}, {}, 3},
      {logits, {0, 3, 1}, {}, -100, 0.1},
      {logits, {0, 3, 1}, weight, -100, 0.3},
      {logits, {0, 3, -100}, weight, -100, 0.3},
      {logits, {0, 3, 3}, {}, 3, 1.0},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(fmt::format("case {}", i));
    const ClassCase& c = cases[i];
    Tensor x = leaf(c.logits, {3, 4});
    const Tensor target = from_vector(c.target, {3});
    nn::CrossEntropyOptions options;
    if (!c.weight.empty()) options.weight = from_vector(c.weight, {4});
    options.ignore_index = c.ignore;
    options.label_smoothing = c.smoothing;
    double counted = 0, total = 0;
    const Reals expected = losses_by_hand(c, counted);
    for (double loss : expected) total += loss;
    options.reduction = nn::Reduction::none;
    expect_near(reals(nn::cross_entropy(x, target, options)), expected, 1e-12);
    options.reduction = nn::Reduction::sum;
    EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), total, 1e-12);
    options.reduction = nn::Reduction::mean;
    EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), total / counted, 1e-12);
    expect_gradient([&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], target, options); }, {x});
    expect_gradient(
        weighted_gradient([&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], target, options); }),
        {x});
  }
}

TEST(Autograd, CrossEntropyOfOneRowIsWorkedOutByHand) {
  Tensor x = leaf({0, std::log(3.0)}, {1, 2});  // probabilities 1/4 and 3/4
  Tensor loss = nn::cross_entropy(x, tensor({1}));
  EXPECT_NEAR(loss.item<double>(), std::log(4.0 / 3), 1e-12);
  loss.backward();
  expect_near(reals(x.grad()), {0.25, -0.25}, 1e-12);
}

TEST(Autograd, CrossEntropyOfIgnoredTargetsOnly) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor target = tensor({-100, -100});
  nn::CrossEntropyOptions options;
  EXPECT_TRUE(std::isnan(nn::cross_entropy(x, target, options).item<double>()));  // 0 / 0, as in PyTorch
  options.reduction = nn::Reduction::sum;
  Tensor total = nn::cross_entropy(x, target, options);
  EXPECT_EQ(total.item<double>(), 0);
  total.backward();
  EXPECT_EQ(reals(x.grad()), Reals({0, 0, 0, 0}));
}

TEST(Autograd, CrossEntropyOfProbabilities) {
  const Reals logits = scattered(8, 7), p{0.1, 0.2, 0.3, 0.4, 0, 1, 0, 0}, weight{0.5, 2, 1, 3};
  double plain = 0, weighted = 0, smoothed = 0;
  for (size_t row = 0; row < 2; ++row) {
    double total = 0;
    for (size_t k = 0; k < 4; ++k) total += std::exp(logits[4 * row + k]);
    for (size_t k = 0; k < 4; ++k) {
      const double log_p = logits[4 * row + k] - std::log(total), wanted = p[4 * row + k];
      plain -= wanted * log_p / 2;
      weighted -= weight[k] * wanted * log_p / 2;
      smoothed -= (0.8 * wanted + 0.2 / 4) * log_p / 2;
    }
  }
  const Tensor x = leaf(logits, {2, 4}), target = from_vector(p, {2, 4});
  nn::CrossEntropyOptions options;
  EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), plain, 1e-12);
  options.weight = from_vector(weight, {4});
  EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), weighted, 1e-12);
  options = {};
  options.label_smoothing = 0.2;
  EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), smoothed, 1e-12);
}

TEST(Autograd, CrossEntropyOverImagesAndSingleRows) {
  const Reals logits = scattered(24, 8);
  const Tensor x = leaf(logits, {2, 3, 4});  // classes in the middle
  const Tensor target = tensor({{0, 1, 2, 0}, {2, 2, 1, 0}});
  const Tensor rows = x.transpose(1, 2).reshape({8, 3});
  EXPECT_NEAR(nn::cross_entropy(x, target).item<double>(), nn::cross_entropy(rows, target.reshape({8})).item<double>(),
              1e-12);
  EXPECT_NEAR(nn::cross_entropy(rows[0], scalar(0)).item<double>(),
              nn::cross_entropy(rows.slice(0, 0, 1), tensor({0})).item<double>(), 1e-12);
  EXPECT_NEAR(nn::nll_loss(log_softmax(x, 1), target).item<double>(), nn::cross_entropy(x, target).item<double>(),
              1e-12);
}

TEST(Autograd, CrossEntropyOfCertainLogitsIsFinite) {
  Tensor x = leaf({1000, -1000, -1000, 1000}, {2, 2});
  Tensor loss = nn::cross_entropy(x, tensor({0, 0}));
  EXPECT_EQ(loss.item<double>(), 1000);
  loss.backward();
  EXPECT_EQ(reals(x.grad()), Reals({0, 0, -0.5, 0.5}));
}

TEST(Autograd, CrossEntropyWithImpossibleClasses) {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor x = leaf({0, -inf, 0, 0, -inf, 0}, {2, 3});  // a masked vocabulary
  Tensor loss = nn::cross_entropy(x, tensor({0, 2}));
  EXPECT_NEAR(loss.item<double>(), std::log(2.0), 1e-12);
  loss.backward();
  expect_near(reals(x.grad()), {-0.25, 0, 0.25, 0.25, 0, -0.25}, 1e-12);
}

}  // namespace
}  // namespace tenon
