// The four sizes of Radford et al. (2019), the distilled one, and config.json.

#include "tenon/models/gpt2_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/models/json_config.h"

namespace tenon::models {
namespace {

using base::fail;

nlohmann::json token_json(int64_t token) { return token < 0 ? nlohmann::json() : nlohmann::json(token); }

Gpt2Config sized(int64_t width, int64_t layers, int64_t heads) {
  Gpt2Config config;
  config.width = width;
  config.layers = layers;
  config.heads = heads;
  return config;
}

}  // namespace

Gpt2Config Gpt2Config::distilgpt2() { return sized(768, 6, 12); }
Gpt2Config Gpt2Config::gpt2() { return sized(768, 12, 12); }
Gpt2Config Gpt2Config::gpt2_medium() { return sized(1024, 24, 16); }
Gpt2Config Gpt2Config::gpt2_large() { return sized(1280, 36, 20); }
Gpt2Config Gpt2Config::gpt2_xl() { return sized(1600, 48, 25); }

Gpt2Config& Gpt2Config::set_dropout(double p) {
  embedding_dropout = residual_dropout = attention_dropout = p;
  return *this;
}

void Gpt2Config::check() const {
  for (const int64_t size : {vocabulary, positions, width, layers, heads}) {
    if (size <= 0) fail("gpt2", "vocabulary, positions, width, layers and heads must be positive, one is {}", size);
  }
  require_sizes("gpt2", {{"vocabulary", vocabulary},
                         {"padded vocabulary", padded_vocabulary},
                         {"positions", positions},
                         {"width", width},
                         {"heads", heads},
                         {"inner width", inner}});
  require_layers("gpt2", layers);
  if (width % heads != 0) fail("gpt2", "a width of {} cannot be divided among {} heads", width, heads);
  if (inner < 0) fail("gpt2", "the inner width cannot be negative, got {}", inner);
  if (padded_vocabulary != 0 && padded_vocabulary < vocabulary)
    fail("gpt2", "a vocabulary of {} does not fit {} padded rows", vocabulary, padded_vocabulary);
  for (const double p : {embedding_dropout, residual_dropout, attention_dropout}) {
    if (!(p >= 0 && p < 1)) fail("gpt2", "dropout must lie in 0..1, got {}", p);
  }
  if (!(norm_eps >= 0)) fail("gpt2", "eps cannot be negative, got {}", norm_eps);
  static const std::string known[] = {"gelu_new", "gelu", "relu", "silu"};
  if (std::find(std::begin(known), std::end(known), activation) == std::end(known))
    fail("gpt2", "activation {} is not known; there are {}", activation, fmt::join(known, ", "));
}

Gpt2Config Gpt2Config::from_json(const std::string& text) {
  const JsonConfig json(text, "gpt2");
  Gpt2Config config;
  json.read("vocab_size", config.vocabulary);
  json.read("n_positions", config.positions);
  json.read("n_embd", config.width);
  json.read("n_layer", config.layers);
  json.read("n_head", config.heads);
  json.read("n_inner", config.inner);
  json.read("embd_pdrop", config.embedding_dropout);
  json.read("resid_pdrop", config.residual_dropout);
  json.read("attn_pdrop", config.attention_dropout);
  json.read("layer_norm_epsilon", config.norm_eps);
  json.read("activation_function", config.activation);
  json.read("tie_word_embeddings", config.tied_head);
  json.read("tenon_causal", config.causal);
  json.read_token("bos_token_id", config.start_token);
  json.read_token("eos_token_id", config.end_token);
  json.require("scale_attn_weights", true);
  json.require("scale_attn_by_inverse_layer_idx", false);
  json.require("add_cross_attention", false);
  config.check();
  return config;
}

std::string Gpt2Config::to_json() const {
  nlohmann::ordered_json json = {{"architectures", {"GPT2LMHeadModel"}},
                                 {"model_type", "gpt2"},
                                 {"vocab_size", vocabulary},
                                 {"n_positions", positions},
                                 {"n_embd", width},
                                 {"n_layer", layers},
                                 {"n_head", heads},
                                 {"n_inner", nullptr},
                                 {"embd_pdrop", embedding_dropout},
                                 {"resid_pdrop", residual_dropout},
                                 {"attn_pdrop", attention_dropout},
                                 {"layer_norm_epsilon", norm_eps},
                                 {"activation_function", activation},
                                 {"tie_word_embeddings", tied_head},
                                 {"bos_token_id", token_json(start_token)},
                                 {"eos_token_id", token_json(end_token)}};
  if (inner > 0) json["n_inner"] = inner;
  if (!causal) json["tenon_causal"] = false;
  return json.dump(2) + "\n";
}

}  // namespace tenon::models
