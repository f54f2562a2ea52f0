// GPT-2 as plain tensor code: the worked example of the planner's tests. Weights are leaves on a device that runs
// nothing.

#pragma once

#include <cmath>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::testing {

struct Gpt2Config {
  int64_t layers = 2, heads = 12, width = 768, context = 1024, vocabulary = 50304, batch = 8;
  double dropout = 0;
};

class Gpt2 {
 public:
  Gpt2(const Gpt2Config& config, Device device) : c_(config), device_(device) {
    const int64_t w = c_.width;
    tokens_ = weight({c_.vocabulary, w});
    positions_ = weight({c_.context, w});
    for (int64_t i = 0; i < c_.layers; ++i) {
      blocks_.push_back({weight({w}), weight({w}), weight({w, 3 * w}), weight({3 * w}), weight({w, w}), weight({w}),
                         weight({w}), weight({w}), weight({w, 4 * w}), weight({4 * w}), weight({4 * w, w}),
                         weight({w})});
    }
    norm_w_ = weight({w});
    norm_b_ = weight({w});
  }

  Tensor loss() const {
    const int64_t b = c_.batch, t = c_.context, w = c_.width;
    const Tensor ids = leaf({b, t}, DType::i64), targets = leaf({b, t}, DType::i64);
    Tensor x = dropped(nn::embedding(tokens_, ids) + positions_);
    for (const Block& block : blocks_) {
      x = x + dropped(attention(block, nn::layer_norm(x, {w}, block.norm1_w, block.norm1_b)));
      const Tensor h = nn::layer_norm(x, {w}, block.norm2_w, block.norm2_b);
      x = x + dropped(matmul(gelu(matmul(h, block.fc_w) + block.fc_b, "tanh"), block.out_w) + block.out_b);
    }
    x = nn::layer_norm(x, {w}, norm_w_, norm_b_);
    const Tensor logits = matmul(x.reshape({b * t, w}), tokens_.t());
    return nn::cross_entropy(logits, targets.reshape({b * t}));
  }

  std::vector<Tensor> parameters() const { return all_; }

 private:
  struct Block {
    Tensor norm1_w, norm1_b, qkv_w, qkv_b, proj_w, proj_b, norm2_w, norm2_b, fc_w, fc_b, out_w, out_b;
  };

  Tensor leaf(const Dims& shape, DType dtype) const {
    const Options options(dtype, device_);
    return from_bytes(std::vector<std::byte>(static_cast<size_t>(ir::count(shape)) * size_of(dtype)), shape, options);
  }
  Tensor weight(const Dims& shape) {
    all_.push_back(leaf(shape, DType::f32).requires_grad_());
    return all_.back();
  }
  Tensor dropped(const Tensor& x) const { return nn::dropout(x, c_.dropout); }

  Tensor attention(const Block& block, const Tensor& x) const {
    const int64_t b = c_.batch, t = c_.context, w = c_.width, h = c_.heads;
    const Tensor qkv = (matmul(x, block.qkv_w) + block.qkv_b).reshape({b, t, 3, h, w / h});
    const auto part = [&](int64_t i) { return qkv.select(2, i).permute({0, 2, 1, 3}); };
    const Tensor o = nn::scaled_dot_product_attention(part(0), part(1), part(2), {.mask = {}, .causal = true});
    return matmul(o.permute({0, 2, 1, 3}).reshape({b, t, w}), block.proj_w) + block.proj_b;
  }

  Gpt2Config c_;
  Device device_;
  Tensor tokens_, positions_, norm_w_, norm_b_;
  std::vector<Block> blocks_;
  std::vector<Tensor> all_;
};

/// The loss and the gradients of all parameters: one training step without its update.
inline std::vector<Tensor> step(const Gpt2& model) {
  Tensor loss = model.loss();
  loss.backward();
  std::vector<Tensor> outputs{loss};
  for (const Tensor& p : model.parameters()) outputs.push_back(p.grad());
  return outputs;
}

}  // namespace tenon::testing
