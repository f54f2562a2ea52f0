// GPT-2 (Radford et al., 2019) in any size, with the parameter names and layouts of Hugging Face's transformers.
//
//   models::Gpt2 model(models::Gpt2Config::distilgpt2());
//   auto tuned = models::Gpt2::load("distilgpt2");  // config.json and model.safetensors
//   Tensor loss = tuned->loss(ids, targets);
//   tuned->save("tuned");

#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "tenon/models/causal_lm.h"
#include "tenon/models/gpt2_config.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"

namespace tenon::io {
class OpenFolder;
}

namespace tenon::models {

/// A Linear whose weight is (in, out): transformers keeps GPT-2's matrices so, under this name.
class Conv1D : public nn::Layer, public nn::Adaptable {
 public:
  Conv1D(int64_t in, int64_t out, bool has_bias, const Options& options);
  Tensor forward(const Tensor& x) const override;

  void adapt(const nn::LoraOptions& options) override;
  void merge() override;
  const nn::Lora* lora() const override { return lora_.get(); }

  Tensor weight, bias;  // no bias: undefined

 private:
  std::unique_ptr<nn::Lora> lora_;
};

class Gpt2Attention : public nn::ModuleOf<Gpt2Attention> {
 public:
  Gpt2Attention(const Gpt2Config& config, const Options& options);
  Tensor forward(const Tensor& x, nn::KvCache* cache) const;

  Conv1D c_attn, c_proj;  // queries, keys and values side by side; the way out

 private:
  int64_t heads_;
  double dropout_;
  bool causal_;
};

class Gpt2Mlp : public nn::ModuleOf<Gpt2Mlp> {
 public:
  Gpt2Mlp(const Gpt2Config& config, const Options& options);
  Tensor forward(const Tensor& x) const;

  Conv1D c_fc, c_proj;

 private:
  std::string activation_;
};

class Gpt2Block : public nn::ModuleOf<Gpt2Block> {
 public:
  Gpt2Block(const Gpt2Config& config, const Options& options);
  Tensor forward(const Tensor& x, nn::KvCache* cache) const;

  nn::LayerNorm ln_1, ln_2;
  Gpt2Attention attn;
  Gpt2Mlp mlp;

 private:
  nn::Dropout dropout_;
};

/// The model without its head.
class Gpt2Transformer : public nn::ModuleOf<Gpt2Transformer> {
 public:
  Gpt2Transformer(const Gpt2Config& config, const Options& options);
  Tensor forward(const Tensor& ids, std::vector<nn::KvCache>* caches) const;

  nn::Embedding wte, wpe;  // of tokens, of positions
  nn::ModuleList<Gpt2Block> h;
  nn::LayerNorm ln_f;

 private:
  nn::Dropout dropout_;
};

/// GPT-2, in any size.
///   models::Gpt2 model({.vocabulary = 100, .positions = 16, .width = 32, .layers = 2, .heads = 4});
///   model(zeros({1, 8}, int64)).shape();  // (1, 8, 100)
class Gpt2 : public CausalLm {
 public:
  /// With GPT-2's initial values. Options give dtype and device of the parameters.
  explicit Gpt2(const Gpt2Config& config, const Options& options = {});

  /// From a folder as transformers writes it. A padded vocabulary is chosen here: files know none. Dropout is the
  /// folder's unless given.
  static std::unique_ptr<Gpt2> load(const std::filesystem::path& folder, const Options& options = {},
                                    int64_t padded_vocabulary = 0, std::optional<double> dropout = {});
  /// The same of an open folder, from which the caller reads more: io::require_unchanged_model() ends it.
  static std::unique_ptr<Gpt2> load(const io::OpenFolder& folder, const Options& options = {},
                                    int64_t padded_vocabulary = 0, std::optional<double> dropout = {});
  /// What transformers and load() read; save() writes it.
  Files files() const override;

  /// Its sizes.
  const Gpt2Config& config() const { return config_; }

  Gpt2Transformer transformer;        // the model without its head
  std::optional<nn::Linear> lm_head;  // none when tied

 private:
  Tensor states(const Tensor& ids, std::vector<nn::KvCache>* caches) const override;
  const Tensor& head_weight() const override { return lm_head ? lm_head->weight : transformer.wte.weight; }

  Gpt2Config config_;
};

}  // namespace tenon::models
