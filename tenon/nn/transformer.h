// Transformer layers with PyTorch's parameters, names and masks: for models of "Attention is all you need" and after.
//
//   nn::TransformerEncoder encoder(6, 512, 8, {.dropout = 0.1, .batch_first = true, .norm_first = true});
//   Tensor memory = encoder(x, {.key_padding_mask = is_padding});  // (batch, time, 512)
//
// Masks are those of PyTorch's layers: in a bool mask true means "may not look", a float mask is added to the scores.
// (In scaled_dot_product_attention true means "may look", there as here.)

#pragma once

#include <string>

#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"

namespace tenon::nn {

/// What the layers of a transformer have.
struct TransformerOptions {
  int64_t feedforward = 2048;       // width of the hidden layer
  double dropout = 0.1;             // of attention weights and of what branches give, in training
  std::string activation = "relu";  // or gelu
  double eps = 1e-5;                // of layer norms
  bool batch_first = false;         // (batch, time, width), else (time, batch, width)
  bool norm_first = false;          // normalises before each branch instead of behind the sum
  bool bias = true;                 // of products and norms
  Options options = {};             // of the parameters
};

/// Who may look where; each may be left out.
struct AttentionMasks {
  Tensor mask;              // (T, S), or (batch * heads, T, S)
  Tensor key_padding_mask;  // (batch, S), bool or float; (S) of one sequence
  bool causal = false;      // row t sees columns 0..t
};

/// The parameters of attention of several heads but for those of the last projection; who holds them may change them.
struct AttentionWeights {
  const Tensor& in_proj_weight;  // (3 * width, width): queries, keys and values one below the other
  const Tensor& in_proj_bias;    // (3 * width); undefined without one
  int64_t heads;
  bool batch_first;
  /// Of keys and values where these have other widths, (width, theirs); then in_proj_weight is that of queries.
  std::span<const Tensor> others = {};
};
/// What goes into the last projection of MultiheadAttention: (batch, time, width), also without batch_first.
Tensor attend(const AttentionWeights& weights, const Tensor& query, const Tensor& key, const Tensor& value,
              const AttentionMasks& masks = {}, double dropout = 0);
/// See MultiheadAttention::weights.
Tensor attention_weights(const AttentionWeights& weights, const Tensor& query, const Tensor& key,
                         const AttentionMasks& masks = {}, bool averaged = true);

/// torch.nn.MultiheadAttention: in_proj_weight holds the projections of queries, keys and values one below the other.
///   nn::MultiheadAttention attention(16, 4, 0, true, true);
///   const Tensor q = randn({2, 5, 16});
///   attention(q, q, q, {.causal = true}).shape();  // (2, 5, 16)
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t width, int64_t heads, double dropout = 0, bool bias = true, bool batch_first = false,
                     const Options& options = {});
  /// query (time, batch, width); key and value (source, batch, width), the other way round with batch_first.
  /// One sequence goes without the batch.
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionMasks& masks = {}) const;
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionMasks& masks = {}) const {
    return called(
        *this, [&] { return forward(query, key, value, masks); }, query, key, value);
  }

  /// How much each position looks at each other one, without dropout: (batch, T, S), the mean of the heads, or (batch,
  /// heads, T, S). For people to look at: forward() never makes them.
  Tensor weights(const Tensor& query, const Tensor& key, const AttentionMasks& masks = {}, bool averaged = true) const;

  Tensor in_proj_weight, in_proj_bias;  // (3 * width, width) and (3 * width), undefined without one
  Linear out_proj;                      // the way out

 private:
  AttentionWeights own() const { return {in_proj_weight, in_proj_bias, heads_, batch_first_}; }

  int64_t heads_;
  double dropout_;
  bool batch_first_;
};

/// Attention within a sequence and an MLP, each with a norm and added to what came in.
///   nn::TransformerEncoderLayer layer(16, 4, {.feedforward = 32, .batch_first = true});
///   layer(randn({2, 5, 16})).shape();  // (2, 5, 16)
class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(int64_t width, int64_t heads, const TransformerOptions& options = {});
  Tensor forward(const Tensor& x, const AttentionMasks& masks = {}) const;
  Tensor operator()(const Tensor& x, const AttentionMasks& masks = {}) const {
    return called(
        *this, [&] { return forward(x, masks); }, x);
  }

  MultiheadAttention self_attn;  // within the sequence
  Linear linear1;                // of the MLP, into its hidden layer
  Dropout dropout;               // between the two of the MLP
  Linear linear2;                // of the MLP, back to the width
  LayerNorm norm1, norm2;        // of the branches, in their order
  Dropout dropout1, dropout2;    // of what the branches give

 private:
  bool norm_first_, is_gelu_;
};

/// The same with attention to another sequence, the memory, in between.
///   nn::TransformerDecoderLayer layer(16, 4, {.feedforward = 32, .batch_first = true});
///   layer(randn({2, 5, 16}), randn({2, 7, 16})).shape();  // (2, 5, 16)
class TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(int64_t width, int64_t heads, const TransformerOptions& options = {});
  Tensor forward(const Tensor& x, const Tensor& memory, const AttentionMasks& masks = {},
                 const AttentionMasks& memory_masks = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& memory, const AttentionMasks& masks = {},
                    const AttentionMasks& memory_masks = {}) const {
    return called(
        *this, [&] { return forward(x, memory, masks, memory_masks); }, x, memory);
  }

  MultiheadAttention self_attn, multihead_attn;  // within the sequence, and to the memory
  Linear linear1;                                // of the MLP, into its hidden layer
  Dropout dropout;                               // between the two of the MLP
  Linear linear2;                                // of the MLP, back to the width
  LayerNorm norm1, norm2, norm3;                 // of the branches, in their order
  Dropout dropout1, dropout2, dropout3;          // of what the branches give

 private:
  bool norm_first_, is_gelu_;
};

/// Layers one behind the other, and a last norm if wanted. Each layer has initial values of its own.
///   nn::TransformerEncoder encoder(2, 16, 4, {.feedforward = 32, .batch_first = true});
///   encoder(randn({2, 5, 16})).shape();  // (2, 5, 16)
class TransformerEncoder : public Module {
 public:
  TransformerEncoder(int64_t layers, int64_t width, int64_t heads, const TransformerOptions& options = {},
                     bool final_norm = false);
  Tensor forward(const Tensor& x, const AttentionMasks& masks = {}) const;
  Tensor operator()(const Tensor& x, const AttentionMasks& masks = {}) const {
    return called(
        *this, [&] { return forward(x, masks); }, x);
  }

  ModuleList<TransformerEncoderLayer> layers;  // the first is called first
  std::unique_ptr<LayerNorm> norm;             // after the last layer; null without one
};

/// The same of TransformerDecoderLayers, all of which look at one memory.
///   nn::TransformerDecoder decoder(2, 16, 4, {.feedforward = 32, .batch_first = true});
///   decoder(randn({2, 5, 16}), randn({2, 7, 16})).shape();  // (2, 5, 16)
class TransformerDecoder : public Module {
 public:
  TransformerDecoder(int64_t layers, int64_t width, int64_t heads, const TransformerOptions& options = {},
                     bool final_norm = false);
  Tensor forward(const Tensor& x, const Tensor& memory, const AttentionMasks& masks = {},
                 const AttentionMasks& memory_masks = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& memory, const AttentionMasks& masks = {},
                    const AttentionMasks& memory_masks = {}) const {
    return called(
        *this, [&] { return forward(x, memory, masks, memory_masks); }, x, memory);
  }

  ModuleList<TransformerDecoderLayer> layers;  // the first is called first
  std::unique_ptr<LayerNorm> norm;             // after the last layer; null without one
};

/// An encoder and a decoder, each with a norm after its layers; Vaswani et al., 2017.
///   nn::Transformer model(16, 4, 2, 2, {.feedforward = 32, .batch_first = true});
///   model(randn({2, 7, 16}), randn({2, 5, 16}), {}, {.causal = true}).shape();  // (2, 5, 16)
class Transformer : public Module {
 public:
  explicit Transformer(int64_t width = 512, int64_t heads = 8, int64_t encoder_layers = 6, int64_t decoder_layers = 6,
                       const TransformerOptions& options = {});
  /// Masks of the source, of the target, and of the target's looks at the source. In the shape of the target.
  Tensor forward(const Tensor& source, const Tensor& target, const AttentionMasks& source_masks = {},
                 const AttentionMasks& target_masks = {}, const AttentionMasks& memory_masks = {}) const;
  Tensor operator()(const Tensor& source, const Tensor& target, const AttentionMasks& source_masks = {},
                    const AttentionMasks& target_masks = {}, const AttentionMasks& memory_masks = {}) const {
    return called(
        *this, [&] { return forward(source, target, source_masks, target_masks, memory_masks); }, source, target);
  }

  TransformerEncoder encoder;  // of the source
  TransformerDecoder decoder;  // of the target, which looks at what the encoder gives
};

}  // namespace tenon::nn
