// Which ops share a kernel: DESIGN.md's kernel-count table, planned without any device.

#include <gtest/gtest.h>

#include "tenon/device/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

namespace tenon {
namespace {

plan::Plan plan_of(std::vector<Tensor> outputs) {
  plan::Request request;
  for (const Tensor& output : outputs) request.outputs.push_back(value_of(output));
  return plan::make_plan(request);
}

size_t launches(std::vector<Tensor> outputs) {
  const plan::Plan plan = plan_of(std::move(outputs));
  return plan.launches.size();
}

Tensor leaf(const Dims& shape, DType dtype = DType::f32) {
  const Options options(dtype, Device("null"));
  return from_bytes(std::vector<std::byte>(static_cast<size_t>(ir::count(shape)) * size_of(dtype)), shape, options);
}

Tensor weight(const Dims& shape) { return leaf(shape).requires_grad_(); }

TEST(Fusion, SoftmaxIsOneKernel) { EXPECT_EQ(launches({softmax(leaf({64, 1024}), -1)}), 1u); }

TEST(Fusion, SoftmaxOverAnInnerAxisIsOneKernel) { EXPECT_EQ(launches({softmax(leaf({8, 64, 32}), 1)}), 1u); }

TEST(Fusion, FewSumsOfVeryManyNumbersAreSplitInTwo) {
  EXPECT_EQ(launches({sum(square(leaf({1 << 20})))}), 2u);
  EXPECT_EQ(launches({sum(leaf({1 << 16}))}), 1u);
  EXPECT_EQ(launches({sum(leaf({64, 1 << 17}), {1})}), 1u);  // enough rows to share out
}

TEST(Fusion, LayerNormIsOneKernel) {
  EXPECT_EQ(launches({nn::layer_norm(leaf({64, 768}), {768}, leaf({768}), leaf({768}))}), 1u);
}

TEST(Fusion, RmsNormIsOneKernel) { EXPECT_EQ(launches({nn::rms_norm(leaf({64, 768}), {768}, leaf({768}))}), 1u); }

TEST(Fusion, GeluIsOneKernel) {
  EXPECT_EQ(launches({gelu(leaf({64, 768}))}), 1u);
  EXPECT_EQ(launches({gelu(leaf({64, 768}), "tanh")}), 1u);
}

// A gradient reads the products and cells of the steps where they lie: keeping them together would copy each.
TEST(Fusion, AStepOfALayerIsTwoKernelsForwardAndTwoBackward) {
  const auto launches_of = [](int64_t steps) {
    nn::RecurrentOptions options;
    options.options = Options(DType::f32, Device("null"));
    nn::LSTM lstm(8, 16, options);
    sum(lstm(leaf({steps, 4, 8})).y).backward();
    return launches({lstm.weights(0).weight_ih.grad(), lstm.weights(0).weight_hh.grad()});
  };
  EXPECT_EQ(launches_of(9) - launches_of(8), 4u);
}

TEST(Fusion, ANineOpChainIsOneKernel) {
  const Tensor x = leaf({256, 256});
  EXPECT_EQ(launches({sigmoid(tanh(x * 2.0 + 1.0) * x) * x - exp(x) * 0.5}), 1u);
}

TEST(Fusion, DropoutResidualLayerNormIsOneKernel) {
  const Tensor stream = leaf({64, 768}), branch = leaf({64, 768});
  const Tensor sum = stream + nn::dropout(branch, 0.1);
  EXPECT_EQ(launches({sum, nn::layer_norm(sum, {768}, leaf({768}), leaf({768}))}), 1u);
}

TEST(Fusion, VarianceIsOneKernelThoughItDropsTheAxis) { EXPECT_EQ(launches({var(leaf({64, 768}), {-1})}), 1u); }

TEST(Fusion, CrossEntropyForwardIsOneKernelAndItsMean) {
  EXPECT_EQ(launches({nn::cross_entropy(leaf({64, 1000}), leaf({64}, DType::i64),
                                        {.weight = {}, .reduction = nn::Reduction::none})}),
            1u);
  EXPECT_EQ(launches({nn::cross_entropy(leaf({64, 1000}), leaf({64}, DType::i64))}), 2u);
}

TEST(Fusion, CrossEntropyBackwardAddsOneKernel) {
  const Tensor logits = weight({64, 1000});
  Tensor loss = nn::cross_entropy(logits, leaf({64}, DType::i64));
  loss.backward();
  EXPECT_EQ(launches({loss, logits.grad()}), 3u);
}

TEST(Fusion, LayerNormBackwardAddsOnlyTheColumnSums) {
  const Tensor x = weight({64, 768}), w = weight({768}), b = weight({768});
  const std::vector<Tensor> y{nn::layer_norm(x, {768}, w, b)}, inputs{x, w, b};
  const std::vector<Tensor> grads = grad(y, inputs, {{leaf({64, 768})}});
  EXPECT_LE(launches({y[0], grads[0], grads[1], grads[2]}), 3u);
}

// The one is flattened for a matrix product and rounded, the other sums what is not.
TEST(Fusion, GradientsOfAnActivationAndOfTheBiasBeforeItAreOneKernel) {
  const Tensor slope = gelu(leaf({4, 16, 96})) * leaf({4, 16, 96});
  EXPECT_EQ(launches({slope.reshape({64, 96}).to(DType::bf16), slope.sum({0, 1})}), 1u);
  EXPECT_EQ(launches({slope.reshape({64, 96}).to(DType::bf16), slope.sum({0, 2})}), 2u);
}

TEST(Fusion, AdamOverOneArenaIsOneKernel) {
  const Tensor p = leaf({100000}), g = leaf({100000}), m = leaf({100000}), v = leaf({100000});
  const Tensor m1 = m * 0.9 + g * 0.1, v1 = v * 0.999 + g * g * 0.001;
  const Tensor p1 = p * 0.9999 - m1 / (sqrt(v1) + 1e-8) * 1e-3;
  EXPECT_EQ(launches({p1, m1, v1}), 1u);
}

TEST(Fusion, GlobalNormClippingIsTwoKernels) {
  const Tensor g = leaf({100000});
  const Tensor norm = tenon::norm(g);
  EXPECT_LE(launches({g * clamp(1.0 / (norm + 1e-6), {}, 1.0)}), 2u);
}

TEST(Fusion, ViewsLaunchNothing) {
  const Tensor x = leaf({8, 6, 4});
  EXPECT_EQ(launches({x.permute({2, 0, 1}), x.slice(1, 0, 6, 2), x.reshape({-1}), x.expand({3, 8, 6, 4})}), 0u);
}

TEST(Fusion, CallsReadStoredOperandsAndCloseGroups) {
  const Tensor a = leaf({32, 64}), b = leaf({64, 16});
  EXPECT_EQ(launches({matmul(a, b)}), 1u);
  EXPECT_EQ(launches({relu(matmul(exp(a), b) + 1.0)}), 3u);
}

TEST(Fusion, TransposedOperandsOfAMatmulAreNotCopied) {
  EXPECT_EQ(launches({matmul(leaf({32, 64}), leaf({16, 64}).t())}), 1u);
}

TEST(Fusion, AReductionReadAcrossItsRowsIsAnotherKernel) {
  const Tensor x = leaf({16, 16});
  EXPECT_EQ(launches({x + x.sum({1}, true).t()}), 2u);  // row i sees the sum of row j
}

TEST(Fusion, ALongChainIsCutIntoBoundedKernels) {
  Tensor y = leaf({64});
  for (int i = 0; i < 1000; ++i) y = sin(y);
  const size_t n = launches({y});
  EXPECT_GE(n, 1000u / 160);
  EXPECT_LE(n, 1000u / 32);
}

TEST(Fusion, EqualGraphsGiveEqualPlans) {
  const Tensor x = leaf({32, 64}), w = leaf({64, 64});
  const auto print = [&] { return plan_of({softmax(matmul(gelu(x), w), -1), x.sum()}).print(); };
  EXPECT_EQ(print(), print());
}

// A table that is embedding and head: the rows of the one gradient are added into the other, where it lies.
TEST(Fusion, TheGradientOfATiedTableExistsOnce) {
  Tensor table = randn({1000, 64}).eval().requires_grad_();
  const Tensor ids = randint(0, 1000, {8}).eval();
  Tensor loss = matmul(index_select(table, 0, ids), table.transpose(0, 1)).sum();
  loss.backward();
  const plan::Plan plan = plan_of({(table.grad() * table.grad()).sum()});
  EXPECT_LT(plan.arena_bytes, 1000u * 64 * 4 * 3 / 2);
}

}  // namespace
}  // namespace tenon
