// Activations inside products: what they give is what the recorded ops give, but for roundings in between.

#include <gtest/gtest.h>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/backends/simulated/simulated_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

std::unique_ptr<device::Device> open_cpu() {
  ir::Limits limits;
  limits.gelu_epilogue = limits.slope_epilogue = true;
  return backends::cpu::open_with(limits);
}

class GeluEpilogue : public testing::TestWithParam<std::string> {
 protected:
  static Device with_epilogues() {
    static const ir::DeviceId ids[] = {device::add({"cpu_gelu", open_cpu}),
                                       device::add({"simulated_gelu", backends::simulated::open_with_gelu})};
    static_cast<void>(ids);
    return Device(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GeluEpilogue, testing::Values("cpu_gelu", "simulated_gelu"),
                         [](const auto& of) { return of.param; });

using Activation = ir::Epilogue::Activation;

struct Seen {
  std::vector<std::vector<float>> values;  // the loss, and the gradients of all weights
  int gelu = 0, slope = 0, pre_activations = 0;
};

// Two layers with gelu in between, under autocast.
Seen run(const Device& device, bool backward) {
  constexpr int64_t kRows = 37, kWidth = 24, kInner = 70;
  manual_seed(5);
  const auto on = [&](const Tensor& t) { return t.to(device).eval(); };
  const Tensor x = on(randn({kRows, kWidth}));
  std::vector<Tensor> weights{on(randn({kInner, kWidth}) * 0.3), on(randn({kInner})), on(randn({kWidth, kInner}) * 0.3),
                              on(randn({kWidth}))};
  for (Tensor& weight : weights) weight.requires_grad_();
  Seen seen;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    for (const plan::Launch& launch : plan.launches) {
      const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
      if (!call) continue;
      seen.gelu += call->epilogue.activation == Activation::gelu;
      seen.slope += call->epilogue.activation == Activation::gelu_slope;
      seen.pre_activations += call->epilogue.activation == Activation::gelu && call->outputs.size() == 2;
    }
  });
  const Autocast lower;
  const Tensor h = gelu(nn::linear(x, weights[0], weights[1]), "tanh");
  const Tensor y = nn::linear(h, weights[2], weights[3]);
  const Tensor loss = square(y.to(DType::f32)).mean();
  std::vector<Tensor> all{loss.detach()};
  if (backward) {
    const std::vector<Tensor> of{loss};
    for (const Tensor& slope : grad(of, weights)) all.push_back(slope);
  }
  eval(all);
  for (const Tensor& one : all) seen.values.push_back(one.to_vector<float>());
  return seen;
}

TEST_P(GeluEpilogue, IsUsedForwardAndBackward) {
  const Seen seen = run(with_epilogues(), true);
  EXPECT_EQ(seen.gelu, 1);
  EXPECT_EQ(seen.slope, 1);
  EXPECT_EQ(seen.pre_activations, 1);
}

TEST_P(GeluEpilogue, WritesNoPreActivationThatNobodyReads) {
  const Seen seen = run(with_epilogues(), false);
  EXPECT_EQ(seen.gelu, 1);
  EXPECT_EQ(seen.pre_activations, 0);
}

TEST_P(GeluEpilogue, IsNotUsedWhereTheDeviceHasNone) {
  const Seen seen = run(Device("cpu"), true);
  EXPECT_EQ(seen.gelu + seen.slope, 0);
}

TEST_P(GeluEpilogue, GivesWhatTheOpsGive) {
  const Seen ours = run(with_epilogues(), true), expected = run(Device("cpu"), true);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    float largest = 0, off = 0;
    for (size_t k = 0; k < expected.values[i].size(); ++k) {
      largest = std::max(largest, std::abs(expected.values[i][k]));
      off = std::max(off, std::abs(ours.values[i][k] - expected.values[i][k]));
    }
    EXPECT_LE(off, 0.01f * largest) << i;
  }
  // The same bits whether the pre-activation is kept or not.
  EXPECT_EQ(run(with_epilogues(), false).values[0], ours.values[0]);
}

TEST_P(GeluEpilogue, OtherActivationsAreNotTakenForIt) {
  const Device device = with_epilogues();
  int epilogues = 0;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    for (const plan::Kernel& kernel : plan.kernels) {
      if (const auto* call = std::get_if<ir::Call>(&kernel)) epilogues += call->epilogue.activation != Activation::none;
    }
  });
  const Tensor x = rand({8, 16}).to(device), w = rand({16, 16}).to(device), b = rand({16}).to(device);
  const Autocast lower;
  const Tensor y = nn::linear(x, w, b);
  eval({nn::linear(gelu(y), w, b), nn::linear(silu(y), w, b), nn::linear(relu(y), w, b)});
  EXPECT_EQ(epilogues, 0);
}

}  // namespace
}  // namespace tenon
