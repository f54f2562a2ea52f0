// Llama (Touvron et al., 2023): RMSNorm, rotary positions, SwiGLU, shared key/value heads, with the parameter names of
// Hugging Face's transformers. Reads Hugging Face folders and the files of llama2.c.
//
//   auto model = models::Llama::load_llama2c("stories260K.bin");
//   std::vector<int64_t> tokens = models::generate(*model, {1}, {.new_tokens = 200});

#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "tenon/models/causal_lm.h"
#include "tenon/models/llama_config.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/rotary.h"

namespace tenon::io {
class OpenFolder;
}

namespace tenon::models {

class LlamaAttention : public nn::ModuleOf<LlamaAttention> {
 public:
  LlamaAttention(const LlamaConfig& config, const std::shared_ptr<nn::RotaryEmbedding>& rotary, const Options& options);
  Tensor forward(const Tensor& x, nn::KvCache* cache) const;

  nn::Linear q_proj, k_proj, v_proj, o_proj;

 private:
  int64_t heads_, kv_heads_, head_width_;
  std::shared_ptr<nn::RotaryEmbedding> rotary_;  // one for all layers
};

/// SwiGLU (Shazeer, 2020).
class LlamaMlp : public nn::ModuleOf<LlamaMlp> {
 public:
  LlamaMlp(const LlamaConfig& config, const Options& options);
  Tensor forward(const Tensor& x) const;

  nn::Linear gate_proj, up_proj, down_proj;
};

class LlamaBlock : public nn::ModuleOf<LlamaBlock> {
 public:
  LlamaBlock(const LlamaConfig& config, const std::shared_ptr<nn::RotaryEmbedding>& rotary, const Options& options);
  Tensor forward(const Tensor& x, nn::KvCache* cache) const;

  nn::RMSNorm input_layernorm, post_attention_layernorm;
  LlamaAttention self_attn;
  LlamaMlp mlp;
};

/// The model without its head.
class LlamaTransformer : public nn::ModuleOf<LlamaTransformer> {
 public:
  LlamaTransformer(const LlamaConfig& config, const Options& options);
  Tensor forward(const Tensor& ids, std::vector<nn::KvCache>* caches) const;

  nn::Embedding embed_tokens;
  nn::ModuleList<LlamaBlock> layers;
  nn::RMSNorm norm;

 private:
  std::shared_ptr<nn::RotaryEmbedding> rotary_;
};

/// Llama, in any size.
///   models::Llama model({.vocabulary = 100, .width = 32, .layers = 2, .heads = 4, .inner = 64});
///   model(zeros({1, 8}, int64)).shape();  // (1, 8, 100)
class Llama : public CausalLm {
 public:
  /// Matrices start normal with deviation 0.02, norms as 1. Options give dtype and device of the parameters.
  explicit Llama(const LlamaConfig& config, const Options& options = {});

  /// From a folder as transformers writes it. A padded vocabulary is chosen here: files know none.
  static std::unique_ptr<Llama> load(const std::filesystem::path& folder, const Options& options = {},
                                     int64_t padded_vocabulary = 0);
  /// The same of an open folder, from which the caller reads more: io::require_unchanged_model() ends it.
  static std::unique_ptr<Llama> load(const io::OpenFolder& folder, const Options& options = {},
                                     int64_t padded_vocabulary = 0);
  /// From a "version 0" file of llama2.c, whose rotary pairs are neighbours.
  static std::unique_ptr<Llama> load_llama2c(const std::filesystem::path& file, const Options& options = {});
  /// What transformers and load() read; save() writes it.
  Files files() const override;
  /// Writes a "version 0" file of llama2.c. Fails where its program would compute something else than this model.
  void save_llama2c(const std::filesystem::path& file) const;

  /// Its sizes.
  const LlamaConfig& config() const { return config_; }

  LlamaTransformer model;             // the model without its head
  std::optional<nn::Linear> lm_head;  // none when tied

 private:
  Tensor states(const Tensor& ids, std::vector<nn::KvCache>* caches) const override;
  const Tensor& head_weight() const override { return lm_head ? lm_head->weight : model.embed_tokens.weight; }

  LlamaConfig config_;
};

}  // namespace tenon::models
