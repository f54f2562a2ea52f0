// relu inside products: the bits of the recorded ops, and no kernel of its own.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tenon
