// GPT-2 as plain tensor code: the worked example of the planner's tests. Weights are slices of two flat tensors, as a
// training program keeps them: the layers' matrices, of which autocast reads a bf16 shadow, and everything else.

#pragma once

#include <vector>

#include "tenon/ir/build.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

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
    rest_ = leaf({rest_size()}, DType::f32).requires_grad_();
    matrices_ = leaf({matrices_size()}, c_.autocast ? DType::bf16 : DType::f32).requires_grad_();
    int64_t used = 0, used_matrices = 0;
    const auto cut = [](const Tensor& arena, int64_t& at, const Dims& shape) {
      const int64_t n = ir::count(shape);
      const Tensor slice = arena.slice(0, at, at + n).reshape(shape);
      at += n;
      return slice;
    };
    const auto weight = [&](const Dims& shape) { return cut(rest_, used, shape); };
    const auto matrix = [&](int64_t rows, int64_t columns) { return cut(matrices_, used_matrices, {rows, columns}); };
    const int64_t w = c_.width;
    tokens_ = weight({c_.vocabulary, w});
    positions_ = weight({c_.context, w});
    for (int64_t i = 0; i < c_.layers; ++i) {
      Block block;
      block.norm1_w = weight({w});
      block.norm1_b = weight({w});
      block.qkv_w = matrix(w, 3 * w);
      block.qkv_b = weight({3 * w});
      block.proj_w = matrix(w, w);
      block.proj_b = weight({w});
      block.norm2_w = weight({w});
      block.norm2_b = weight({w});
      block.fc_w = matrix(w, 4 * w);
      block.fc_b = weight({4 * w});
      block.out_w = matrix(4 * w, w);
      block.out_b = weight({w});
      blocks_.push_back(std::move(block));
    }
    norm_w_ = weight({w});
    norm_b_ = weight({w});
    for (const Tensor& arena : {matrices_, rest_}) {
      const auto state = [&] { return leaf(arena.shape(), DType::f32); };
      arenas_.push_back({arena, arena.dtype() == DType::f32 ? arena : state(), state(), state()});
    }
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

  /// Weights that gradients are taken of, and what AdamW keeps for them. The f32 master of a bf16 arena is a tensor of
  /// its own; that of an f32 arena is the arena.
  struct Arena {
    Tensor weights, master, mean, square;
  };
  const std::vector<Arena>& arenas() const { return arenas_; }
  const Gpt2Config& config() const { return c_; }

 private:
  struct Block {
    Tensor norm1_w, norm1_b, qkv_w, qkv_b, proj_w, proj_b, norm2_w, norm2_b, fc_w, fc_b, out_w, out_b;
  };

  int64_t matrices_size() const { return c_.layers * 12 * c_.width * c_.width; }
  int64_t rest_size() const { return (c_.vocabulary + c_.context + 13 * c_.layers + 2) * c_.width; }
  Tensor leaf(const Dims& shape, DType dtype) const {
    const Options options(dtype, device_);
    return from_bytes(std::vector<std::byte>(static_cast<size_t>(ir::count(shape)) * size_of(dtype)), shape, options);
  }
  Tensor dropped(const Tensor& x) const { return nn::dropout(x, c_.dropout); }

  // Under autocast operands are rounded to bf16 and sums are f32.
  Tensor product(const Tensor& x, const Tensor& w) const {
    if (!c_.autocast) return matmul(x, w);
    return tensor_of(ir::contract(value_of(x.to(DType::bf16)), value_of(w.to(DType::bf16)), DType::f32));
  }
  Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias) const {
    const Dims& s = x.shape();
    const Tensor rounded = c_.autocast ? x.to(DType::bf16) : x;
    const Tensor flat = product(rounded.reshape({s[0] * s[1], s[2]}), w);
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
  Tensor matrices_, rest_, tokens_, positions_, norm_w_, norm_b_;
  std::vector<Block> blocks_;
  std::vector<Arena> arenas_;
};

/// One training step: the loss, and the arenas and the moments of AdamW, which are updated in place.
inline std::vector<Tensor> step(const Gpt2& model) {
  std::vector<Tensor> weights, gradients(model.arenas().size()), results(1);
  for (const Gpt2::Arena& arena : model.arenas()) weights.push_back(arena.weights);
  for (int64_t i = 0; i < model.config().micro_batches; ++i) {
    const std::vector<Tensor> part{model.loss()};
    const std::vector<Tensor> slopes = grad(part, weights);
    results[0] = i > 0 ? results[0] + part[0].detach() : part[0].detach();
    for (size_t k = 0; k < slopes.size(); ++k) gradients[k] = i > 0 ? gradients[k] + slopes[k] : slopes[k];
  }
  if (model.config().clips) {
    Tensor squares;
    for (const Tensor& g : gradients) {
      const Tensor part = sum(square(g.to(DType::f32)));
      squares = squares.defined() ? squares + part : part;
    }
    const Tensor factor = clamp(1.0 / (sqrt(squares) + 1e-6), {}, 1.0);
    for (Tensor& g : gradients) g = g.to(DType::f32) * factor;
  }
  const NoGrad updating;
  for (size_t k = 0; k < gradients.size(); ++k) {
    Gpt2::Arena arena = model.arenas()[k];
    const Tensor g = gradients[k].to(DType::f32);
    const Tensor m = arena.mean * 0.9 + g * 0.1, v = arena.square * 0.999 + g * g * 0.001;
    const Tensor p = arena.master * 0.9999 - m / (sqrt(v) + 1e-8) * 1e-3;
    arena.mean.copy_(m);
    arena.square.copy_(v);
    arena.master.copy_(p);
    if (arena.weights.dtype() != DType::f32) arena.weights.copy_(p.to(arena.weights.dtype()));
    for (const Tensor& state : {arena.weights, arena.mean, arena.square}) results.push_back(state);
    if (arena.weights.dtype() != DType::f32) results.push_back(arena.master);
  }
  return results;
}

}  // namespace tenon::testing
