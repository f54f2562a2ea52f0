// Biases and relu inside products and convolutions: the bits of the recorded ops, and no kernel of its own.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Activation = ir::Epilogue::Activation;

struct Seen {
  std::vector<std::vector<float>> values;  // the loss, and the gradients of all weights
  int relu = 0;
};

enum class Reads { activation, sums_too };

// Two layers with relu in between; sums of exactly 0 and NaN are among those that it is taken of.
Seen run(const Device& device, Reads reads = Reads::activation) {
  constexpr int64_t kRows = 37, kWidth = 24, kInner = 70;
  manual_seed(5);
  const Tensor x = randn({kRows, kWidth});
  Tensor bias = randn({kInner}), first = randn({kInner, kWidth}) * 0.3;
  first.slice(0, 3, 5).fill_(0);
  bias.slice(0, 3, 4).fill_(0);
  bias.slice(0, 4, 5).fill_(-0.0);
  bias.slice(0, 9, 10).fill_(std::numeric_limits<double>::quiet_NaN());
  std::vector<Tensor> weights;
  for (const Tensor& weight : {first, bias, randn({kWidth, kInner}) * 0.3, randn({kWidth})})
    weights.push_back(weight.to(device).eval().requires_grad_());
  const Tensor in = x.to(device).eval();
  Seen seen;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    for (const plan::Launch& launch : plan.launches) {
      const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
      seen.relu += call && call->epilogue.activation == Activation::relu;
    }
  });
  const Tensor sums = nn::linear(in, weights[0], weights[1]);
  const Tensor y = nn::linear(relu(sums), weights[2], weights[3]);
  Tensor loss = square(y).mean();
  if (reads == Reads::sums_too) loss = loss + tanh(sums).sum();
  std::vector<Tensor> all{loss.detach()};
  const std::vector<Tensor> of{loss};
  for (const Tensor& slope : grad(of, weights)) all.push_back(slope);
  eval(all);
  for (const Tensor& one : all) seen.values.push_back(one.to_vector<float>());
  return seen;
}

void expect_same_bits(const Seen& a, const Seen& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    ASSERT_EQ(a.values[i].size(), b.values[i].size());
    EXPECT_EQ(std::memcmp(a.values[i].data(), b.values[i].data(), a.values[i].size() * sizeof(float)), 0) << i;
  }
}

TEST(ReluEpilogue, GivesTheBitsOfTheOps) {
  const Seen fused = run(Device("cpu"));
  EXPECT_EQ(fused.relu, 1);
  expect_same_bits(fused, run(Device("cpu_unfused")));
}

TEST(ReluEpilogue, IsNotUsedWhereTheSumsAreReadToo) {
  const Seen fused = run(Device("cpu"), Reads::sums_too);
  EXPECT_EQ(fused.relu, 0);
  expect_same_bits(fused, run(Device("cpu_unfused"), Reads::sums_too));
}

TEST(ReluEpilogue, ABiasThatIsNoneIsNotUsed) {
  const Tensor x = randn({5, 6}).eval(), w = randn({7, 6}).eval(), residual = randn({5, 7}).eval();
  int relu_inside = 0;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    for (const plan::Kernel& kernel : plan.kernels) {
      const auto* call = std::get_if<ir::Call>(&kernel);
      relu_inside += call && call->epilogue.activation == Activation::relu;
    }
  });
  const std::vector<float> made = relu(matmul(x, w.t()) + residual).to_vector<float>();
  EXPECT_EQ(relu_inside, 0);
  EXPECT_GE(*std::min_element(made.begin(), made.end()), 0.0F);
}

// ---- convolutions ----

struct ConvSeen {
  std::vector<std::vector<float>> values;
  int biases = 0, relu = 0;
};

ConvSeen watch_plans(const Device& device, const std::function<std::vector<Tensor>(const Device&)>& make) {
  manual_seed(3);
  ConvSeen seen;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    for (const plan::Launch& launch : plan.launches) {
      const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
      if (!call || (call->op != ir::Op::conv && call->op != ir::Op::conv_transpose)) continue;
      seen.biases += call->epilogue.bias;
      seen.relu += call->epilogue.activation == Activation::relu;
    }
  });
  const std::vector<Tensor> all = make(device);
  eval(all);
  for (const Tensor& one : all) seen.values.push_back(one.to_vector<float>());
  return seen;
}

void expect_bits_of_the_ops(const std::function<std::vector<Tensor>(const Device&)>& make, int biases, int relu) {
  const ConvSeen fused = watch_plans(Device("cpu"), make), plain = watch_plans(Device("cpu_unfused"), make);
  EXPECT_EQ(fused.biases, biases);
  EXPECT_EQ(fused.relu, relu);
  EXPECT_EQ(plain.biases, 0);
  ASSERT_EQ(fused.values.size(), plain.values.size());
  for (size_t i = 0; i < fused.values.size(); ++i) {
    ASSERT_EQ(fused.values[i].size(), plain.values[i].size());
    EXPECT_EQ(std::memcmp(fused.values[i].data(), plain.values[i].data(), fused.values[i].size() * sizeof(float)), 0);
  }
}

Tensor with_special_values(Tensor bias) {
  bias.slice(0, 1, 2).fill_(std::numeric_limits<double>::quiet_NaN());
  bias.slice(0, 2, 3).fill_(-0.0);
  return bias;
}

TEST(ConvEpilogue, ABiasIsAddedByTheConvolution) {
  expect_bits_of_the_ops(
      [](const Device& device) {
        const Tensor x = randn({3, 6, 15, 17}).to(device), w = randn({10, 3, 3, 3}).to(device);
        const Tensor bias = with_special_values(randn({10})).to(device);
        eval(std::vector<Tensor>{x, w, bias});
        return std::vector<Tensor>{nn::conv2d(x, w, bias, {.stride = 2, .padding = 1, .groups = 2})};
      },
      1, 0);
  expect_bits_of_the_ops(
      [](const Device& device) {
        const Tensor x = randn({2, 6, 9, 7}).to(device), w = randn({6, 5, 3, 3}).to(device);
        const Tensor bias = with_special_values(randn({5})).to(device);
        eval(std::vector<Tensor>{x, w, bias});
        return std::vector<Tensor>{nn::conv_transpose2d(x, w, bias, {.stride = 2, .padding = 1})};
      },
      1, 0);
}

// As large as oneDNN takes them on x86.
TEST(ConvEpilogue, PoolingReadsReluOfTheConvolution) {
  expect_bits_of_the_ops(
      [](const Device& device) {
        Tensor x = randn({20, 8, 16, 16}).to(device), w = randn({24, 8, 3, 3}).to(device);
        Tensor bias = with_special_values(randn({24})).to(device);
        eval(std::vector<Tensor>{x, w, bias});
        for (Tensor* leaf : {&x, &w, &bias}) leaf->requires_grad_();
        const Tensor y = nn::max_pool2d(relu(nn::conv2d(x, w, bias, {.padding = 1})), 2);
        const std::vector<Tensor> of{(y * y).sum()}, leaves{x, w, bias};
        std::vector<Tensor> all = grad(of, leaves);
        all.push_back(y.detach());
        return all;
      },
      1, 1);
}

}  // namespace
}  // namespace tenon
