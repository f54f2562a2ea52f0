// Loss scaling, autocast and the shadows of weights.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/optim/net.h"

namespace tenon::optim {
namespace {

using testing::Batch;
using testing::Floats;
using testing::Net;
using testing::seeded_net;

TEST(Scaling, UnscalesAndSkipsStepsThatAreNotFinite) {
  Tensor p = ones({2}).clone().requires_grad_();
  Adam optimizer(std::vector<Tensor>{p}, {.lr = 0.1});
  GradScaler scaler({.initial = 8, .interval = 2});
  const auto step = [&](float gradient) {
    scaler.scale((p * gradient).sum()).backward();
    optimizer.step(&scaler);
    optimizer.zero_grad();
  };
  step(1);
  const Floats after_one = p.to_vector<float>();
  EXPECT_NEAR(after_one[0], 0.9f, 1e-6);
  step(INFINITY);
  EXPECT_EQ(p.to_vector<float>(), after_one);
  EXPECT_EQ(optimizer.steps(), 1);
  EXPECT_EQ(scaler.factor(), 4);
  step(1);
  step(1);
  EXPECT_EQ(scaler.factor(), 8);
  EXPECT_EQ(scaler.good_steps(), 0);
  EXPECT_EQ(optimizer.steps(), 3);
}

TEST(Clipping, ByAnyNormOfAllGradientsTogether) {
  const Tensor first = tensor<float>({3, -4}), second = tensor<float>({12});
  EXPECT_FLOAT_EQ(total_norm({first, second}).item<float>(), 13);
  EXPECT_FLOAT_EQ(total_norm({first, second}, 1).item<float>(), 19);
  EXPECT_FLOAT_EQ(total_norm({first, second}, INFINITY).item<float>(), 12);
  EXPECT_FLOAT_EQ(total_norm({}).item<float>(), 0);
  Tensor p = zeros({2}).clone().requires_grad_();
  p.set_grad(first);
  clip_grads_with_norm_({p}, 1, total_norm({first, second}, 1));
  EXPECT_NEAR(p.grad().to_vector<float>()[1], -4.0 / 19, 1e-6);
}

TEST(Scaling, UnscaledGradientsCanBeClippedBeforeTheStep) {
  Tensor p = zeros({2}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{p}, {.lr = 0.5});
  GradScaler scaler({.initial = 8, .interval = 2});
  const auto step = [&](float gradient) {
    scaler.scale((p * gradient).sum()).backward();
    const Tensor finite = scaler.unscale({p});
    if (std::isfinite(gradient)) {
      EXPECT_EQ(p.grad().to_vector<float>(), (Floats{gradient, gradient}));
    }
    clip_grad_norm_({p}, std::sqrt(2.0));
    optimizer.step(nullptr, finite);
    scaler.update(finite);
    optimizer.zero_grad();
  };
  step(4);
  EXPECT_NEAR(p.to_vector<float>()[0], -0.5f, 1e-6);
  step(INFINITY);
  EXPECT_NEAR(p.to_vector<float>()[0], -0.5f, 1e-6);
  EXPECT_EQ(scaler.factor(), 4);
  step(0.5);
  step(0.5);
  EXPECT_NEAR(p.to_vector<float>()[0], -1.0f, 1e-6);
  EXPECT_EQ(scaler.factor(), 8);
  EXPECT_TRUE(scaler.unscale({p}).item<bool>());  // there are no gradients now
}

TEST(Scaling, ReplaysWithTheFactorOfTheMoment) {
  Tensor p = ones({2}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{p}, {.lr = 0.5});
  GradScaler scaler({.initial = 2, .interval = 3});
  auto step = compile([&](const Tensor& g) {
    Tensor loss = (p * g).sum();
    scaler.scale(loss).backward();
    optimizer.step(&scaler);
    optimizer.zero_grad();
    return loss.detach();
  });
  const Tensor good = ones({2}).clone().eval(), bad = full({2}, NAN).clone().eval();
  for (int i = 0; i < 6; ++i) step(good);
  EXPECT_EQ(scaler.factor(), 8);
  EXPECT_EQ(p.to_vector<float>(), (Floats{-2, -2}));
  step(bad);
  EXPECT_EQ(scaler.factor(), 4);
  EXPECT_EQ(p.to_vector<float>(), (Floats{-2, -2}));
}

TEST(Autocasting, GivesGradientsOfWeightsInF32) {
  const Tensor x = rand({4, 8}).eval();
  Tensor w = rand({8, 2}).requires_grad_();
  {
    const Autocast lower;
    matmul(x, w).sum().backward();
  }
  EXPECT_EQ(w.grad().dtype(), DType::f32);
  const Tensor expected = matmul(x.to(DType::bf16).to(DType::f32).t(), ones({4, 2}));
  EXPECT_TRUE(allclose(w.grad(), expected, 1e-6, 1e-6));
}

TEST(Autocasting, ReachesInputsOfAnyRank) {
  Tensor x = rand({2, 3, 8}).requires_grad_();
  Tensor w = rand({8, 5}).requires_grad_();
  const Autocast lower;
  const Tensor y = matmul(x, w);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(y.shape(), (Dims{2, 3, 5}));
  y.sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_TRUE(allclose(x.grad()[0][0], w.detach().sum({1}), 0.02, 0.02));
}

TEST(Autocasting, ALinearLayerRoundsOnce) {
  const Tensor x = from_vector(Floats{1.0f, 1.0f}, {1, 2}), w = from_vector(Floats{256.0f, 1.0f}, {1, 2});
  const Tensor b = from_vector(Floats{1.0f}, {1});
  const Autocast lower;
  const Tensor y = nn::linear(x, w, b);
  EXPECT_EQ(y.dtype(), DType::bf16);
  // 256 + 1 + 1; rounded to 8 bits before the bias it would have been 256.
  EXPECT_EQ(y.item<float>(), 258.0f);
}

TEST(Autocasting, LossesNormsAndSumsAreInF32) {
  const Tensor x = rand({4, 8}).eval(), w = rand({8, 6}).eval();
  const Autocast lower;
  const Tensor y = matmul(x, w);
  for (const Tensor& wide : {nn::cross_entropy(y, zeros({4}, DType::i64)), nn::mse_loss(y, y), y.sum(), y.mean(),
                             softmax(y, -1), nn::layer_norm(y, {6})})
    EXPECT_EQ(wide.dtype(), DType::f32);
  EXPECT_EQ(gelu(y).dtype(), DType::bf16);
}

TEST(Autocasting, ABiasWithoutAShadowGetsItsGradientInF32) {
  const Tensor x = rand({2, 3, 8}).eval();
  Tensor w = rand({5, 8}).requires_grad_(), b = rand({5}).requires_grad_();
  {
    const Autocast lower;
    nn::linear(x, w, b).sum().backward();
  }
  EXPECT_EQ(b.grad().dtype(), DType::f32);
  EXPECT_EQ(b.grad().to_vector<float>(), Floats(5, 6.0f));
}

TEST(Autocasting, SecondDerivativesGoThroughTheWeight) {
  manual_seed(2);
  const Tensor x = randn({3, 4}).eval().requires_grad_();
  const Tensor w = randn({5, 4}).eval().requires_grad_(), b = randn({5}).eval().requires_grad_();
  const auto slope = [&](bool lowers) {
    const Autocast lower(DType::bf16, lowers);
    const Tensor g = grad(tanh(nn::linear(x, w, b)).sum(), x, true);
    return grad((g * g).sum(), w);
  };
  const Tensor wide = slope(false), low = slope(true);
  EXPECT_LE((wide - low).abs().max().item<double>(), 0.05 * wide.abs().max().item<double>());
}

TEST(Autocasting, ASecondDerivativeOfAChunkedLossGoesThroughTheWeight) {
  manual_seed(2);
  const Tensor x = randn({6, 4}).eval().requires_grad_(), w = randn({5, 4}).eval().requires_grad_();
  const Tensor targets = from_vector(std::vector<int64_t>{0, 1, 2, 3, 4, 0}, {6});
  const auto slope = [&](bool lowers) {
    const Autocast lower(DType::bf16, lowers);
    const Tensor g = grad(nn::linear_cross_entropy(x, w, targets, {.chunk = 2}), x, true);
    return grad((g * g).sum(), w);
  };
  const Tensor wide = slope(false), low = slope(true);
  EXPECT_LE((wide - low).abs().max().item<double>(), 0.1 * wide.abs().max().item<double>());
}

TEST(Autocasting, AVectorHasABiasToo) {
  const Tensor x = rand({4}).eval();
  Tensor w = rand({3, 4}).requires_grad_(), b = rand({3}).requires_grad_();
  const Autocast lower;
  nn::linear(x, w, b).sum().backward();
  EXPECT_EQ(b.grad().to_vector<float>(), Floats(3, 1.0f));
}

TEST(Autocasting, EinsumIsAProduct) {
  const Tensor a = rand({2, 3}).eval(), b = rand({3, 4}).eval(), c = rand({4, 5}).eval();
  const Autocast lower;
  EXPECT_EQ(einsum("ij,jk->ik", {matmul(a, b), c}).dtype(), DType::bf16);
}

TEST(Autocasting, TakesAny16BitFloatAndLeavesF64) {
  const Tensor x = rand({2, 3}).eval();
  const Tensor w = rand({3, 3}).to(DType::f16).eval(), b = rand({3}).to(DType::f16).eval();
  const Autocast lower;
  EXPECT_EQ(nn::linear(x, w, b).dtype(), DType::bf16);
  EXPECT_EQ(matmul(w, w).dtype(), DType::bf16);
  EXPECT_EQ(cumsum(matmul(x, w), 0).dtype(), DType::f32);
  EXPECT_EQ(matmul(x.to(DType::f64), w.to(DType::f64)).dtype(), DType::f64);
  EXPECT_THROW(matmul(x.to(DType::f64), x.t()), Error);
}

// A captured function that writes the weight alone leaves the shadow behind, however often it is written afterwards.
TEST(Shadow, StaysBehindUntilItIsWritten) {
  const auto run = [](bool has_shadow, bool captured) {
    manual_seed(4);
    Tensor w = rand({4, 4}).eval();
    if (has_shadow) keep_shadow(w, DType::bf16);
    const Tensor x = rand({2, 4}).eval();
    const auto work = [&](const Tensor& in) {
      const Autocast lower;
      const NoGrad writing;
      const Tensor y = nn::linear(in, w).to(DType::f32).sum();
      w.mul_(0.9);
      return y;
    };
    auto replayed = compile(work);
    Floats seen;
    for (int i = 0; i < 9; ++i) {
      seen.push_back((captured ? replayed(x) : work(x)).item<float>());
      const NoGrad writing;
      if (i == 3 || i == 5) w.sub_(0.3);
      if (i == 6) {
        w.sub_(0.1);
        w.add_(0.3);
      }
    }
    return seen;
  };
  const Floats expected = run(false, false);
  EXPECT_EQ(run(true, false), expected);
  EXPECT_EQ(run(true, true), expected);
}

TEST(Shadow, IsA16BitFloat) {
  Tensor w = rand({2, 2}).eval();
  for (const DType dtype : {DType::f32, DType::f64, DType::i64}) EXPECT_THROW(keep_shadow(w, dtype), Error);
}

TEST(Shadow, IsWrittenByTheUpdateAndReadByProducts) {
  Net net = seeded_net();
  const Batch batch;
  AdamW optimizer(net.parameters(), {.lr = 0.01});
  optimizer.keep_shadow();
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    const Autocast lower;
    Tensor loss = net.loss(x, y);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    last = step(batch.x, batch.y).item<double>();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.6 * first);
  const Autocast lower;
  const Tensor rounded = matmul(batch.x.to(DType::bf16), net.w.detach().to(DType::bf16));
  EXPECT_EQ(matmul(batch.x, net.w).to_vector<float>(), rounded.to_vector<float>());
}

TEST(Shadow, EqualsConvertingEveryTime) {
  const auto run = [](bool has_shadow) {
    Net net = seeded_net();
    const Batch batch;
    AdamW optimizer(net.parameters(), {.lr = 0.01});
    if (has_shadow) optimizer.keep_shadow();
    Floats losses;
    for (int i = 0; i < 10; ++i) {
      const Autocast lower;
      Tensor loss = net.loss(batch.x, batch.y);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      losses.push_back(loss.item<float>());
    }
    return losses;
  };
  EXPECT_EQ(run(true), run(false));
}

// Somebody writes a weight between replays: products must not read what it was.
TEST(Shadow, FollowsWritesFromOutside) {
  Tensor w = rand({8, 8}).requires_grad_();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 0});
  optimizer.keep_shadow();
  const Tensor x = ones({1, 8}).clone().eval();
  const auto product = [&](const Tensor& in) {
    const Autocast lower;
    const NoGrad reading;
    return matmul(in, w);
  };
  auto captured = compile(product);
  for (int i = 0; i < 4; ++i) captured(x);
  {
    NoGrad writing;
    w.fill_(0.5);
  }
  EXPECT_EQ(captured(x).to_vector<float>(), Floats(8, 4.0f));
  EXPECT_EQ(product(x).to_vector<float>(), Floats(8, 4.0f));
}

// Products read the shadow; the weights themselves stand in the graph for their gradients only, and must not keep the
// update from writing where they lie.
TEST(Autocast, TheFirstStepWritesTheWeightsWhereTheyLie) {
  Tensor a = randn({256, 256}).eval().requires_grad_(), b = randn({256, 128}).eval().requires_grad_();
  AdamW optimizer({a, b}, {.lr = 1e-3});
  optimizer.keep_shadow();
  const Tensor x = randn({4, 256}).eval();
  wait({a, b, x});
  const size_t gradients = (256 * 256 + 256 * 128) * 4, before = memory_stats().live_bytes;
  device::reset_peak();
  auto step = compile([&](const Tensor& given) {
    const Autocast lower(DType::bf16);
    Tensor loss = matmul(matmul(given, a), b).sum();
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  wait({step(x)});
  EXPECT_LT(memory_stats().peak_bytes, before + gradients * 5 / 4);
}

}  // namespace
}  // namespace tenon::optim
