// Whichever transformer trains: its large products are calls of cuBLASLt whose operands lie as a library reads them,
// and nothing is copied between attention and the products around it. Counted in the plans of training steps, under
// autocast, on a device with the limits of an NVIDIA GPU that runs nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tenon/backends/cuda/product.h"
#include "tenon/backends/gpu/kind.h"
#include "tenon/backends/null/null_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

ir::Limits limits_of_cuda() {
  ir::Limits limits = backends::gpu::limits_of_gpu(132);
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.shared_bytes = 227 << 10;
  limits.has_fma = true;
  backends::gpu::add_tiles(limits);
  limits.gelu_epilogue = limits.tf32 = true;
  return limits;
}

Device cuda_like() {
  static const ir::DeviceId id = device::add({"null_cuda", [] { return backends::null::open_with(limits_of_cuda()); }});
  static_cast<void>(id);
  return Device("null_cuda");
}

// The largest plan of a captured step with AdamW.
plan::Plan plan_of_step(const nn::Module& model, const Tensor& x, const Tensor& y,
                        const std::function<Tensor(const Tensor&, const Tensor&)>& loss_of) {
  eval(model.parameters());
  optim::AdamW optimizer(model.parameters(), {.lr = 3e-4});
  optimizer.keep_shadow();
  plan::Plan found;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    if (plan.launches.size() > found.launches.size()) found = plan;
  });
  auto step = compile([&](const Tensor& given, const Tensor& wanted) {
    const Autocast lower;
    Tensor loss = loss_of(given, wanted);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  step(x, y);
  return found;
}

Tensor leaf(const Dims& shape, DType dtype) { return zeros(shape, Options(dtype, cuda_like())).clone().eval(); }

plan::Plan plan_of_language_model(const models::CausalLm& model, int64_t batch, int64_t time) {
  return plan_of_step(model, leaf({batch, time}, DType::i64), leaf({batch, time}, DType::i64),
                      [&](const Tensor& ids, const Tensor& targets) { return model.loss(ids, targets); });
}

plan::Plan plan_of_gpt2() {
  models::Gpt2Config config;
  config.layers = 2;
  config.vocabulary = 50304;  // whole tiles, so that no weights are padded
  config.set_dropout(0);
  return plan_of_language_model(models::Gpt2(config, cuda_like()), 8, 1024);
}

plan::Plan plan_of_llama(nn::RotaryLayout layout) {
  models::LlamaConfig config = models::LlamaConfig::tiny_llama();
  config.layers = 2;
  config.rotary_layout = layout;
  return plan_of_language_model(models::Llama(config, cuda_like()), 4, 2048);
}

nn::TransformerOptions encoder_options(bool norm_first) {
  nn::TransformerOptions options;
  options.dropout = 0;
  options.batch_first = true;
  options.norm_first = norm_first;
  options.options = Options(cuda_like());
  return options;
}

// Patches of pictures, a token for the class before them, its state behind the layers.
class Vit : public nn::Module {
 public:
  Vit()
      : patches(16 * 16 * 3, 768, true, cuda_like()),
        encoder(2, 768, 12, encoder_options(true), true),
        head(768, 1000, true, cuda_like()) {
    token = leaf({1, 1, 768}, DType::f32);
    places = leaf({1, 257, 768}, DType::f32);
    register_parameter("token", token);
    register_parameter("places", places);
    register_module("patches", patches);
    register_module("encoder", encoder);
    register_module("head", head);
  }
  Tensor forward(const Tensor& images) const {
    const int64_t batch = images.size(0), side = images.size(2) / 16;
    const Tensor cut = images.reshape({batch, 3, side, 16, side, 16}).permute({0, 2, 4, 1, 3, 5});
    const Tensor x = patches(cut.reshape({batch, side * side, 16 * 16 * 3}));
    return head(encoder(cat({token.expand({batch, 1, 768}), x}, 1) + places).select(1, 0));
  }

  Tensor token, places;
  nn::Linear patches;
  nn::TransformerEncoder encoder;
  nn::Linear head;
};

plan::Plan plan_of_vit() {
  const Vit model;
  return plan_of_step(model, leaf({32, 3, 256, 256}, DType::f32), leaf({32}, DType::i64),
                      [&](const Tensor& x, const Tensor& y) { return nn::cross_entropy(model.forward(x), y); });
}

plan::Plan plan_of_encoder() {
  const nn::TransformerEncoder model(2, 768, 12, encoder_options(false));
  return plan_of_step(model, leaf({16, 512, 768}, DType::f32), leaf({16, 512, 768}, DType::f32),
                      [&](const Tensor& x, const Tensor& y) { return square(model(x) - y).mean(); });
}

struct Counted {
  size_t attention = 0, products = 0, by_library = 0, copies = 0;
};

// Whether it writes what it reads: values are chosen, or put side by side by adding zeros to them.
bool is_copy(const ir::LoopNest& nest) {
  using Kind = ir::Instr::Kind;
  std::vector<size_t> masked(nest.code.size());  // per instruction: whether it is something in a part of the space only
  return std::all_of(nest.code.begin(), nest.code.end(), [&](const ir::Instr& instr) {
    const size_t at = static_cast<size_t>(&instr - nest.code.data());
    if (instr.kind == Kind::number) masked[at] = 1;
    if (instr.kind == Kind::load) masked[at] = instr.map.has_padding() ? 1 : 0;
    if (instr.kind == Kind::store || instr.kind == Kind::load || instr.kind == Kind::number ||
        instr.kind == Kind::valid)
      return true;
    if (instr.kind != Kind::apply || (instr.op != ir::Op::where && instr.op != ir::Op::add)) return false;
    for (const uint32_t arg : instr.args) masked[at] |= masked[arg];
    return instr.op == ir::Op::where || masked[at] == 1;
  });
}

// Products of some work, and passes over a million elements that only copy.
Counted counted(const plan::Plan& plan) {
  constexpr int64_t kLarge = 1 << 27, kLongPass = 1 << 20;
  Counted made;
  for (const plan::Launch& launch : plan.launches) {
    if (const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel])) {
      if (call->op == ir::Op::attention || call->op == ir::Op::attention_backward) ++made.attention;
      if (call->op != ir::Op::contract) continue;
      if (ir::count(call->outputs[0].shape) * call->inputs[0].map.shape().back() < kLarge) continue;
      ++made.products;
      if (backends::cuda::plan_product(*call, limits_of_cuda()))
        ++made.by_library;
      else
        ADD_FAILURE() << "not by the library: " << call->inputs[0].map.to_string() << " x "
                      << call->inputs[1].map.to_string();
      continue;
    }
    const auto& nest = std::get<ir::LoopNest>(plan.kernels[launch.kernel]);
    if (ir::count(nest.space) >= kLongPass && is_copy(nest)) ++made.copies;
  }
  return made;
}

void expect_all_by_library(const Counted& made, size_t attention, size_t products) {
  EXPECT_EQ(made.attention, attention);
  EXPECT_EQ(made.products, products);
  EXPECT_EQ(made.by_library, made.products);
  EXPECT_EQ(made.copies, 0u);
}

// Forward, and the gradients of both operands.
TEST(Products, OfGpt2AreTheLibrarys) { expect_all_by_library(counted(plan_of_gpt2()), 4, 3 * (2 * 4 + 1)); }

TEST(Products, OfLlamaAreTheLibrarysWithGroupedHeadsAndRotaryPositions) {
  expect_all_by_library(counted(plan_of_llama(nn::RotaryLayout::halves)), 4, 3 * (2 * 7 + 1));
}

TEST(Products, OfLlamaAreTheLibrarysWithPairsOfNeighbours) {
  expect_all_by_library(counted(plan_of_llama(nn::RotaryLayout::interleaved)), 4, 3 * (2 * 7 + 1));
}

TEST(Products, OfAVisionTransformerAreTheLibrarys) {
  expect_all_by_library(counted(plan_of_vit()), 4, 3 * (2 * 4) + 2);
}

// Its input has no gradient.
TEST(Products, OfAnEncoderAreTheLibrarys) { expect_all_by_library(counted(plan_of_encoder()), 4, 3 * (2 * 4) - 1); }

}  // namespace
}  // namespace tenon
