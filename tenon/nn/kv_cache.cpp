// A write at a position that only the device knows is a choice per token between the new row and the old content. It
// passes over the whole cache, as the attention that follows does anyway. All heads of a token lie side by side, so
// that the choice is one per long row: 61 µs instead of 159 for a layer of GPT-2 and 160 tokens on one core. Keys and
// values of a token do too: what a product makes of both is one kernel to write.

#include "tenon/nn/kv_cache.h"

#include <algorithm>

#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::nn {
namespace {

using base::fail;

// Whether this is a view of what a product gives, bias and rounding included, which is written to memory anyway.
bool is_of_a_product(const ir::Value& value, int most_steps = 3) {
  const ir::Node& node = *ir::base_node(value);
  if (node.evaluated() || node.op() == ir::Op::contract) return true;
  if (most_steps == 0 || (node.op() != ir::Op::add && node.op() != ir::Op::cast)) return false;
  const auto inputs = node.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value& input) {
    return !ir::base_node(input)->evaluated() && is_of_a_product(input, most_steps - 1);
  });
}

// A tensor with memory of its own, which captured steps write.
Tensor home(const Dims& shape, const Options& options) { return zeros(shape, options).clone().eval(); }

}  // namespace

KvCache::KvCache(int64_t batch, int64_t kv_heads, int64_t max_length, int64_t head_width, const Options& options,
                 const Tensor& position)
    : batch_(batch), kv_heads_(kv_heads), head_width_(head_width) {
  for (const int64_t size : {batch, kv_heads, max_length, head_width}) {
    if (size <= 0)
      fail("kv_cache", "all sizes must be positive, got {}",
           ir::to_string(Dims{batch, kv_heads, max_length, head_width}));
  }
  ir::require_shape("kv_cache", {batch, 2, kv_heads, max_length, head_width});
  const Dims shape{max_length, batch * 2 * kv_heads * head_width};
  if (position.defined() && (position.dtype() != DType::i64 || position.dim() != 0)) {
    fail("kv_cache", "a position is i64 of shape (), got {}{}", name(position.dtype()),
         ir::to_string(position.shape()));
  }
  rows_ = home(shape, options);
  position_ = position.defined() ? position : home({}, Options(DType::i64, options.device));
}

std::vector<KvCache> KvCache::for_layers(int64_t layers, int64_t batch, int64_t kv_heads, int64_t max_length,
                                         int64_t head_width, const Options& options) {
  if (layers <= 0) fail("kv_cache", "the number of layers must be positive, got {}", layers);
  std::vector<KvCache> caches{KvCache(batch, kv_heads, max_length, head_width, options)};
  while (static_cast<int64_t>(caches.size()) < layers)
    caches.emplace_back(batch, kv_heads, max_length, head_width, options, caches[0].position_);
  return caches;
}

void KvCache::append(const Tensor& keys, const Tensor& values) {
  for (const Tensor* rows : {&keys, &values}) {
    Dims wanted = this->keys().shape();
    if (rows->dim() == 4) wanted[2] = rows->size(2);
    if (rows->shape() != wanted || rows->size(2) != keys.size(2)) {
      fail("kv_cache", "keys {} and values {} do not fit a cache of {}", ir::to_string(keys.shape()),
           ir::to_string(values.shape()), ir::to_string(this->keys().shape()));
    }
  }
  append(stack({keys.transpose(1, 2), values.transpose(1, 2)}, 2));
}

void KvCache::append(const Tensor& both) {
  const Dims wanted{batch_, both.dim() == 5 ? both.size(1) : 0, 2, kv_heads_, head_width_};
  if (both.shape() != wanted) {
    fail("kv_cache", "keys and values {} do not fit a cache of {}", ir::to_string(both.shape()),
         ir::to_string(keys().shape()));
  }
  const int64_t tokens = both.size(1), length = max_length();
  if (tokens == 0 || tokens > length) fail("kv_cache", "{} tokens do not fit a cache of {}", tokens, length);
  const NoGrad writing;
  const Tensor first = columns(tokens).select(0, 0);
  const Tensor behind = arange(length, Options(DType::i64, rows_.device())) - first;  // columns, counted from the first
  // Both sides of the choice are computed before it: inside, the few new elements would be computed once per element of
  // the cache (80 ms a token for four layers of width 768 and length 1024 instead of 35). What decides is the same
  // expression in every layer, and so is one value.
  const Tensor is_new = logical_and(behind >= 0, behind < tokens).unsqueeze(-1).clone();
  Tensor source = clamp(behind, 0, tokens - 1);
  set_known_range(source, 0, tokens - 1, false);
  Tensor made = both.transpose(0, 1).reshape({tokens, rows_.size(1)}).to(rows_.dtype());
  if (tokens > 1 || !is_of_a_product(value_of(made))) made = made.clone();
  rows_.copy_(where(is_new, tokens == 1 ? made : index_select(made, 0, source), rows_));
}

void KvCache::advance(int64_t tokens) {
  if (tokens < 0) fail("kv_cache", "cannot advance by {} tokens; rewind() goes back", tokens);
  const NoGrad writing;
  position_.add_(tokens);
}

void KvCache::rewind(int64_t length) {
  if (length < 0 || length > max_length()) fail("kv_cache", "{} tokens do not fit a cache of {}", length, max_length());
  const NoGrad writing;
  position_.fill_(length);
}

void KvCache::set_starts(const Tensor& starts) {
  if (starts.dtype() != DType::i64 || starts.shape() != Dims{batch_}) {
    fail("kv_cache", "starts are i64 of shape ({},), got {}{}", batch_, name(starts.dtype()),
         ir::to_string(starts.shape()));
  }
  starts_ = starts;
}

Tensor KvCache::by_heads(int64_t which) const {
  return rows_.reshape({max_length(), batch_, 2, kv_heads_, head_width_}).select(2, which).permute({1, 2, 0, 3});
}

// Looked up in 0, 1, ..., so that the device finds a column that is out of range.
Tensor KvCache::columns(int64_t tokens) const {
  const Options options(DType::i64, rows_.device());
  return index_select(arange(max_length(), options), 0, position_ + arange(tokens, options));
}

Tensor KvCache::positions(int64_t tokens) const {
  const Tensor next = columns(tokens);
  return starts_.defined() ? clamp(next - starts_.unsqueeze(-1), 0, {}) : next;
}

Tensor KvCache::mask(int64_t tokens, bool causal) const {
  const Tensor rows = columns(tokens), all = arange(max_length(), Options(DType::i64, rows_.device()));
  const Tensor last = causal ? rows : rows.select(0, tokens - 1).expand({tokens});
  const Tensor seen = all <= last.unsqueeze(-1);
  if (!starts_.defined()) return seen;
  const Tensor is_held = all >= starts_.reshape({-1, 1, 1, 1});
  return logical_and(seen, logical_or(is_held, all == rows.unsqueeze(-1)));
}

}  // namespace tenon::nn
