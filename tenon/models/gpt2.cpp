// The arithmetic of GPT-2, arranged so that the planner's counts hold: one product for queries, keys and values, views
// of its result into attention, one conversion of it under autocast.

#include "tenon/models/gpt2.h"

#include <cmath>

#include "tenon/io/hugging_face.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/lora.h"
#include "tenon/models/weights.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

using base::fail;

const Gpt2Config& checked(const Gpt2Config& config) {
  config.check();
  return config;
}

Tensor activated(const Tensor& x, const std::string& activation) {
  if (activation == "gelu_new") return gelu(x, "tanh");
  if (activation == "gelu") return gelu(x);
  return activation == "relu" ? relu(x) : silu(x);
}

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

// transformers' GPT-2 has biases everywhere; as zeros they change nothing.
void add_zero_biases(nn::StateDict& state) {
  std::vector<std::string> weights;
  for (const auto& [name, tensor] : state) {
    if (name.ends_with(".weight") && !name.ends_with("wte.weight") && !name.ends_with("wpe.weight") &&
        name != "lm_head.weight")
      weights.push_back(name);
  }
  for (const std::string& name : weights) {
    const Tensor& weight = state.at(name);
    const std::string bias = name.substr(0, name.size() - std::string_view("weight").size()) + "bias";
    state[bias] = zeros({weight.size(-1)}, Options(weight.dtype(), weight.device()));
  }
}

}  // namespace

Conv1D::Conv1D(int64_t in, int64_t out, bool has_bias, const Options& options) {
  weight = empty({in, out}, options);
  register_parameter("weight", weight);
  if (has_bias) bias = empty({out}, options);
  register_parameter("bias", bias);
}

Tensor Conv1D::forward(const Tensor& x) const {
  const Tensor y = nn::affine(x, weight, bias);
  return lora_ ? y + (*lora_)(x) : y;
}

void Conv1D::adapt(const nn::LoraOptions& options) {
  if (lora_) fail("lora", "{} has a correction already; merge() it first", scope_name());
  lora_ = std::make_unique<nn::Lora>(weight.size(0), weight.size(1), options, Options(weight.dtype(), weight.device()));
  lora_->train(is_training());
  register_module("lora", *lora_);
}

void Conv1D::merge() {
  if (!lora_) return;
  const NoGrad merging;
  weight.add_(lora_->delta());
  remove_module("lora");
  lora_.reset();
}

Gpt2Attention::Gpt2Attention(const Gpt2Config& config, const Options& options)
    : c_attn(config.width, 3 * config.width, config.bias, options),
      c_proj(config.width, config.width, config.bias, options),
      heads_(config.heads),
      dropout_(config.attention_dropout),
      causal_(config.causal) {
  register_module("c_attn", c_attn);
  register_module("c_proj", c_proj);
}

Tensor Gpt2Attention::forward(const Tensor& x, nn::KvCache* cache) const {
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  const Tensor qkv = c_attn(x).reshape({batch, time, 3, heads_, width / heads_});
  const auto part = [&](int64_t i) { return qkv.select(2, i).permute({0, 2, 1, 3}); };
  Tensor keys = part(1), values = part(2);
  nn::AttentionOptions options;
  options.dropout = is_training() ? dropout_ : 0;
  if (cache) {
    cache->append(qkv.narrow(2, 1, 2));
    keys = cache->keys().to(qkv.dtype());
    values = cache->values().to(qkv.dtype());
    options.mask = cache->mask(time);
  } else {
    options.causal = causal_;
  }
  const Tensor y = nn::scaled_dot_product_attention(part(0), keys, values, options);
  return c_proj(y.permute({0, 2, 1, 3}).reshape({batch, time, width}));
}

Gpt2Mlp::Gpt2Mlp(const Gpt2Config& config, const Options& options)
    : c_fc(config.width, config.inner_width(), config.bias, options),
      c_proj(config.inner_width(), config.width, config.bias, options),
      activation_(config.activation) {
  register_module("c_fc", c_fc);
  register_module("c_proj", c_proj);
}

Tensor Gpt2Mlp::forward(const Tensor& x) const { return c_proj(activated(c_fc(x), activation_)); }

Gpt2Block::Gpt2Block(const Gpt2Config& config, const Options& options)
    : ln_1(config.width, config.norm_eps, true, config.bias, options),
      ln_2(config.width, config.norm_eps, true, config.bias, options),
      attn(config, options),
      mlp(config, options),
      dropout_(config.residual_dropout) {
  register_module("ln_1", ln_1);
  register_module("attn", attn);
  register_module("ln_2", ln_2);
  register_module("mlp", mlp);
  register_module("dropout", dropout_);
}

Tensor Gpt2Block::forward(const Tensor& x, nn::KvCache* cache) const {
  const Tensor y = x + dropout_(attn(ln_1(x), cache));
  return y + dropout_(mlp(ln_2(y)));
}

Gpt2Transformer::Gpt2Transformer(const Gpt2Config& config, const Options& options)
    : wte(config.rows(), config.width, {}, options),
      wpe(config.positions, config.width, {}, options),
      ln_f(config.width, config.norm_eps, true, config.bias, options),
      dropout_(config.embedding_dropout) {
  for (int64_t i = 0; i < config.layers; ++i) h.emplace(config, options);
  register_module("wte", wte);
  register_module("wpe", wpe);
  register_module("h", h);
  register_module("ln_f", ln_f);
  register_module("dropout", dropout_);
}

Tensor Gpt2Transformer::forward(const Tensor& ids, std::vector<nn::KvCache>* caches) const {
  const int64_t time = ids.size(1);
  const Tensor positions = caches ? wpe(caches->front().positions(time)) : wpe.weight.narrow(0, 0, time);
  Tensor x = dropout_(wte(ids) + positions);
  for (size_t i = 0; i < h.size(); ++i) x = h[i](x, caches ? &(*caches)[i] : nullptr);
  return ln_f(x);
}

Gpt2::Gpt2(const Gpt2Config& config, const Options& options)
    : CausalLm({config.vocabulary, config.positions, config.layers, config.heads,
                config.width / std::max<int64_t>(1, config.heads), config.causal}),
      transformer(checked(config), options),
      config_(config) {
  register_module("transformer", transformer);
  if (!config.tied_head) register_module("lm_head", lm_head.emplace(config.width, config.rows(), false, options));
  nn::init::gpt2_(*this, config.layers, {"c_proj"});
}

Tensor Gpt2::states(const Tensor& ids, std::vector<nn::KvCache>* caches) const { return transformer(ids, caches); }

// Files differ: those of the model without head lack the prefix, old ones hold the causal masks, and some hold the head
// again although it is tied.
std::unique_ptr<Gpt2> Gpt2::load(const std::filesystem::path& folder, const Options& options, int64_t padded_vocabulary,
                                 std::optional<double> dropout) {
  const io::OpenFolder open("hugging_face", folder);
  std::unique_ptr<Gpt2> model = load(open, options, padded_vocabulary, dropout);
  io::require_unchanged_model(open);
  return model;
}

std::unique_ptr<Gpt2> Gpt2::load(const io::OpenFolder& open, const Options& options, int64_t padded_vocabulary,
                                 std::optional<double> dropout) {
  const std::filesystem::path& folder = open.path();
  const io::HuggingFaceFolder files = io::load_folder(open, options.device);
  Gpt2Config config = [&] {
    const base::Scope scope(folder.string());  // messages name the folder
    return Gpt2Config::from_json(files.config);
  }();
  config.padded_vocabulary = padded_vocabulary;
  if (dropout) config.set_dropout(*dropout);
  const DType dtype = options.dtype.value_or(DType::f32);
  nn::StateDict state;
  for (const auto& [given, tensor] : files.tensors) {
    const bool is_head = given == "lm_head.weight";
    if (ends_with_any(given, {".attn.bias", ".attn.masked_bias"}) || (is_head && config.tied_head)) continue;
    state[is_head || given.starts_with("transformer.") ? given : "transformer." + given] = tensor;
  }
  require_weights(config, config.vocabulary, folder.string(), shapes_of(state));
  for (auto& [name, tensor] : state) {
    const bool has_rows = name == "lm_head.weight" || name == "transformer.wte.weight";
    tensor = has_rows ? padded_rows(tensor.to(dtype), config.rows()) : tensor.to(dtype);
  }
  auto model = std::make_unique<Gpt2>(config, options);
  const base::Scope scope(folder.string());
  model->load_state_dict(state, true, true);
  return model;
}

CausalLm::Files Gpt2::files() const {
  const NoGrad reading;
  require_merged(*this);
  nn::StateDict state = state_dict();
  for (auto& [name, tensor] : state) {
    if (name == "transformer.wte.weight" || name == "lm_head.weight") tensor = tensor.narrow(0, 0, config_.vocabulary);
  }
  if (!config_.bias) add_zero_biases(state);
  return {config_.to_json(), std::move(state)};
}

}  // namespace tenon::models
