// Attention, a feedforward branch, norms and sums, in PyTorch's order.

#include "tenon/nn/transformer.h"

#include <cmath>
#include <limits>

#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;

constexpr std::string_view kOp = "multihead_attention";

// What is added to the scores: 0, or -inf where nobody may look.
Tensor additive(std::string_view what, const Tensor& mask, DType dtype) {
  record::require_mask(kOp, what, mask);
  if (mask.dtype() != DType::boolean) return mask.to(dtype);
  const double hidden = -std::numeric_limits<double>::infinity();
  return where(mask, full({}, hidden, Options(dtype, mask.device())), 0.0);
}

// Of (batch, heads, T, S); undefined where all may look.
Tensor joined_masks(const AttentionMasks& masks, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                    DType dtype) {
  Tensor all;
  if (const Tensor& mask = masks.mask; mask.defined()) {
    const bool fits = mask.shape() == Dims{rows, columns} || mask.shape() == Dims{batch * heads, rows, columns};
    if (!fits)
      fail(kOp, "mask {} must be ({}, {}), or ({}, {}, {})", ir::to_string(mask.shape()), rows, columns, batch * heads,
           rows, columns);
    all = additive("mask", mask, dtype);
    if (mask.dim() == 3) all = all.reshape({batch, heads, rows, columns});
  }
  if (const Tensor& mask = masks.key_padding_mask; mask.defined()) {
    if (mask.shape() != Dims{batch, columns})
      fail(kOp, "key_padding_mask {} must be ({}, {})", ir::to_string(mask.shape()), batch, columns);
    const Tensor columns_of = additive("key_padding_mask", mask, dtype).reshape({batch, 1, 1, columns});
    all = all.defined() ? all + columns_of : columns_of;
  }
  return all;
}

bool is_gelu(const std::string& activation) {
  if (activation != "relu" && activation != "gelu")
    fail("transformer", "activation '{}' is not known; it can be relu or gelu", activation);
  return activation == "gelu";
}

Tensor activated(const Tensor& x, bool gelu_wanted) { return gelu_wanted ? gelu(x) : relu(x); }

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t width, int64_t heads, double dropout, bool bias, bool batch_first,
                                       const Options& options)
    : out_proj(width, width, bias, options), heads_(heads), dropout_(dropout), batch_first_(batch_first) {
  if (heads <= 0 || width % heads != 0) fail(kOp, "a width of {} cannot be divided among {} heads", width, heads);
  if (!(dropout >= 0 && dropout < 1)) fail(kOp, "dropout must lie in 0..1, got {}", dropout);
  in_proj_weight = empty({3 * width, width}, options);
  init::xavier_uniform_(in_proj_weight);
  if (bias) {
    in_proj_bias = zeros({3 * width}, options);
    init::constant_(out_proj.bias, 0);
  }
  register_parameter("in_proj_weight", in_proj_weight);
  register_parameter("in_proj_bias", in_proj_bias);
  register_module("out_proj", out_proj);
}

Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const AttentionMasks& masks) const {
  const Tensor y = out_proj(attend(own(), query, key, value, masks, is_training() ? dropout_ : 0));
  if (query.dim() == 2) return y.squeeze(0);  // one sequence
  return batch_first_ ? y : y.transpose(0, 1);
}

Tensor MultiheadAttention::weights(const Tensor& query, const Tensor& key, const AttentionMasks& masks,
                                   bool averaged) const {
  return attention_weights(own(), query, key, masks, averaged);
}

namespace {

// Queries, keys and values are 0, 1 and 2.
const Tensor& weight_of(const AttentionWeights& w, size_t which) {
  return which == 0 || w.others.empty() ? w.in_proj_weight : w.others[which - 1];
}

// Projections of so many of them, which share their input, are one product.
Tensor projected(const AttentionWeights& w, const Tensor& x, int64_t first, int64_t count) {
  const int64_t width = w.in_proj_weight.size(1);
  const Tensor bias = w.in_proj_bias.defined() ? w.in_proj_bias.narrow(0, first * width, count * width) : Tensor();
  if (!w.others.empty()) return linear(x, weight_of(w, static_cast<size_t>(first)), bias);
  return linear(x, w.in_proj_weight.narrow(0, first * width, count * width), bias);
}

void require_inputs(const AttentionWeights& w, std::initializer_list<const Tensor*> inputs) {
  size_t which = 0;
  for (const Tensor* x : inputs) {
    const int64_t width = weight_of(w, which++).size(1);
    if (x->dim() != 3 || x->size(2) != width)
      fail(kOp, "takes ({}, {}), got {}", w.batch_first ? "batch, time" : "time, batch", width,
           ir::to_string(x->shape()));
  }
}

}  // namespace

Tensor attend(const AttentionWeights& w, const Tensor& query, const Tensor& key, const Tensor& value,
              const AttentionMasks& masks, double dropout) {
  if (query.dim() == 2 && key.dim() == 2 && value.dim() == 2) {  // one sequence
    const int64_t at = w.batch_first ? 0 : 1;
    const Tensor q = query.unsqueeze(at), k = value_of(key) == value_of(query) ? q : key.unsqueeze(at);
    const Tensor v = value_of(value) == value_of(key) ? k : value.unsqueeze(at);
    AttentionMasks of_one = masks;
    if (Tensor& mask = of_one.key_padding_mask; mask.defined() && mask.dim() == 1) mask = mask.unsqueeze(0);
    return attend(w, q, k, v, of_one, dropout);
  }
  if (!(dropout >= 0 && dropout < 1)) fail(kOp, "dropout must lie in 0..1, got {}", dropout);
  const int64_t width = w.in_proj_weight.size(1);
  require_inputs(w, {&query, &key, &value});
  const auto batched = [&](const Tensor& x) { return w.batch_first ? x : x.transpose(0, 1); };
  const Tensor q = batched(query), k = batched(key), v = batched(value);
  if (k.size(0) != v.size(0) || k.size(1) != v.size(1) || q.size(0) != k.size(0))
    fail(kOp, "query {}, key {} and value {} do not fit", ir::to_string(query.shape()), ir::to_string(key.shape()),
         ir::to_string(value.shape()));
  const int64_t batch = q.size(0), rows = q.size(1), columns = k.size(1), each = width / w.heads;
  std::vector<Tensor> heads;
  const auto take = [&](const Tensor& x, int64_t first, int64_t count) {
    const Tensor y = projected(w, x, first, count).reshape({batch, x.size(1), count * w.heads, each}).transpose(1, 2);
    const std::vector<Tensor> some = y.split(Dims(static_cast<size_t>(count), w.heads), 1);
    heads.insert(heads.end(), some.begin(), some.end());
  };
  const bool same_keys = w.others.empty() && value_of(key) == value_of(value);
  const bool same_all = same_keys && value_of(query) == value_of(key);
  if (same_all) {
    take(q, 0, 3);
  } else {
    take(q, 0, 1);
    if (same_keys) {
      take(k, 1, 2);
    } else {
      take(k, 1, 1);
      take(v, 2, 1);
    }
  }
  AttentionOptions options;
  options.mask = joined_masks(masks, batch, w.heads, rows, columns, accumulator(heads[0].dtype()));
  options.causal = masks.causal;
  options.dropout = dropout;
  const Tensor y = scaled_dot_product_attention(heads[0], heads[1], heads[2], options);
  return y.transpose(1, 2).reshape({batch, rows, width});
}

Tensor attention_weights(const AttentionWeights& w, const Tensor& query, const Tensor& key, const AttentionMasks& masks,
                         bool averaged) {
  if (query.dim() == 2 && key.dim() == 2) {  // one sequence
    const int64_t at = w.batch_first ? 0 : 1;
    AttentionMasks of_one = masks;
    if (Tensor& mask = of_one.key_padding_mask; mask.defined() && mask.dim() == 1) mask = mask.unsqueeze(0);
    return attention_weights(w, query.unsqueeze(at), key.unsqueeze(at), of_one, averaged).squeeze(0);
  }
  const int64_t width = w.in_proj_weight.size(1), each = width / w.heads;
  const auto heads_of = [&](const Tensor& given, int64_t which) {
    const Tensor x = w.batch_first ? given : given.transpose(0, 1);
    return projected(w, x, which, 1).reshape({x.size(0), x.size(1), w.heads, each}).transpose(1, 2);
  };
  const Tensor q = heads_of(query, 0), k = heads_of(key, 1);
  const int64_t rows = q.size(2), columns = k.size(2);
  Tensor scores = matmul(q, k.transpose(-1, -2)) * (1 / std::sqrt(static_cast<double>(each)));
  if (const Tensor mask = joined_masks(masks, q.size(0), w.heads, rows, columns, scores.dtype()); mask.defined())
    scores = scores + mask;
  if (masks.causal) {
    const Tensor is_ahead = triu(ones({rows, columns}, Options(DType::boolean, scores.device())), 1);
    scores = masked_fill(scores, is_ahead, -std::numeric_limits<double>::infinity());
  }
  const Tensor all = softmax(scores, -1);
  return averaged ? all.mean({1}) : all;
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t width, int64_t heads, const TransformerOptions& o)
    : self_attn(width, heads, o.dropout, o.bias, o.batch_first, o.options),
      linear1(width, o.feedforward, o.bias, o.options),
      dropout(o.dropout),
      linear2(o.feedforward, width, o.bias, o.options),
      norm1(width, o.eps, true, o.bias, o.options),
      norm2(width, o.eps, true, o.bias, o.options),
      dropout1(o.dropout),
      dropout2(o.dropout),
      norm_first_(o.norm_first),
      is_gelu_(is_gelu(o.activation)) {
  register_module("self_attn", self_attn);
  register_module("linear1", linear1);
  register_module("dropout", dropout);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("dropout1", dropout1);
  register_module("dropout2", dropout2);
}

Tensor TransformerEncoderLayer::forward(const Tensor& x, const AttentionMasks& masks) const {
  const auto looks = [&](const Tensor& y) { return dropout1(self_attn(y, y, y, masks)); };
  const auto thinks = [&](const Tensor& y) { return dropout2(linear2(dropout(activated(linear1(y), is_gelu_)))); };
  if (norm_first_) {
    const Tensor y = x + looks(norm1(x));
    return y + thinks(norm2(y));
  }
  const Tensor y = norm1(x + looks(x));
  return norm2(y + thinks(y));
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t width, int64_t heads, const TransformerOptions& o)
    : self_attn(width, heads, o.dropout, o.bias, o.batch_first, o.options),
      multihead_attn(width, heads, o.dropout, o.bias, o.batch_first, o.options),
      linear1(width, o.feedforward, o.bias, o.options),
      dropout(o.dropout),
      linear2(o.feedforward, width, o.bias, o.options),
      norm1(width, o.eps, true, o.bias, o.options),
      norm2(width, o.eps, true, o.bias, o.options),
      norm3(width, o.eps, true, o.bias, o.options),
      dropout1(o.dropout),
      dropout2(o.dropout),
      dropout3(o.dropout),
      norm_first_(o.norm_first),
      is_gelu_(is_gelu(o.activation)) {
  register_module("self_attn", self_attn);
  register_module("multihead_attn", multihead_attn);
  register_module("linear1", linear1);
  register_module("dropout", dropout);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("norm3", norm3);
  register_module("dropout1", dropout1);
  register_module("dropout2", dropout2);
  register_module("dropout3", dropout3);
}

Tensor TransformerDecoderLayer::forward(const Tensor& x, const Tensor& memory, const AttentionMasks& masks,
                                        const AttentionMasks& memory_masks) const {
  const auto looks = [&](const Tensor& y) { return dropout1(self_attn(y, y, y, masks)); };
  const auto asks = [&](const Tensor& y) { return dropout2(multihead_attn(y, memory, memory, memory_masks)); };
  const auto thinks = [&](const Tensor& y) { return dropout3(linear2(dropout(activated(linear1(y), is_gelu_)))); };
  if (norm_first_) {
    Tensor y = x + looks(norm1(x));
    y = y + asks(norm2(y));
    return y + thinks(norm3(y));
  }
  Tensor y = norm1(x + looks(x));
  y = norm2(y + asks(y));
  return norm3(y + thinks(y));
}

namespace {
constexpr int64_t kMostLayers = 1 << 16;
}

TransformerEncoder::TransformerEncoder(int64_t count, int64_t width, int64_t heads, const TransformerOptions& options,
                                       bool final_norm) {
  if (count < 1 || count > kMostLayers) fail("transformer", "takes 1 to {} layers, got {}", kMostLayers, count);
  register_module("layers", layers);
  for (int64_t i = 0; i < count; ++i) layers.emplace(width, heads, options);
  if (!final_norm) return;
  norm = std::make_unique<LayerNorm>(width, options.eps, true, options.bias, options.options);
  register_module("norm", *norm);
}

Tensor TransformerEncoder::forward(const Tensor& given, const AttentionMasks& masks) const {
  Tensor x = given;
  for (const TransformerEncoderLayer& layer : layers) x = layer(x, masks);
  return norm ? (*norm)(x) : x;
}

TransformerDecoder::TransformerDecoder(int64_t count, int64_t width, int64_t heads, const TransformerOptions& options,
                                       bool final_norm) {
  if (count < 1 || count > kMostLayers) fail("transformer", "takes 1 to {} layers, got {}", kMostLayers, count);
  register_module("layers", layers);
  for (int64_t i = 0; i < count; ++i) layers.emplace(width, heads, options);
  if (!final_norm) return;
  norm = std::make_unique<LayerNorm>(width, options.eps, true, options.bias, options.options);
  register_module("norm", *norm);
}

Tensor TransformerDecoder::forward(const Tensor& given, const Tensor& memory, const AttentionMasks& masks,
                                   const AttentionMasks& memory_masks) const {
  Tensor x = given;
  for (const TransformerDecoderLayer& layer : layers) x = layer(x, memory, masks, memory_masks);
  return norm ? (*norm)(x) : x;
}

Transformer::Transformer(int64_t width, int64_t heads, int64_t encoder_layers, int64_t decoder_layers,
                         const TransformerOptions& options)
    : encoder(encoder_layers, width, heads, options, true), decoder(decoder_layers, width, heads, options, true) {
  register_module("encoder", encoder);
  register_module("decoder", decoder);
  for (Tensor& parameter : parameters())
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
}

Tensor Transformer::forward(const Tensor& source, const Tensor& target, const AttentionMasks& source_masks,
                            const AttentionMasks& target_masks, const AttentionMasks& memory_masks) const {
  return decoder(target, encoder(source, source_masks), target_masks, memory_masks);
}

}  // namespace tenon::nn
