// Llama: a published model from a file of llama2.c, and the same through a Hugging Face folder.

#include "tenon/models/llama.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/error_text.h"
#include "tests/golden_model.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;

LlamaConfig tiny() {
  LlamaConfig config;
  config.vocabulary = 61;
  config.positions = 16;
  config.width = 24;
  config.layers = 2;
  config.heads = 6;
  config.kv_heads = 2;
  config.inner = 40;
  return config;
}

Tensor ids() { return from_vector(std::vector<int64_t>{1, 5, 60, 7, 0, 2, 2, 9}, {2, 4}); }

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("tenon_llama_" + name);
  fs::remove_all(folder);
  return folder;
}

struct Stories {
  fs::path folder = testing::shared_folder(TENON_SOURCE_DIR) / "data" / "stories260K";
  nlohmann::json golden;
  std::vector<int64_t> tokens;

  bool is_there() {
    if (!exists(folder / "golden_greedy.json")) return false;
    std::ifstream file(folder / "golden_greedy.json");
    golden = nlohmann::json::parse(file);
    golden.at("tokens").get_to(tokens);
    return true;
  }
  std::unique_ptr<Llama> model() const { return Llama::load_llama2c(folder / "stories260K.bin"); }
};

void expect_golden_nll(const Llama& model, const Stories& stories) {
  const auto count = static_cast<int64_t>(stories.tokens.size());
  const Tensor all = from_vector(stories.tokens, {1, count});
  const NoGrad inference;
  const Tensor loss = model.loss(all.narrow(1, 0, count - 1), all.narrow(1, 1, count - 1));
  EXPECT_NEAR(loss.item<double>(), stories.golden.at("mean_nll").get<double>(), 1e-4);
}

void expect_near(const Tensor& ours, const std::vector<double>& expected) {
  const auto values = ours.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << i;
}

TEST(Llama, TellsTheStoryOfTheReference) {
  Stories stories;
  if (!stories.is_there()) GTEST_SKIP() << "there is no " << stories.folder << "; TENON_SHARED names the folder above";
  const auto model = stories.model();
  const auto count = static_cast<int64_t>(stories.tokens.size());
  EXPECT_EQ(count, 346);
  EXPECT_EQ(generate(*model, {stories.tokens[0]}, {.new_tokens = count - 1}), stories.tokens);
  expect_golden_nll(*model, stories);
  const NoGrad inference;
  const Tensor logits = (*model)(from_vector(stories.tokens, {1, count})).select(0, 0);
  expect_near(logits[0], stories.golden.at("logits_pos0").get<std::vector<double>>());
  expect_near(logits[count - 1], stories.golden.at("logits_last").get<std::vector<double>>());
}

TEST(Llama, KeepsTheStoryThroughAHuggingFaceFolder) {
  Stories stories;
  if (!stories.is_there()) GTEST_SKIP() << "there is no " << stories.folder << "; TENON_SHARED names the folder above";
  const fs::path folder = scratch("stories");
  stories.model()->save(folder);
  const auto again = Llama::load(folder);
  EXPECT_EQ(again->config().rotary_layout, nn::RotaryLayout::halves);
  expect_golden_nll(*again, stories);
}

TEST(Llama, HasTheNamesOfTransformers) {
  const Llama model(tiny());
  const nn::StateDict state = model.state_dict();
  EXPECT_EQ(state.size(), 1 + 2 * 9 + 2u);
  EXPECT_EQ(state.at("model.layers.1.self_attn.k_proj.weight").shape(), (Dims{8, 24}));
  EXPECT_EQ(state.at("model.layers.0.mlp.down_proj.weight").shape(), (Dims{24, 40}));
  EXPECT_EQ(state.at("lm_head.weight").shape(), (Dims{61, 24}));
  for (const char* name : {"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight",
                           "model.layers.0.post_attention_layernorm.weight"})
    EXPECT_TRUE(state.contains(name)) << name;
}

TEST(Llama, IsSavedAndLoadedAsItIs) {
  for (const bool tied : {true, false}) {
    for (const nn::RotaryLayout layout : {nn::RotaryLayout::halves, nn::RotaryLayout::interleaved}) {
      manual_seed(2);
      LlamaConfig config = tiny();
      config.tied_head = tied;
      config.attention_bias = true;
      config.head_width = 6;
      config.rotary_layout = layout;
      const Llama model(config);
      const fs::path folder = scratch("again");
      model.save(folder);
      const auto again = Llama::load(folder, {}, 64);
      EXPECT_TRUE(allclose(model(ids()), (*again)(ids()), 1e-4, 1e-6));
      EXPECT_EQ(again->config().to_json(), config.to_json());
    }
  }
}

TEST(Llama, IsWrittenForLlama2cAsItIs) {
  for (const bool tied : {true, false}) {
    for (const nn::RotaryLayout layout : {nn::RotaryLayout::halves, nn::RotaryLayout::interleaved}) {
      manual_seed(3);
      LlamaConfig config = tiny();
      config.tied_head = tied;
      config.norm_eps = 1e-5;
      config.rotary_layout = layout;
      config.padded_vocabulary = 64;
      const Llama model(config);
      const fs::path file = scratch("model.bin");
      model.save_llama2c(file);
      const auto again = Llama::load_llama2c(file);
      EXPECT_EQ(again->config().tied_head, tied);
      EXPECT_TRUE(allclose(model(ids()).narrow(2, 0, 61), (*again)(ids()), 1e-4, 1e-6));
    }
  }
}

TEST(Llama, RefusesToWriteForLlama2cWhatItsProgramWouldNotCompute) {
  const auto refusal = [](auto&& change) {
    LlamaConfig config = tiny();
    config.norm_eps = 1e-5;
    change(config);
    return text_of([&] { Llama(config).save_llama2c("m.bin"); });
  };
  EXPECT_EQ(refusal([](LlamaConfig& c) { c.norm_eps = 1e-6; }),
            "[llama2c] m.bin: llama2.c knows no model with another eps than 1e-5");
  EXPECT_EQ(refusal([](LlamaConfig& c) { c.rotary_theta = 5e5; }),
            "[llama2c] m.bin: llama2.c knows no model with another rotary theta than 10000");
  EXPECT_EQ(refusal([](LlamaConfig& c) { c.mlp_bias = true; }), "[llama2c] m.bin: llama2.c knows no model with biases");
  EXPECT_EQ(refusal([](LlamaConfig& c) { c.head_width = 6; }),
            "[llama2c] m.bin: llama2.c knows no model with heads of their own width");
}

TEST(Llama, ContinuesBehindItsCaches) {
  manual_seed(1);
  const Llama model(tiny());
  const NoGrad inference;
  auto caches = model.make_caches(2, 4);
  const Tensor first = model(ids().narrow(1, 0, 3), &caches), last = model.next_logits(ids().narrow(1, 3, 1), &caches);
  const Tensor whole = model(ids());
  EXPECT_TRUE(allclose(first, whole.narrow(1, 0, 3), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(last, whole.select(1, 3), 1e-5, 1e-6));
}

TEST(LlamaConfig, ReadsBothSpellingsOfTheRotaryTheta) {
  EXPECT_EQ(LlamaConfig::from_json(R"({"rope_theta": 500000.0})").rotary_theta, 500000);
  EXPECT_EQ(LlamaConfig::from_json(R"({"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})").rotary_theta,
            500000);
}

TEST(LlamaConfig, ReadsTheFirstOfSeveralEndTokens) {
  EXPECT_EQ(LlamaConfig::from_json(R"({"eos_token_id": [128001, 128008]})").end_token, 128001);
}

TEST(LlamaConfig, RefusesSizesThatCannotBeCounted) {
  EXPECT_EQ(text_of([] { LlamaConfig::from_json(R"({"vocab_size": 4611686018427387904})"); }),
            "[llama] the vocabulary can be at most 2147483647, got 4611686018427387904");
  EXPECT_EQ(text_of([] { LlamaConfig::from_json(R"({"head_dim": 4611686018427387904})"); }),
            "[llama] the head width can be at most 2147483647, got 4611686018427387904");
  EXPECT_EQ(text_of([] { LlamaConfig::from_json(R"({"max_position_embeddings": 4611686018427387904})"); }),
            "[llama] the positions can be at most 2147483647, got 4611686018427387904");
}

TEST(LlamaConfig, RefusesWhatLlamaDoesNotDo) {
  EXPECT_EQ(text_of([] { LlamaConfig::from_json(R"({"rope_scaling": {"rope_type": "llama3"}})"); }),
            R"([llama] config.json: rope_type is "llama3"; only "default" is supported)");
  EXPECT_EQ(text_of([] { LlamaConfig::from_json(R"({"hidden_act": "gelu"})"); }),
            R"([llama] config.json: hidden_act is "gelu"; only "silu" is supported)");
  EXPECT_EQ(text_of([] { LlamaConfig::from_json(R"({"num_key_value_heads": 5})"); }),
            "[llama] 32 heads cannot share 5 key/value heads evenly");
}

}  // namespace
}  // namespace tenon::models
