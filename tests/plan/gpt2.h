// GPT-2 as plain tensor code: the worked example of the planner's tests. All weights are slices of one flat tensor, as a
// training program keeps them, on a device that runs nothing.

#pragma once

#include <vector>

#include "tenon/ir/build.h"
#include "tenon/tenon.h"

namespace tenon::testing {

struct Gpt2Config {
  int64_t layers = 2, heads = 12, width = 768, context = 1024, vocabulary = 50304, batch = 8;
  int64_t micro_batches = 1;
  double dropout = 0;
  bool autocast = false;  // products and attention in bf16, sums and the residual stream in f32
  bool clips = false;     // the norm of all gradients to 1
};

class Gpt2 {
 public:
  Gpt2(const Gpt2Config& config, Device device) : c_(config), device_(device) {
    arena_ = leaf({size()}, DType::f32).requires_grad_();
    int64_t used = 0;
    const auto weight = [&](const Dims& shape) {
      const int64_t n = ir::count(shape);
      const Tensor slice = arena_.slice(0, used, used + n).reshape(shape);
      used += n;
      return slice;
    };
    const int64_t w = c_.width;
    tokens_ = weight({c_.vocabulary, w});
    positions_ = weight({c_.context, w});
    for (int64_t i = 0; i < c_.layers; ++i) {
      Block block;
      block.norm1_w = weight({w});
      block.norm1_b = weight({w});
      block.qkv_w = weight({w, 3 * w});
      block.qkv_b = weight({3 * w});
      block.proj_w = weight({w, w});
      block.proj_b = weight({w});
      block.norm2_w = weight({w});
      block.norm2_b = weight({w});
      block.fc_w = weight({w, 4 * w});
      block.fc_b = weight({4 * w});
      block.out_w = weight({4 * w, w});
      block.out_b = weight({w});
      blocks_.push_back(std::move(block));
    }
    norm_w_ = weight({w});
    norm_b_ = weight({w});
  }

  /// The mean loss of one micro-batch; each has token ids of its own.
  Tensor loss() const {
    const int64_t b = c_.batch, t = c_.context, w = c_.width;
    const Tensor ids = leaf({b, t}, DType::i64), targets = leaf({b, t}, DType::i64);
    Tensor x = dropped(nn::embedding(tokens_, ids) + positions_);
    for (const Block& block : blocks_) {
      x = x + dropped(attention(block, nn::layer_norm(x, {w}, block.norm1_w, block.norm1_b)));
      const Tensor h = nn::layer_norm(x, {w}, block.norm2_w, block.norm2_b);
      const Tensor up = linear(h, block.fc_w, block.fc_b);
      x = x + dropped(linear(gelu(up, "tanh"), block.out_w, block.out_b));
    }
    x = nn::layer_norm(x, {w}, norm_w_, norm_b_);
    const Tensor logits = product(x.reshape({b * t, w}), tokens_.t());
    return nn::cross_entropy(logits, targets.reshape({b * t}));
  }

  const Tensor& arena() const { return arena_; }
  const Gpt2Config& config() const { return c_; }
  Tensor state() const { return leaf({size()}, DType::f32); }

 private:
  struct Block {
    Tensor norm1_w, norm1_b, qkv_w, qkv_b, proj_w, proj_b, norm2_w, norm2_b, fc_w, fc_b, out_w, out_b;
  };

  int64_t size() const {
    const int64_t w = c_.width;
    return (c_.vocabulary + c_.context) * w + c_.layers * (12 * w * w + 13 * w) + 2 * w;
  }
  Tensor leaf(const Dims& shape, DType dtype) const {
    const Options options(dtype, device_);
    return from_bytes(std::vector<std::byte>(static_cast<size_t>(ir::count(shape)) * size_of(dtype)), shape, options);
  }
  Tensor dropped(const Tensor& x) const { return nn::dropout(x, c_.dropout); }

  // Under autocast operands are rounded to bf16 and sums are f32.
  Tensor product(const Tensor& x, const Tensor& w) const {
    if (!c_.autocast) return matmul(x, w);
    return Tensor(ir::contract(x.to(DType::bf16).value(), w.to(DType::bf16).value(), DType::f32));
  }
  Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias) const {
    const Dims& s = x.shape();
    const Tensor flat = product(x.reshape({s[0] * s[1], s[2]}), w);
    return flat.reshape({s[0], s[1], w.size(1)}) + bias;
  }

  Tensor attention(const Block& block, const Tensor& x) const {
    const int64_t b = c_.batch, t = c_.context, w = c_.width, h = c_.heads;
    Tensor qkv = linear(x, block.qkv_w, block.qkv_b);
    if (c_.autocast) qkv = qkv.to(DType::bf16);
    qkv = qkv.reshape({b, t, 3, h, w / h});
    const auto part = [&](int64_t i) { return qkv.select(2, i).permute({0, 2, 1, 3}); };
    const Tensor o = nn::scaled_dot_product_attention(part(0), part(1), part(2), {.mask = {}, .causal = true});
    return linear(o.permute({0, 2, 1, 3}).reshape({b, t, w}), block.proj_w, block.proj_b);
  }

  Gpt2Config c_;
  Device device_;
  Tensor arena_, tokens_, positions_, norm_w_, norm_b_;
  std::vector<Block> blocks_;
};

/// One training step: the loss, and the arena and the moments of AdamW behind it.
inline std::vector<Tensor> step(const Gpt2& model) {
  Tensor loss, gradient;
  for (int64_t i = 0; i < model.config().micro_batches; ++i) {
    const Tensor part = model.loss();
    const Tensor slope = grad(part, model.arena());
    loss = loss.defined() ? loss + part.detach() : part.detach();
    gradient = gradient.defined() ? gradient + slope : slope;
  }
  if (model.config().clips) gradient = gradient * clamp(1.0 / (norm(gradient) + 1e-6), {}, 1.0);
  const Tensor p = model.arena().detach(), m = model.state(), v = model.state();
  const Tensor m1 = m * 0.9 + gradient * 0.1, v1 = v * 0.999 + gradient * gradient * 0.001;
  return {loss, p * 0.9999 - m1 / (sqrt(v1) + 1e-8) * 1e-3, m1, v1};
}

}  // namespace tenon::testing
