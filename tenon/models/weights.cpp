// The names and shapes of all models, in the order of their layers: a count of layers that is too large ends at the
// first one that is not there.

#include "tenon/models/weights.h"

#include "tenon/base/error.h"

namespace tenon::models {
namespace {

using base::fail;

class Wanted {
 public:
  Wanted(std::string_view type, const std::string& where, const FindShape& find)
      : type_(type), where_(where), find_(find) {}

  void weight(const std::string& name, const Dims& shape) {
    const Dims* found = find_(name);
    if (!found)
      fail(type_, "{}: its config asks for {} {}, which is missing in the weights", where_, name, ir::to_string(shape));
    if (*found != shape)
      fail(type_, "{}: its config asks for {} {}, but the weights have {}", where_, name, ir::to_string(shape),
           ir::to_string(*found));
    numbers_ += ir::count(shape);
  }
  /// A product that is left out where it has no bias.
  void linear(const std::string& name, const Dims& shape, int64_t bias) {
    weight(name + ".weight", shape);
    if (bias > 0) weight(name + ".bias", {bias});
  }
  int64_t numbers() const { return numbers_; }

 private:
  std::string_view type_;
  const std::string& where_;
  const FindShape& find_;
  int64_t numbers_ = 0;
};

}  // namespace

FindShape shapes_of(const nn::StateDict& state) {
  return [&state, shape = Dims()](const std::string& name) mutable -> const Dims* {
    const auto found = state.find(name);
    if (found == state.end()) return nullptr;
    shape = found->second.shape();
    return &shape;
  };
}

void require_weights(const Gpt2Config& config, int64_t rows, const std::string& where, const FindShape& find) {
  const int64_t width = config.width, inner = config.inner_width();
  const auto bias = [&](int64_t size) { return config.bias ? size : 0; };
  Wanted wanted("gpt2", where, find);
  wanted.weight("transformer.wte.weight", {rows, width});
  wanted.weight("transformer.wpe.weight", {config.positions, width});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string layer = fmt::format("transformer.h.{}.", i);
    wanted.linear(layer + "ln_1", {width}, bias(width));
    wanted.linear(layer + "attn.c_attn", {width, 3 * width}, bias(3 * width));
    wanted.linear(layer + "attn.c_proj", {width, width}, bias(width));
    wanted.linear(layer + "ln_2", {width}, bias(width));
    wanted.linear(layer + "mlp.c_fc", {width, inner}, bias(inner));
    wanted.linear(layer + "mlp.c_proj", {inner, width}, bias(width));
  }
  wanted.linear("transformer.ln_f", {width}, bias(width));
  if (!config.tied_head) wanted.weight("lm_head.weight", {rows, width});
}

void require_weights(const LlamaConfig& config, int64_t rows, const std::string& where, const FindShape& find) {
  const int64_t width = config.width, inner = config.inner, queries = config.heads * config.width_of_head(),
                keys = config.kv_head_count() * config.width_of_head();
  const auto attention_bias = [&](int64_t size) { return config.attention_bias ? size : 0; };
  const auto mlp_bias = [&](int64_t size) { return config.mlp_bias ? size : 0; };
  Wanted wanted("llama", where, find);
  wanted.weight("model.embed_tokens.weight", {rows, width});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    wanted.weight(layer + "input_layernorm.weight", {width});
    wanted.linear(layer + "self_attn.q_proj", {queries, width}, attention_bias(queries));
    wanted.linear(layer + "self_attn.k_proj", {keys, width}, attention_bias(keys));
    wanted.linear(layer + "self_attn.v_proj", {keys, width}, attention_bias(keys));
    wanted.linear(layer + "self_attn.o_proj", {width, queries}, attention_bias(width));
    wanted.weight(layer + "post_attention_layernorm.weight", {width});
    wanted.linear(layer + "mlp.gate_proj", {inner, width}, mlp_bias(inner));
    wanted.linear(layer + "mlp.up_proj", {inner, width}, mlp_bias(inner));
    wanted.linear(layer + "mlp.down_proj", {width, inner}, mlp_bias(width));
  }
  wanted.weight("model.norm.weight", {width});
  if (!config.tied_head) wanted.weight("lm_head.weight", {rows, width});

  // No weight tells how long a sequence may be, but the table of angles grows with it: a small model may have 64 MB of
  // it (a million positions of 16), a large one as much again as its weights.
  constexpr int64_t kSmall = (int64_t{64} << 20) / 4;
  const int64_t angles = config.positions * config.width_of_head(), most = kSmall + wanted.numbers();
  if (angles > most)
    fail("llama",
         "{}: max_position_embeddings {} would take a table of {} numbers for a model of {}; lower it in config.json",
         where, config.positions, angles, wanted.numbers());
}

void require_weights(const BertConfig& config, const std::string& where, const FindShape& find) {
  const int64_t width = config.width, inner = config.inner;
  Wanted wanted("bert", where, find);
  wanted.weight("bert.embeddings.word_embeddings.weight", {config.vocabulary, width});
  wanted.weight("bert.embeddings.position_embeddings.weight", {config.positions, width});
  wanted.weight("bert.embeddings.token_type_embeddings.weight", {config.types, width});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", i);
    for (const char* name :
         {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"})
      wanted.linear(layer + name, {width, width}, width);
    wanted.linear(layer + "intermediate.dense", {inner, width}, inner);
    wanted.linear(layer + "output.dense", {width, inner}, width);
  }
}

}  // namespace tenon::models
