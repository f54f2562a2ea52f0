// Multi-head attention as today's decoders have it: separate projections, shared key/value heads, rotary positions, a
// cache for generation.
//
//   nn::MultiHeadAttention attention(768, 12, {.causal = true});
//   Tensor y = attention(x);  // (batch, time, 768)

#pragma once

#include <memory>

#include "tenon/nn/kv_cache.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/rotary.h"

namespace tenon::nn {

/// What MultiHeadAttention has.
struct AttentionConfig {
  int64_t kv_heads = 0;  // key/value heads, each shared by a group of query heads; 0: as many as query heads
  bool bias = true;      // of the four projections
  bool causal = false;   // a token sees those before it and itself
  double dropout = 0;    // of attention weights, in training
  std::shared_ptr<RotaryEmbedding> rotary = nullptr;  // of the heads' width; layers may share one
  Options options = {};                               // of the parameters
};

/// Attention of several heads over one sequence.
///   nn::MultiHeadAttention attention(16, 4, {.causal = true});
///   attention(randn({2, 5, 16})).shape();  // (2, 5, 16)
class MultiHeadAttention : public ModuleOf<MultiHeadAttention> {
 public:
  MultiHeadAttention(int64_t width, int64_t heads, const AttentionConfig& config = {});

  /// x (batch, time, width) to the same shape. With a cache the tokens are appended to it and attend to what it holds;
  /// advance() it after the last layer. The mask is that of scaled_dot_product_attention.
  Tensor forward(const Tensor& x, KvCache* cache = nullptr, const Tensor& mask = Tensor()) const;

  /// An empty cache that fits.
  KvCache make_cache(int64_t batch, int64_t max_length) const;

  Linear q_proj, k_proj, v_proj, out_proj;  // of queries, keys and values, and the way out

 private:
  struct Sizes {
    int64_t width, heads, kv_heads, head_width;
  };
  static Sizes sizes_of(int64_t width, int64_t heads, const AttentionConfig& config);
  MultiHeadAttention(const Sizes& sizes, const AttentionConfig& config);

  Sizes sizes_;
  bool causal_;
  double dropout_;
  std::shared_ptr<RotaryEmbedding> rotary_;
};

}  // namespace tenon::nn
