// What a training step of GPT-2 124M moves and keeps, counted in its plan: 32 sequences of 1024 tokens under autocast,
// on a device with the calls and epilogues of CUDA's libraries. U is one matrix of all tokens in bf16. What the whole
// step costs stands in tests/counts/counts.txt.

#include <gtest/gtest.h>

#include <map>

#include "tenon/backends/null/null_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"
#include "tests/plan_counts.h"

namespace tenon {
namespace {

constexpr double kMatrix = 32768 * 768 * 2, kMega = 1e6;

Device gpu_like() {
  static const ir::DeviceId id = device::add({"null_gpu", [] {
                                                ir::Limits limits;
                                                limits.gelu_epilogue = limits.slope_epilogue = true;
                                                limits.gathers_inside = true;
                                                return backends::null::open_with(limits);
                                              }});
  static_cast<void>(id);
  return Device("null_gpu");
}

struct Work {
  int64_t layers = 12, batch = 32, context = 1024, chunk = 8192;
  auto operator<=>(const Work&) const = default;
};

// The captured step, as a training program writes it.
plan::Plan make_plan(const Work& work) {
  const Device device = gpu_like();
  models::Gpt2Config config;
  config.layers = work.layers;
  config.set_dropout(0);
  models::Gpt2 model(config, Options(DType::f32, device));
  eval(model.parameters());
  optim::AdamW optimizer(optim::decay_matrices_only(model.parameters()));
  optimizer.keep_shadow();
  const Tensor ids = zeros({work.batch, work.context}, Options(DType::i64, device)).clone().eval();
  plan::Plan found;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    if (plan.launches.size() > found.launches.size()) found = plan;
  });
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    const Autocast lower;
    Tensor loss = model.loss(x, y, {.chunk = work.chunk});
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  step(ids, ids);
  return found;
}

// Equal plans are made once in a process.
const plan::Plan& plan_of(const Work& work) {
  static std::map<Work, plan::Plan> plans;
  const auto known = plans.find(work);
  return known != plans.end() ? known->second : plans.emplace(work, make_plan(work)).first->second;
}

// Outside of products, attention and the optimizer.
double bytes_of_passes(const plan::Plan& plan) {
  double bytes = 0;
  for (const plan::Launch& launch : plan.launches) {
    const auto* nest = std::get_if<ir::LoopNest>(&plan.kernels[launch.kernel]);
    if (nest && !launch.writes_state) bytes += static_cast<double>(test::bytes_touched(*nest, launch));
  }
  return bytes;
}

// Temporaries that are written before the last forward pass over the logits and read after it.
double bytes_kept(const plan::Plan& plan) {
  size_t loss = 0;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const auto* call = std::get_if<ir::Call>(&plan.kernels[plan.launches[i].kernel]);
    if (call && call->op == ir::Op::contract && call->outputs[0].shape.back() == 50257) loss = i;
  }
  std::map<uint32_t, std::pair<size_t, size_t>> lives;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    for (const plan::Argument& arg : plan.launches[i].args) {
      const uint32_t within = plan.slots[arg.slot].within;
      const uint32_t slot = within == plan::Plan::kNone ? arg.slot : within;
      if (plan.slots[slot].place != plan::Slot::Place::temporary) continue;
      lives.try_emplace(slot, i, i).first->second.second = i;
    }
  }
  double bytes = 0;
  for (const auto& [slot, life] : lives) {
    if (life.first < loss && life.second > loss) bytes += static_cast<double>(plan.slots[slot].bytes);
  }
  return bytes;
}

TEST(Traffic, ALayerPassesOverItsMatricesFewTimes) {
  const double layer = bytes_of_passes(plan_of({.layers = 12})) - bytes_of_passes(plan_of({.layers = 11}));
  EXPECT_LE(layer / kMatrix, 46);
  EXPECT_GE(layer / kMatrix, 30);  // less would be an error of the count
}

TEST(Traffic, ALayerKeepsLittleForItsBackwardPass) {
  // The gradients of the layer's weights lie in one buffer with those of the head, which is alive by then.
  const double gradients = 4.0 * (12 * 768 * 768 + 13 * 768);
  const double layer = bytes_kept(plan_of({.layers = 12})) - bytes_kept(plan_of({.layers = 11})) - gradients;
  EXPECT_LE(layer / kMega, 620);
  EXPECT_GE(layer / kMega, 500);
}

TEST(Traffic, DistinctKernelsAreTheSameAtAnyDepth) {
  EXPECT_EQ(plan_of({.layers = 48}).kernels.size(), plan_of({.layers = 12}).kernels.size());
}

}  // namespace
}  // namespace tenon
