// Projections around scaled_dot_product_attention.

#include "tenon/nn/attention.h"

#include "tenon/nn/functional.h"

namespace tenon::nn {

using base::fail;

MultiHeadAttention::Sizes MultiHeadAttention::sizes_of(int64_t width, int64_t heads, const AttentionConfig& config) {
  if (heads <= 0 || width <= 0 || width % heads != 0)
    fail("attention", "a width of {} cannot be divided among {} heads", width, heads);
  if (config.kv_heads < 0 || (config.kv_heads > 0 && heads % config.kv_heads != 0))
    fail("attention", "{} heads cannot share {} key/value heads evenly", heads, config.kv_heads);
  if (!(config.dropout >= 0 && config.dropout < 1))
    fail("attention", "dropout must lie in 0..1, got {}", config.dropout);
  const int64_t head_width = width / heads;
  if (config.rotary && 2 * config.rotary->cos.size(1) != head_width) {
    fail("attention", "a rotary embedding of width {} does not fit heads of width {}", 2 * config.rotary->cos.size(1),
         head_width);
  }
  return {width, heads, config.kv_heads > 0 ? config.kv_heads : heads, head_width};
}

MultiHeadAttention::MultiHeadAttention(int64_t width, int64_t heads, const AttentionConfig& config)
    : MultiHeadAttention(sizes_of(width, heads, config), config) {}

MultiHeadAttention::MultiHeadAttention(const Sizes& sizes, const AttentionConfig& config)
    : q_proj(sizes.width, sizes.width, config.bias, config.options),
      k_proj(sizes.width, sizes.kv_heads * sizes.head_width, config.bias, config.options),
      v_proj(sizes.width, sizes.kv_heads * sizes.head_width, config.bias, config.options),
      out_proj(sizes.width, sizes.width, config.bias, config.options),
      sizes_(sizes),
      causal_(config.causal),
      dropout_(config.dropout),
      rotary_(config.rotary) {
  register_module("q_proj", q_proj);
  register_module("k_proj", k_proj);
  register_module("v_proj", v_proj);
  register_module("out_proj", out_proj);
  if (rotary_) register_module("rotary", *rotary_);
}

KvCache MultiHeadAttention::make_cache(int64_t batch, int64_t max_length) const {
  return KvCache(batch, sizes_.kv_heads, max_length, sizes_.head_width,
                 Options(k_proj.weight.dtype(), k_proj.weight.device()));
}

Tensor MultiHeadAttention::forward(const Tensor& x, KvCache* cache, const Tensor& mask) const {
  if (x.dim() != 3) fail("attention", "takes (batch, time, width), got shape {}", ir::to_string(x.shape()));
  if (cache && mask.defined()) fail("attention", "a mask and a cache do not go together: the cache has its own");
  const int64_t batch = x.size(0), time = x.size(1);
  const auto divided = [&](const Tensor& projected, int64_t heads) {
    return projected.reshape({batch, time, heads, sizes_.head_width}).transpose(1, 2);
  };
  Tensor q = divided(q_proj(x), sizes_.heads), k = divided(k_proj(x), sizes_.kv_heads),
         v = divided(v_proj(x), sizes_.kv_heads);
  if (rotary_) {
    const Tensor positions = cache ? cache->positions(time) : Tensor();
    q = cache ? rotary_->apply(q, positions) : rotary_->apply(q);
    k = cache ? rotary_->apply(k, positions) : rotary_->apply(k);
  }
  AttentionOptions options;
  options.gqa = sizes_.kv_heads != sizes_.heads;
  options.dropout = is_training() ? dropout_ : 0;
  if (cache) {
    cache->append(k, v);
    k = cache->keys().to(q.dtype());
    v = cache->values().to(q.dtype());
    options.mask = cache->mask(time, causal_);
  } else {
    options.causal = causal_;
    options.mask = mask;
  }
  const Tensor y = scaled_dot_product_attention(q, k, v, options);
  return out_proj(y.transpose(1, 2).reshape({batch, time, sizes_.width}));
}

}  // namespace tenon::nn
