// KvCache: keys and values of the tokens seen so far, so that the next token costs one row of attention.
//
// Memory is there for max_length tokens from the start, and the number of tokens held is a tensor on the device: one
// captured step serves every token.
//
//   auto caches = nn::KvCache::for_layers(12, 1, 12, 1024, 64);
//   auto step = compile([&](const Tensor& token) {
//     Tensor logits = model(token, caches);  // layer i attends through caches[i]
//     caches[0].advance(1);                  // the position is one for all layers
//     return logits;
//   });
//
// Sequences of a batch end at the same column, so that one position serves all. Shorter ones start at a later column:
// `starts`, which positions and masks count from.
//
// It is for inference: what goes into the cache is cut from the gradient.

#pragma once

#include <vector>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/tensor.h"

namespace tenon::nn {

/// The keys and values of one layer.
class KvCache {
 public:
  /// An empty one. Caches given the same `position`, an i64 tensor of shape (), advance together.
  KvCache(int64_t batch, int64_t kv_heads, int64_t max_length, int64_t head_width, const Options& options = {},
          const Tensor& position = Tensor());
  /// One per layer, with one position.
  static std::vector<KvCache> for_layers(int64_t layers, int64_t batch, int64_t kv_heads, int64_t max_length,
                                         int64_t head_width, const Options& options = {});

  /// Writes keys and values (batch, kv_heads, tokens, head_width) behind the tokens held.
  void append(const Tensor& keys, const Tensor& values);
  /// The same of both, (batch, tokens, 2, kv_heads, head_width): written as one, where a product has made them
  /// together.
  void append(const Tensor& both);
  /// Counts this many appended tokens as held: once per step, after all layers have attended.
  void advance(int64_t tokens);
  /// Forgets all tokens but the first `length`.
  void rewind(int64_t length = 0);
  /// The columns at which sequences start, an i64 tensor (batch,) that the caller may write later on.
  void set_starts(const Tensor& starts);

  /// Positions of the next tokens, (tokens,) or with starts (batch, tokens), where what stands before a start counts as
  /// 0. A column beyond max_length is an error when the result is read.
  Tensor positions(int64_t tokens) const;
  /// Which columns the next tokens may look at, bool (tokens, max_length), with starts (batch, 1, tokens, max_length):
  /// those up to themselves, or with `causal` off up to the last of them. What stands before a start sees itself, so
  /// that it stays finite, and is seen by nothing else.
  Tensor mask(int64_t tokens, bool causal = true) const;

  Tensor keys() const { return by_heads(0); }           // (batch, kv_heads, max_length, head_width)
  Tensor values() const { return by_heads(1); }         // the same
  const Tensor& position() const { return position_; }  // the next column
  int64_t max_length() const { return rows_.size(0); }

 private:
  Tensor columns(int64_t tokens) const;
  Tensor by_heads(int64_t which) const;

  int64_t batch_, kv_heads_, head_width_;
  Tensor rows_;  // (max_length, batch * 2 * kv_heads * head_width): a token is a row, its keys beside its values
  Tensor position_, starts_;
};

}  // namespace tenon::nn
