// Long graphs and long loops: neither the stack nor memory may grow with their length.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tenon/device/registry.h"
#include "tenon/device/storage.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/test_name.h"

namespace tenon {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr int kMillion = 200'000;
constexpr int kDeep = 20'000;  // of backward
#else
constexpr int kMillion = 1'000'000;
constexpr int kDeep = 100'000;
#endif

// Every device that computes; run with the device as the default one.
class Chains : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    before_ = device::default_device();
    device::set_default_device(device::find(GetParam()));
    nodes_ = ir::live_nodes();
    bytes_ = device::memory_stats().live_bytes;
    device::reset_peak();
  }
  void TearDown() override {
    EXPECT_EQ(ir::live_nodes(), nodes_) << "nodes outlived the test";
    EXPECT_EQ(device::memory_stats().live_bytes, bytes_) << "memory outlived the test";
    device::set_default_device(before_);
  }
  size_t nodes() const { return ir::live_nodes() - nodes_; }
  size_t live_bytes() const { return device::memory_stats().live_bytes - bytes_; }
  size_t peak_bytes() const { return device::memory_stats().peak_bytes - bytes_; }

 private:
  ir::DeviceId before_;
  size_t nodes_ = 0, bytes_ = 0;
};

std::vector<std::string> computing_devices() {
  std::vector<std::string> names = device::names();
  std::erase_if(names, [](const std::string& name) {  // where every op is a kernel, or a kernel takes its time to make
    return name == "null" || name.ends_with("_unfused") || name.starts_with("opencl") || name.starts_with("vulkan") ||
           name.starts_with("cuda") || name == "simulated";
  });
  return names;
}
INSTANTIATE_TEST_SUITE_P(On, Chains, testing::ValuesIn(computing_devices()),
                         [](const auto& row) { return test_name(row.param); });

// ---- one long graph ----

TEST_P(Chains, AMillionAdditionsNeedNoStackAndAHandfulOfBytes) {
  const Tensor x = tensor({0.0f, 100.0f});
  ir::Value chain = value_of(x);  // recorded below the tensors, which would evaluate it in pieces
  for (int i = 0; i < kMillion; ++i) chain = ir::add_number(chain, 1);
  EXPECT_GE(nodes(), static_cast<size_t>(kMillion));
  exec::eval({&chain, 1});
  const Tensor y = tensor_of(exec::settle(chain));
  chain = {};
  EXPECT_EQ(y.to_vector<float>(),
            (std::vector<float>{static_cast<float>(kMillion), static_cast<float>(kMillion + 100)}));
  EXPECT_LT(peak_bytes(), 4096u);
  EXPECT_LT(nodes(), 10u);
}

TEST_P(Chains, AMillionMixedOpsNeedNoStackAndAHandfulOfBytes) {
  Tensor y = tensor({4.0f, -8.0f});
  for (int i = 0; i < kMillion / 4; ++i) {
    y = y * 0.5;
    y = y.reshape({2, 1}) + 1;
    y = y.transpose(0, 1).sum({0}, false);  // one row: the sum changes nothing
    y = -y;
  }
  // y -> -(y / 2 + 1) ends at -2/3 from anywhere.
  for (float value : y.to_vector<float>()) EXPECT_NEAR(value, -2.0f / 3, 1e-6);
  EXPECT_LT(peak_bytes(), 4096u);
}

TEST_P(Chains, AnUnevaluatedMillionIsDroppedWithoutStack) {
  ir::Value chain = value_of(tensor({1.0f}));
  for (int i = 0; i < kMillion; ++i) chain = ir::add_number(chain, 1);
  chain = {};
  EXPECT_EQ(nodes(), 0u);
}

TEST_P(Chains, AChainOfDiamondsIsComputedOnceANode) {
  Tensor y = tensor({1.0});
  for (int i = 0; i < kDeep / 4; ++i) y = (y + y) * 0.5;  // 2^(kDeep / 4) paths
  EXPECT_EQ(y.item<float>(), 1.0f);
}

TEST_P(Chains, AMillionStoresNeedNoStack) {
  Tensor y = tensor({0.0f, 7.0f});
  for (int i = 0; i < kMillion / 10; ++i) y.slice(0, 0, 1).fill_(static_cast<double>(i));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{static_cast<float>(kMillion / 10 - 1), 7}));
  EXPECT_LT(peak_bytes(), 1u << 20);  // each of the numbers is an argument of its plan
}

// ---- backward ----

TEST_P(Chains, BackwardThroughALongProductIsItsDerivative) {
  const double factor = 1 + 1.0 / kDeep;
  Tensor x = tensor({2.0}, DType::f64).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < kDeep; ++i) y = y * factor;
  y.backward();
  EXPECT_NEAR(x.grad().item<double>(), std::pow(factor, kDeep), 1e-9);
  x.zero_grad();
}

TEST_P(Chains, BackwardThroughALongMixedChainIsItsDerivative) {
  Tensor x = tensor({0.3}, DType::f64).requires_grad_();
  Tensor y = x;
  double value = 0.3, slope = 1;
  for (int i = 0; i < kDeep / 2; ++i) {
    y = sin(y) + 0.5;
    slope *= std::cos(value);
    value = std::sin(value) + 0.5;
  }
  const Tensor last = y;
  y.backward();
  EXPECT_NEAR(last.item<double>(), value, 1e-12);
  EXPECT_NEAR(x.grad().item<double>(), slope, 1e-12);
  x.zero_grad();
}

TEST_P(Chains, ALongSumOfManyUsesAddsUpItsGradient) {
  Tensor x = tensor({1.0}, DType::f64).requires_grad_();
  Tensor y = x * 0.0;
  for (int i = 0; i < kDeep / 4; ++i) y = y + x;
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), kDeep / 4);
  x.zero_grad();
}

// ---- long loops ----

TEST_P(Chains, EvaluatedStepsKeepMemoryFlat) {
  Tensor x = zeros({16, 16}).clone();
  x.eval();
  size_t nodes_after_one = 0, bytes_after_one = 0;
  for (int step = 0; step < 10'000; ++step) {
    x = x * 0.99 + 1;
    x.eval();
    if (step == 0) nodes_after_one = nodes(), bytes_after_one = live_bytes();
  }
  EXPECT_LE(nodes(), nodes_after_one);
  EXPECT_LE(live_bytes(), bytes_after_one);
  EXPECT_LT(peak_bytes(), 16u * 1024);
  EXPECT_NEAR(x.slice(0, 0, 1).to_vector<float>()[3], 100, 0.01);
}

TEST_P(Chains, StepsThatAreReadKeepMemoryFlat) {
  Tensor x = scalar(0.0);
  for (int step = 0; step < 2000; ++step) {
    x = x * 0.99 + 1;
    EXPECT_GT(x.item<float>(), 0);
    ASSERT_LT(nodes(), 20u) << "at step " << step;
  }
}

TEST_P(Chains, InPlaceStepsKeepMemoryFlat) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f, 4.0f});
  for (int step = 0; step < 2000; ++step) {
    x.slice(0, 1, 3).add_(1);
    x.mul_(0.5).eval();
    ASSERT_LT(nodes(), 20u) << "at step " << step;
    ASSERT_LE(live_bytes(), 64u) << "at step " << step;
  }
}

TEST_P(Chains, TrainingWithAccumulatedGradientsKeepsMemoryFlat) {
  Tensor w = (arange(12, DType::f32).reshape({3, 4}) * 0.1).requires_grad_();
  const Tensor target = full({5, 4}, 0.7), data = arange(15, DType::f32).reshape({5, 3}) * 0.1;
  size_t nodes_after_two = 0, bytes_after_two = 0;
  double first = 0, last = 0;
  for (int step = 0; step < 400; ++step) {
    double total = 0;
    for (int part = 0; part < 3; ++part) {
      Tensor error = matmul(data, w) - target;
      Tensor loss = (error * error).mean() / 3.0;
      loss.backward();
      total += loss.item<double>();
    }
    {
      NoGrad update;
      w.sub_(w.grad() * 0.05);
      w.eval();
    }
    w.zero_grad();
    if (step == 0) first = total;
    last = total;
    if (step == 1) nodes_after_two = nodes(), bytes_after_two = live_bytes();
    ASSERT_TRUE(step < 2 || nodes() <= nodes_after_two) << "at step " << step;
    ASSERT_TRUE(step < 2 || live_bytes() <= bytes_after_two) << "at step " << step;
  }
  EXPECT_LT(last, 0.2 * first);
}

// Gradients that are never set to zero: what accumulates is one value, not a history.
TEST_P(Chains, AccumulatingIntoOneEvaluatedGradientKeepsMemoryFlat) {
  Tensor w = tensor({1.0f, 2.0f}).requires_grad_();
  size_t nodes_after_two = 0;
  for (int step = 0; step < 300; ++step) {
    (w * w).sum().backward();
    w.grad().eval();
    if (step == 1) nodes_after_two = nodes();
    ASSERT_TRUE(step < 2 || nodes() <= nodes_after_two) << "at step " << step;
  }
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{600, 1200}));
  w.zero_grad();
}

// Losses are often kept for a plot. A loss that was read and went through backward() is a number, not a graph.
TEST_P(Chains, LossesThatAreKeptDoNotKeepTheirGraphs) {
  Tensor w = tensor({1.0f, 2.0f}).requires_grad_();
  std::vector<Tensor> losses;
  for (int step = 0; step < 100; ++step) {
    Tensor loss = (exp(w) * w * 3.0).sum();
    loss.item<float>();
    loss.backward();
    w.zero_grad();
    losses.push_back(loss);
    w = tensor_of(value_of(w.detach())).requires_grad_();
  }
  EXPECT_LT(nodes(), 400u);  // a leaf or two each
}

// Truncated backpropagation cuts the state off in every step.
TEST_P(Chains, ALeafCutOffAgainAndAgainKeepsNoneOfItsAncestors) {
  Tensor state = tensor({1.0f, 2.0f}).requires_grad_();
  for (int step = 0; step < 1000; ++step) state = state.detach().requires_grad_();
  EXPECT_LT(nodes(), 20u);
}

TEST_P(Chains, AViewOfAViewOfAViewKeepsNoneOfThem) {
  Tensor x = tensor({1.0f, 2.0f});
  for (int step = 0; step < 1000; ++step) x = x.reshape({2, 1}).reshape({2}).detach();
  x.eval();
  EXPECT_LT(nodes(), 20u);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
}

// ---- what backward leaves behind ----

TEST_P(Chains, ADroppedLeafTakesItsUnreadGradientWithIt) {
  const size_t before = nodes();
  {
    Tensor x = tensor({1.0f, 2.0f}).requires_grad_();
    (x * x).sum().backward();
  }
  EXPECT_EQ(nodes(), before) << "the leaf, its gradient and the graph between them keep each other alive";
}

TEST_P(Chains, ADroppedLeafTakesItsReadGradientWithIt) {
  const size_t before = nodes();
  {
    Tensor x = tensor({1.0f, 2.0f}).requires_grad_();
    (x * x).sum().backward();
    EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, 4}));
  }
  EXPECT_EQ(nodes(), before);
}

}  // namespace
}  // namespace tenon
