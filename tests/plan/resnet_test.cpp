// Where images change their order in memory in a whole training step of ResNet-50, counted in its plan: batch 128,
// 224 x 224, under autocast, with SGD, on a device whose convolutions want channels last.

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/backends/null/null_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/inspect.h"
#include "tenon/kernels/kernels.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Device gpu_like() {
  static const ir::DeviceId id = device::add({"null_dnn", [] {
                                                ir::Limits limits;
                                                limits.missing_calls = kernels::missing_calls();
                                                limits.gathers_inside = true;
                                                limits.channels_last = true;
                                                return backends::null::open_with(limits);
                                              }});
  static_cast<void>(id);
  return Device("null_dnn");
}

constexpr int64_t kBatch = 128;

// The captured step, as a training program writes it.
plan::Plan step_of_resnet50() {
  const Device device = gpu_like();
  models::ResNet net(models::ResNetConfig::resnet(50), Options(DType::f32, device));
  eval(net.parameters());
  eval(net.buffers());
  optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9, .weight_decay = 5e-5});
  optimizer.keep_shadow();
  const Tensor pictures = zeros({kBatch, 3, 224, 224}, Options(DType::f32, device)).clone().eval();
  const Tensor labels = zeros({kBatch}, Options(DType::i64, device)).clone().eval();
  plan::Plan found;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    if (plan.launches.size() > found.launches.size()) found = plan;
  });
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    const Autocast lower;
    Tensor loss = nn::cross_entropy(net(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  step(pictures, labels);
  return found;
}

// Whether a nest gives elements another place, and perhaps another type, and does nothing else. Where several weights
// are moved at once, a choice between a value and itself ends each.
bool only_moves(const ir::LoopNest& nest) {
  return std::ranges::all_of(nest.code, [](const ir::Instr& instr) {
    using Kind = ir::Instr::Kind;
    if (instr.kind == Kind::load || instr.kind == Kind::store || instr.kind == Kind::number) return true;
    if (instr.kind != Kind::apply) return false;
    return instr.op == ir::Op::cast || (instr.op == ir::Op::where && instr.args[1] == instr.args[2]);
  });
}

struct Copies {
  size_t images = 0, weights = 0;
};

// Launches that copy, by what they copy: the largest weight has fewer elements than the smallest image.
Copies copies_of(const plan::Plan& plan) {
  constexpr int64_t kLargestWeight = 512 * 512 * 9;
  Copies copies;
  const auto count = [&](int64_t elements) { ++(elements > kLargestWeight ? copies.images : copies.weights); };
  for (const plan::Launch& launch : plan.launches) {
    const plan::Kernel& kernel = plan.kernels[launch.kernel];
    if (const auto* call = std::get_if<ir::Call>(&kernel)) {
      if (call->op == ir::Op::contiguous) count(ir::count(call->outputs[0].shape));
    } else if (const auto& nest = std::get<ir::LoopNest>(kernel); only_moves(nest)) {
      count(ir::count(nest.space));
    }
  }
  return copies;
}

size_t convolutions_of(const plan::Plan& plan) {
  return static_cast<size_t>(std::ranges::count_if(plan.launches, [&](const plan::Launch& launch) {
    const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
    return call && std::holds_alternative<ir::ConvAttrs>(call->attrs);
  }));
}

TEST(ResNet50, AStepHasAtMostFourLayoutCopiesOfImages) {
  const plan::Plan plan = step_of_resnet50();
  EXPECT_EQ(convolutions_of(plan), 53u * 3 - 1);  // pictures want no gradient
  const Copies copies = copies_of(plan);
  EXPECT_GE(copies.weights, 1u);  // what counts none looks at nothing
  EXPECT_LE(copies.images, 4u);
}

}  // namespace
}  // namespace tenon
