// How many kernels a token of a text costs on a GPU, where each costs more than what it computes.

#include <gtest/gtest.h>

#include "tenon/backends/null/null_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"

namespace tenon::models {
namespace {

// With the epilogues of CUDA's library.
Device gpu_like() {
  static const ir::DeviceId id = device::add({"null_gpu", [] {
                                                ir::Limits limits;
                                                limits.gelu_epilogue = true;
                                                limits.gathers_inside = true;
                                                return backends::null::open_with(limits);
                                              }});
  static_cast<void>(id);
  return Device("null_gpu");
}

// Of the captured step that makes one token from the one before.
template <typename Model, typename ConfigOf>
size_t launches_of_a_token(ConfigOf config, int64_t layers) {
  const Device device = gpu_like();
  config.vocabulary = 512;
  config.positions = 128;
  config.width = 96;
  config.layers = layers;
  config.heads = 6;
  Model model(config, Options(DType::bf16, device));
  eval(model.parameters());
  model.eval();
  std::vector<nn::KvCache> caches = model.make_caches(1, 128);
  size_t launches = 0;
  const exec::WatchPlans watch([&](const plan::Plan& plan) { launches = std::max(launches, plan.launches.size()); });
  auto step = compile([&](const Tensor& token) {
    const NoGrad reading;
    return model.next_logits(token, &caches).to(DType::f32).argmax(-1).unsqueeze(-1);
  });
  step(zeros({1, 1}, Options(DType::i64, device)).clone().eval());
  return launches;
}

// Two norms, four products, one write of keys and values together, one attention.
TEST(Token, OfGpt2IsEightKernelsALayer) {
  const size_t one = launches_of_a_token<Gpt2>(Gpt2Config(), 1), three = launches_of_a_token<Gpt2>(Gpt2Config(), 3);
  EXPECT_EQ(three - one, 2 * 8u);
  EXPECT_LE(one - 8, 12u);
}

}  // namespace
}  // namespace tenon::models
