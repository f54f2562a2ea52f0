// Sizes of published models, and config.json in the spellings of transformers before and after version 5.

#include "tenon/models/llama_config.h"

#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/models/json_config.h"

namespace tenon::models {

using base::fail;

namespace {
nlohmann::json token_json(int64_t token) { return token < 0 ? nlohmann::json() : nlohmann::json(token); }
}  // namespace

LlamaConfig LlamaConfig::tiny_llama() {
  LlamaConfig config;
  config.width = 2048;
  config.layers = 22;
  config.kv_heads = 4;
  config.inner = 5632;
  config.norm_eps = 1e-5;
  return config;
}

LlamaConfig LlamaConfig::llama2_7b() {
  LlamaConfig config;
  config.positions = 4096;
  config.norm_eps = 1e-5;
  return config;
}

void LlamaConfig::check() const {
  for (const int64_t size : {vocabulary, positions, width, layers, heads, inner}) {
    if (size <= 0)
      fail("llama", "vocabulary, positions, width, layers, heads and inner width must be positive, one is {}", size);
  }
  require_sizes("llama", {{"vocabulary", vocabulary},
                          {"padded vocabulary", padded_vocabulary},
                          {"positions", positions},
                          {"width", width},
                          {"heads", heads},
                          {"key/value heads", kv_heads},
                          {"head width", head_width},
                          {"inner width", inner}});
  require_layers("llama", layers);
  if (head_width < 0 || (head_width == 0 && width % heads != 0))
    fail("llama", "a width of {} cannot be divided among {} heads", width, heads);
  if (width_of_head() % 2 != 0) fail("llama", "heads of odd width {} cannot be turned in pairs", width_of_head());
  if (kv_heads < 0 || heads % kv_head_count() != 0)
    fail("llama", "{} heads cannot share {} key/value heads evenly", heads, kv_heads);
  if (padded_vocabulary != 0 && padded_vocabulary < vocabulary)
    fail("llama", "a vocabulary of {} does not fit {} padded rows", vocabulary, padded_vocabulary);
  if (!(norm_eps >= 0)) fail("llama", "eps cannot be negative, got {}", norm_eps);
  if (!(rotary_theta > 0)) fail("llama", "the rotary theta must be positive, got {}", rotary_theta);
}

LlamaConfig LlamaConfig::from_json(const std::string& text) {
  const JsonConfig json(text, "llama");
  LlamaConfig config;
  json.read("vocab_size", config.vocabulary);
  json.read("max_position_embeddings", config.positions);
  json.read("hidden_size", config.width);
  json.read("num_hidden_layers", config.layers);
  json.read("num_attention_heads", config.heads);
  json.read("num_key_value_heads", config.kv_heads);
  json.read("head_dim", config.head_width);
  json.read("intermediate_size", config.inner);
  json.read("rms_norm_eps", config.norm_eps);
  json.read("attention_bias", config.attention_bias);
  json.read("mlp_bias", config.mlp_bias);
  json.read("tie_word_embeddings", config.tied_head);
  json.read_token("bos_token_id", config.start_token);
  json.read_token("eos_token_id", config.end_token);
  json.require("hidden_act", "silu");
  json.read("rope_theta", config.rotary_theta);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {  // before version 5, since version 5
    const JsonConfig rope = json.part(key);
    rope.require("rope_type", "default");
    rope.require("type", "default");
    rope.read("rope_theta", config.rotary_theta);
  }
  config.check();
  return config;
}

// rope_theta stands twice, for readers of either version.
std::string LlamaConfig::to_json() const {
  const nlohmann::ordered_json json = {{"architectures", {"LlamaForCausalLM"}},
                                       {"model_type", "llama"},
                                       {"vocab_size", vocabulary},
                                       {"max_position_embeddings", positions},
                                       {"hidden_size", width},
                                       {"num_hidden_layers", layers},
                                       {"num_attention_heads", heads},
                                       {"num_key_value_heads", kv_head_count()},
                                       {"head_dim", width_of_head()},
                                       {"intermediate_size", inner},
                                       {"hidden_act", "silu"},
                                       {"rms_norm_eps", norm_eps},
                                       {"rope_theta", rotary_theta},
                                       {"rope_parameters", {{"rope_theta", rotary_theta}, {"rope_type", "default"}}},
                                       {"attention_bias", attention_bias},
                                       {"mlp_bias", mlp_bias},
                                       {"tie_word_embeddings", tied_head},
                                       {"bos_token_id", token_json(start_token)},
                                       {"eos_token_id", token_json(end_token)}};
  return json.dump(2) + "\n";
}

}  // namespace tenon::models
