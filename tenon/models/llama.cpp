// The arithmetic of Llama and the two kinds of files it comes in.

#include "tenon/models/llama.h"

#include <algorithm>

#include "tenon/io/hugging_face.h"
#include "tenon/io/llama2c.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/lora.h"
#include "tenon/models/weights.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

const LlamaConfig& checked(const LlamaConfig& config) {
  config.check();
  return config;
}

bool has_vocabulary_rows(const std::string& name) {
  return name == "model.embed_tokens.weight" || name == "lm_head.weight";
}

// Rows of a projection (heads * width, ...) so that pairs of neighbours become pairs of halves.
Tensor neighbours_to_halves(const Tensor& rows, int64_t heads) {
  const int64_t pairs = rows.size(0) / heads / 2;
  const int64_t columns = rows.dim() == 2 ? rows.size(1) : 1;
  return rows.reshape({heads, pairs, 2, columns}).transpose(1, 2).reshape(rows.shape());
}

Tensor halves_to_neighbours(const Tensor& rows, int64_t heads) {
  const int64_t pairs = rows.size(0) / heads / 2;
  return rows.reshape({heads, 2, pairs, rows.size(1)}).transpose(1, 2).reshape(rows.shape());
}

// llama2.c has these in its code, not in its files.
constexpr double kLlama2cEps = 1e-5, kLlama2cTheta = 10000;

// llama2.c's name of a parameter in ours.
std::string name_from_llama2c(const std::string& name) {
  static const std::pair<std::string_view, std::string_view> kNames[] = {
      {"attention.wq", "self_attn.q_proj"},     {"attention.wk", "self_attn.k_proj"},
      {"attention.wv", "self_attn.v_proj"},     {"attention.wo", "self_attn.o_proj"},
      {"feed_forward.w1", "mlp.gate_proj"},     {"feed_forward.w2", "mlp.down_proj"},
      {"feed_forward.w3", "mlp.up_proj"},       {"attention_norm", "input_layernorm"},
      {"ffn_norm", "post_attention_layernorm"}, {"tok_embeddings", "embed_tokens"}};
  if (name == "output.weight") return "lm_head.weight";
  std::string ours = "model." + name;
  for (const auto& [theirs, spelled] : kNames) {
    const size_t at = ours.find(theirs);
    if (at != std::string::npos) return ours.replace(at, theirs.size(), spelled);
  }
  return ours;
}

}  // namespace

LlamaAttention::LlamaAttention(const LlamaConfig& config, const std::shared_ptr<nn::RotaryEmbedding>& rotary,
                               const Options& options)
    : q_proj(config.width, config.heads * config.width_of_head(), config.attention_bias, options),
      k_proj(config.width, config.kv_head_count() * config.width_of_head(), config.attention_bias, options),
      v_proj(config.width, config.kv_head_count() * config.width_of_head(), config.attention_bias, options),
      o_proj(config.heads * config.width_of_head(), config.width, config.attention_bias, options),
      heads_(config.heads),
      kv_heads_(config.kv_head_count()),
      head_width_(config.width_of_head()),
      rotary_(rotary) {
  register_module("q_proj", q_proj);
  register_module("k_proj", k_proj);
  register_module("v_proj", v_proj);
  register_module("o_proj", o_proj);
}

Tensor LlamaAttention::forward(const Tensor& x, nn::KvCache* cache) const {
  const int64_t batch = x.size(0), time = x.size(1);
  const auto divided = [&](const Tensor& projected, int64_t heads) {
    return projected.reshape({batch, time, heads, head_width_}).transpose(1, 2);
  };
  Tensor q = divided(q_proj(x), heads_), k = divided(k_proj(x), kv_heads_), v = divided(v_proj(x), kv_heads_);
  nn::AttentionOptions options;
  options.gqa = kv_heads_ != heads_;
  if (cache) {
    const Tensor positions = cache->positions(time);
    q = rotary_->apply(q, positions);
    cache->append(rotary_->apply(k, positions), v);
    k = cache->keys().to(q.dtype());
    v = cache->values().to(q.dtype());
    options.mask = cache->mask(time);
  } else {
    q = rotary_->apply(q);
    k = rotary_->apply(k);
    options.causal = true;
  }
  const Tensor y = nn::scaled_dot_product_attention(q, k, v, options);
  return o_proj(y.transpose(1, 2).reshape({batch, time, heads_ * head_width_}));
}

LlamaMlp::LlamaMlp(const LlamaConfig& config, const Options& options)
    : gate_proj(config.width, config.inner, config.mlp_bias, options),
      up_proj(config.width, config.inner, config.mlp_bias, options),
      down_proj(config.inner, config.width, config.mlp_bias, options) {
  register_module("gate_proj", gate_proj);
  register_module("up_proj", up_proj);
  register_module("down_proj", down_proj);
}

Tensor LlamaMlp::forward(const Tensor& x) const { return down_proj(silu(gate_proj(x)) * up_proj(x)); }

LlamaBlock::LlamaBlock(const LlamaConfig& config, const std::shared_ptr<nn::RotaryEmbedding>& rotary,
                       const Options& options)
    : input_layernorm(config.width, config.norm_eps, true, options),
      post_attention_layernorm(config.width, config.norm_eps, true, options),
      self_attn(config, rotary, options),
      mlp(config, options) {
  register_module("self_attn", self_attn);
  register_module("mlp", mlp);
  register_module("input_layernorm", input_layernorm);
  register_module("post_attention_layernorm", post_attention_layernorm);
}

Tensor LlamaBlock::forward(const Tensor& x, nn::KvCache* cache) const {
  const Tensor y = x + self_attn(input_layernorm(x), cache);
  return y + mlp(post_attention_layernorm(y));
}

LlamaTransformer::LlamaTransformer(const LlamaConfig& config, const Options& options)
    : embed_tokens(config.rows(), config.width, {}, options),
      norm(config.width, config.norm_eps, true, options),
      rotary_(std::make_shared<nn::RotaryEmbedding>(config.width_of_head(), config.positions, config.rotary_theta,
                                                    config.rotary_layout, options.device)) {
  for (int64_t i = 0; i < config.layers; ++i) layers.emplace(config, rotary_, options);
  register_module("embed_tokens", embed_tokens);
  register_module("layers", layers);
  register_module("norm", norm);
  register_module("rotary", *rotary_);
}

Tensor LlamaTransformer::forward(const Tensor& ids, std::vector<nn::KvCache>* caches) const {
  Tensor x = embed_tokens(ids);
  for (size_t i = 0; i < layers.size(); ++i) x = layers[i](x, caches ? &(*caches)[i] : nullptr);
  return norm(x);
}

Llama::Llama(const LlamaConfig& config, const Options& options)
    : CausalLm({config.vocabulary, config.positions, config.layers, config.kv_head_count(), config.width_of_head()}),
      model(checked(config), options),
      config_(config) {
  register_module("model", model);
  if (!config.tied_head) register_module("lm_head", lm_head.emplace(config.width, config.rows(), false, options));
  nn::init::gpt2_(*this, config.layers, {});
}

Tensor Llama::states(const Tensor& ids, std::vector<nn::KvCache>* caches) const { return model(ids, caches); }

std::unique_ptr<Llama> Llama::load(const std::filesystem::path& folder, const Options& options,
                                   int64_t padded_vocabulary) {
  const io::OpenFolder open("hugging_face", folder);
  std::unique_ptr<Llama> model = load(open, options, padded_vocabulary);
  io::require_unchanged_model(open);
  return model;
}

std::unique_ptr<Llama> Llama::load(const io::OpenFolder& open, const Options& options, int64_t padded_vocabulary) {
  const std::filesystem::path& folder = open.path();
  const io::HuggingFaceFolder files = io::load_folder(open, options.device);
  LlamaConfig config = [&] {
    const base::Scope scope(folder.string());  // messages name the folder
    return LlamaConfig::from_json(files.config);
  }();
  config.padded_vocabulary = padded_vocabulary;
  nn::StateDict state;
  for (const auto& [given, tensor] : files.tensors) {
    const bool is_head = given == "lm_head.weight";
    if (given.ends_with(".rotary_emb.inv_freq") || (is_head && config.tied_head)) continue;
    state[is_head || given.starts_with("model.") ? given : "model." + given] = tensor;
  }
  require_weights(config, config.vocabulary, folder.string(), shapes_of(state));
  for (auto& [name, tensor] : state) {
    const Tensor converted = tensor.to(options.dtype.value_or(DType::f32));
    tensor = has_vocabulary_rows(name) ? padded_rows(converted, config.rows()) : converted;
  }
  auto made = std::make_unique<Llama>(config, options);
  const base::Scope scope(folder.string());
  made->load_state_dict(state, true, true);
  return made;
}

std::unique_ptr<Llama> Llama::load_llama2c(const std::filesystem::path& file, const Options& options) {
  const io::Llama2cModel given = io::load_llama2c(file, options.device);
  LlamaConfig config;
  config.vocabulary = given.config.vocab_size;
  config.positions = given.config.max_seq_len;
  config.width = given.config.dim;
  config.layers = given.config.n_layers;
  config.heads = given.config.n_heads;
  config.kv_heads = given.config.n_kv_heads;
  config.inner = given.config.hidden_dim;
  config.norm_eps = kLlama2cEps;
  config.rotary_theta = kLlama2cTheta;
  config.rotary_layout = nn::RotaryLayout::interleaved;
  config.tied_head = given.config.shared_classifier;
  auto made = std::make_unique<Llama>(config, options);
  nn::StateDict state;
  for (const auto& [name, tensor] : given.tensors)
    state[name_from_llama2c(name)] = tensor.to(options.dtype.value_or(DType::f32));
  const base::Scope scope(file.string());
  made->load_state_dict(state, true, true);
  return made;
}

// Transformers knows halves only: turning pairs of permuted rows gives permuted results, and the product of queries and
// keys does not see the order.
CausalLm::Files Llama::files() const {
  const NoGrad reading;
  require_merged(*this);
  nn::StateDict state = state_dict();
  const bool permutes = config_.rotary_layout == nn::RotaryLayout::interleaved;
  for (auto& [name, tensor] : state) {
    const bool is_query = name.find(".q_proj.") != std::string::npos;
    if (permutes && (is_query || name.find(".k_proj.") != std::string::npos))
      tensor = neighbours_to_halves(tensor, is_query ? config_.heads : config_.kv_head_count());
    if (has_vocabulary_rows(name)) tensor = tensor.narrow(0, 0, config_.vocabulary);
  }
  return {config_.to_json(), std::move(state)};
}

void Llama::save_llama2c(const std::filesystem::path& file) const {
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) base::fail("llama2c", "{}: llama2.c knows no model with {}", file.string(), what);
  };
  require(config_.norm_eps == kLlama2cEps, "another eps than 1e-5");
  require(config_.rotary_theta == kLlama2cTheta, "another rotary theta than 10000");
  require(!config_.attention_bias && !config_.mlp_bias, "biases");
  require(config_.width_of_head() * config_.heads == config_.width, "heads of their own width");
  const NoGrad reading;
  const nn::StateDict state = state_dict();
  io::Llama2cModel given;
  given.config = {config_.width,           config_.inner,      config_.layers,    config_.heads,
                  config_.kv_head_count(), config_.vocabulary, config_.positions, config_.tied_head};
  const bool permutes = config_.rotary_layout == nn::RotaryLayout::halves;
  io::for_each_part(given.config, [&](const std::string& name, const std::vector<uint64_t>&) {
    if (io::is_computed(name)) return;
    const std::string ours = name_from_llama2c(name);
    Tensor tensor = state.at(ours);
    if (has_vocabulary_rows(ours)) tensor = tensor.narrow(0, 0, config_.vocabulary);
    const bool is_query = ours.find(".q_proj.") != std::string::npos;
    if (permutes && (is_query || ours.find(".k_proj.") != std::string::npos))
      tensor = halves_to_neighbours(tensor, is_query ? config_.heads : config_.kv_head_count());
    given.tensors.emplace(name, tensor);
  });
  io::save_llama2c(file, given);
}

}  // namespace tenon::models
