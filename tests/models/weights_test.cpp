// A config that says more than its weights is refused before it costs anything.

#include "tenon/models/weights.h"

#include <gtest/gtest.h>

#include "tenon/io/hugging_face.h"
#include "tenon/io/json.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"
#include "tenon/tensor/creation.h"
#include "tests/io/support.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;

class Sizes : public io::InFolder {
 protected:
  void SetUp() override {
    Gpt2Config small;
    small.vocabulary = 256;
    small.positions = 16;
    small.width = 24;
    small.layers = 2;
    small.heads = 3;
    Gpt2(small).save(path("gpt2"));
    LlamaConfig llama;
    llama.vocabulary = 256;
    llama.positions = 16;
    llama.width = 24;
    llama.layers = 2;
    llama.heads = 6;
    llama.kv_heads = 2;
    llama.inner = 40;
    Llama(llama).save(path("llama"));
  }

  /// What loading says when a key of the config is another.
  std::string with(const std::string& model, const std::string& key, int64_t value) {
    const fs::path file = path(model) / "config.json";
    const std::string before = io::content_of(file);
    auto json = io::parse_json("test", "config.json", before);
    json[key] = value;
    std::ofstream(file) << json.dump();
    const std::string text = text_of([&] {
      if (model == "gpt2")
        Gpt2::load(path(model));
      else
        Llama::load(path(model));
    });
    std::ofstream(file) << before;
    const std::string start = "[" + model + "] " + path(model).string() + ": ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  }
};

constexpr int64_t kHuge = (int64_t{1} << 31) - 2, kMostLayers = 1 << 16;  // as much as a config may say

TEST_F(Sizes, OfGpt2AreThoseOfItsWeights) {
  EXPECT_EQ(with("gpt2", "n_layer", 2), "nothing was thrown");
  EXPECT_EQ(with("gpt2", "n_layer", kMostLayers),
            "its config asks for transformer.h.2.ln_1.weight (24,), which is missing in the weights");
  EXPECT_EQ(with("gpt2", "vocab_size", 300),
            "its config asks for transformer.wte.weight (300, 24), but the weights have (256, 24)");
  EXPECT_EQ(with("gpt2", "n_positions", kHuge),
            "its config asks for transformer.wpe.weight (2147483646, 24), but the weights have (16, 24)");
  EXPECT_EQ(with("gpt2", "n_inner", kHuge),
            "its config asks for transformer.h.0.mlp.c_fc.weight (24, 2147483646), but the weights have (24, 96)");
  EXPECT_EQ(with("gpt2", "n_embd", kHuge * 2),
            "[gpt2] the width can be at most 2147483647, got 4294967292 (in " + path("gpt2").string() + ")");
}

TEST_F(Sizes, OfLlamaAreThoseOfItsWeights) {
  EXPECT_EQ(with("llama", "num_hidden_layers", 2), "nothing was thrown");
  EXPECT_EQ(with("llama", "num_hidden_layers", kMostLayers),
            "its config asks for model.layers.2.input_layernorm.weight (24,), which is missing in the weights");
  EXPECT_EQ(with("llama", "head_dim", kHuge),
            "its config asks for model.layers.0.self_attn.q_proj.weight (12884901876, 24), but the weights have (24, "
            "24)");
  EXPECT_EQ(with("llama", "vocab_size", 300),
            "its config asks for model.embed_tokens.weight (300, 24), but the weights have (256, 24)");
}

TEST_F(Sizes, PositionsOfLlamaAreFewEnoughForItsWeights) {
  EXPECT_EQ(with("llama", "max_position_embeddings", 131072), "nothing was thrown");
  EXPECT_TRUE(with("llama", "max_position_embeddings", kHuge)
                  .starts_with("max_position_embeddings 2147483646 would take a table of 8589934584 numbers"));
}

TEST_F(Sizes, ANumberBeyondCountingIsNoSize) {
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"n_layer": 18446744073709551615})"); }),
            "[gpt2] config.json: n_layer is 18446744073709551615, which is not of its type");
}

TEST_F(Sizes, ADeepConfigIsOneLine) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(text_of([&] { LlamaConfig::from_json("{\"rope_scaling\": " + deep + "}"); }),
            "[llama] config.json: nests deeper than 64 levels (at byte 81 of it)");
  EXPECT_EQ(text_of([&] { Gpt2Config::from_json("{\"n_layer\": " + deep + "}"); }),
            "[gpt2] config.json: nests deeper than 64 levels (at byte 76 of it)");
}

TEST(Tokens, ThatAModelLacksAreNull) {
  Gpt2Config config;
  config.start_token = config.end_token = -1;
  EXPECT_NE(config.to_json().find("\"eos_token_id\": null"), std::string::npos);
  EXPECT_EQ(Gpt2Config::from_json(config.to_json()).end_token, -1);
  EXPECT_EQ(Gpt2Config::from_json("{}").end_token, 50256);
}

}  // namespace
}  // namespace tenon::models
