// Steps of an optimizer on other devices give the weights that the cpu gives.

#include <gtest/gtest.h>

#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::optim {
namespace {

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const device::Absent& one : device::absent()) {
      if (one.name == GetParam()) GTEST_SKIP() << one.why;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, testing::Values("simulated", "opencl", "vulkan", "remote"),
                         [](const auto& row) { return row.param; });

// Rows that are normalised, scaled and multiplied: the gradient of the rows and those of scale and shift come from one
// kernel, which goes over several rows in turn.
std::vector<float> weights_after_steps(Device device, int64_t rows, int64_t width) {
  manual_seed(3);
  const auto weight = [&](Dims shape) { return randn(shape).eval().to(device).detach().clone().requires_grad_(); };
  const std::vector<Tensor> all = {weight({rows, width}), weight({11, width}), weight({width}), weight({width})};
  const Tensor factors = randn({rows, 11}).to(device);
  SGD optimizer(all, {.lr = 0.1});
  for (int step = 0; step < 2; ++step) {
    (nn::linear(nn::layer_norm(all[0], {width}, all[2], all[3]), all[1]) * factors).sum().backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  std::vector<float> values;
  for (const Tensor& each : all) {
    const std::vector<float> read = each.detach().to_vector<float>();
    values.insert(values.end(), read.begin(), read.end());
  }
  return values;
}

TEST_P(OnDevice, StepsThroughALayerNormGiveTheCpusWeights) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{6, 16}, {40, 24}}) {
    const std::vector<float> expected = weights_after_steps("cpu", rows, width);
    const std::vector<float> seen = weights_after_steps(Device(GetParam()), rows, width);
    ASSERT_EQ(seen.size(), expected.size());
    for (size_t i = 0; i < seen.size(); ++i)
      ASSERT_NEAR(seen[i], expected[i], 1e-4) << rows << " rows of " << width << ", weight " << i;
  }
}

// Four steps of a small network that moves after the second, or not at all.
std::vector<float> weights_after_a_move(const Device& to, bool gathers) {
  manual_seed(5);
  nn::Linear net(6, 2);
  Device device("cpu");
  AdamW optimizer(net.parameters(), {.lr = 0.05});
  const auto step = [&] {
    net(ones({3, 6}, Options(float32, device))).square().mean().backward();
    optimizer.step();
    optimizer.zero_grad();
  };
  step();
  step();
  device = to;
  net.to(device);
  if (gathers) optimizer.gather();
  step();
  step();
  EXPECT_EQ(optimizer.steps(), 4);
  EXPECT_EQ(optimizer.state_dict().at("0.exp_avg").device().name(), to.name());
  return net.weight.detach().to_vector<float>();
}

TEST_P(OnDevice, MomentsFollowAModelThatMoves) {
  const std::vector<float> expected = weights_after_a_move(Device("cpu"), false);
  for (const bool gathers : {true, false}) {
    const std::vector<float> seen = weights_after_a_move(Device(GetParam()), gathers);
    ASSERT_EQ(seen.size(), expected.size());
    for (size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], expected[i], 1e-5) << i;
  }
}

TEST_P(OnDevice, AModelThatHasMovedHalfwayIsRefused) {
  nn::Linear net(3, 2);
  SGD optimizer(net.parameters(), {.lr = 0.1});
  net.weight.set_data(net.weight.detach().to(Device(GetParam())));
  EXPECT_EQ(text_of([&] { optimizer.gather(); }),
            "[optimizer] parameters that lay together are f32 on " + net.weight.device().name() + " and f32 on " +
                net.bias.device().name() + " now; move all of them to one device and dtype");
}

// Values of the weights, then of their averages, after three steps, and the launches of the last one.
std::pair<std::vector<float>, size_t> averaged_steps(Device device, bool amsgrad, bool with_average) {
  manual_seed(5);
  const auto weight = [&](Dims shape) { return randn(shape).eval().to(device).detach().clone().requires_grad_(); };
  const std::vector<Tensor> all = {weight({6, 16}), weight({16}), weight({3, 5})};
  AdamW optimizer(all, {.lr = 0.1, .amsgrad = amsgrad});
  if (with_average) optimizer.keep_average(0.5);
  size_t launches = 0;
  for (int step = 0; step < 3; ++step) {
    for (Tensor p : all) p.set_grad((p.detach() * (2.0 - step)).clone().eval());
    wait(all);
    const size_t before = stats().launches;
    optimizer.step();
    wait(all);
    launches = stats().launches - before;
  }
  std::vector<float> values;
  for (int i = 0; i < (with_average ? 2 : 1); ++i) {
    for (const Tensor& each : all) {
      const std::vector<float> read = each.detach().to_vector<float>();
      values.insert(values.end(), read.begin(), read.end());
    }
    if (with_average) optimizer.swap_average();
  }
  return {values, launches};
}

TEST_P(OnDevice, AmsgradAndAveragesAreTheCpus) {
  const std::vector<float> expected = averaged_steps("cpu", true, true).first;
  const std::vector<float> seen = averaged_steps(Device(GetParam()), true, true).first;
  ASSERT_EQ(seen.size(), expected.size());
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], expected[i], 1e-5) << "weight " << i;
}

// Either fits into the kernel of the update; both together are more buffers than some devices give to one.
TEST_P(OnDevice, AmsgradAndAveragesTakeNoKernelsOfTheirOwn) {
  const Device device(GetParam());
  const size_t plain = averaged_steps(device, false, false).second;
  EXPECT_EQ(averaged_steps(device, true, false).second, plain);
  EXPECT_LE(averaged_steps(device, false, true).second, plain + 1);  // the count of averages
}

}  // namespace
}  // namespace tenon::optim
