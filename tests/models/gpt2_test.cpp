// Gpt2: names and files as transformers has them, padded vocabularies, and PyTorch's numbers.

#include "tenon/models/gpt2.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/error_text.h"
#include "tests/golden_model.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;

Gpt2Config tiny() {
  Gpt2Config config;
  config.vocabulary = 61;
  config.positions = 16;
  config.width = 24;
  config.layers = 2;
  config.heads = 3;
  config.set_dropout(0);
  return config;
}

Tensor ids() { return from_vector(std::vector<int64_t>{1, 5, 60, 7, 0, 2, 2, 9}, {2, 4}); }
Tensor targets() { return from_vector(std::vector<int64_t>{5, 60, 7, 3, 2, 2, 9, 0}, {2, 4}); }

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("tenon_gpt2_" + name);
  fs::remove_all(folder);
  return folder;
}

TEST(Gpt2, HasTheNamesOfTransformers) {
  const Gpt2 model(tiny());
  std::vector<std::string> names;
  for (const auto& [name, p] : model.named_parameters()) names.push_back(name);
  EXPECT_EQ(names.size(), 2 + 2 * 12 + 2u);
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.begin() + 6),
            (std::vector<std::string>{"transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight",
                                      "transformer.h.0.ln_1.bias", "transformer.h.0.attn.c_attn.weight",
                                      "transformer.h.0.attn.c_attn.bias"}));
  EXPECT_EQ(model.state_dict().at("transformer.h.1.mlp.c_fc.weight").shape(), (Dims{24, 96}));
}

TEST(Gpt2, CountsTheParametersOfThePublishedModels) {
  const Device device("null");
  EXPECT_EQ(Gpt2(Gpt2Config::distilgpt2(), device).count_parameters(), 81912576);
  EXPECT_EQ(Gpt2(Gpt2Config::gpt2(), device).count_parameters(), 124439808);
}

TEST(Gpt2, StartsNearTheLossOfAnEvenGuess) {
  manual_seed(1);
  const Gpt2 model(tiny());
  EXPECT_NEAR(model.loss(ids(), targets()).item<double>(), std::log(61.0), 0.1);
}

TEST(Gpt2, SeesNothingOfWhatFollows) {
  manual_seed(1);
  const Gpt2 model(tiny());
  const Tensor whole = model(ids());
  EXPECT_EQ(whole.shape(), (Dims{2, 4, 61}));
  EXPECT_TRUE(allclose(whole.narrow(1, 0, 2), model(ids().narrow(1, 0, 2)), 1e-5, 1e-6));
}

TEST(Gpt2, ContinuesBehindItsCaches) {
  manual_seed(1);
  const Gpt2 model(tiny());
  const NoGrad inference;
  auto caches = model.make_caches(2, 4);
  const Tensor first = model(ids().narrow(1, 0, 3), &caches), last = model.next_logits(ids().narrow(1, 3, 1), &caches);
  const Tensor whole = model(ids());
  EXPECT_TRUE(allclose(first, whole.narrow(1, 0, 3), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(last, whole.select(1, 3), 1e-5, 1e-6));
}

TEST(Gpt2, IsSavedAndLoadedAsItIs) {
  for (const bool tied : {true, false}) {
    manual_seed(2);
    Gpt2Config config = tiny();
    config.tied_head = tied;
    config.inner = 40;
    const Gpt2 model(config);
    const fs::path folder = scratch("again");
    model.save(folder);
    EXPECT_EQ(io::load_folder(folder).tensors.contains("lm_head.weight"), !tied);
    const auto again = Gpt2::load(folder);
    EXPECT_TRUE(equal(model(ids()), (*again)(ids())));
    EXPECT_EQ(again->config().to_json(), config.to_json());
  }
}

TEST(Gpt2, LoadsFilesWithoutPrefixAndWithMasksAndTiedHeads) {
  manual_seed(3);
  const Gpt2 model(tiny());
  nn::StateDict state;
  for (const auto& [name, tensor] : model.state_dict()) state[name.substr(std::string("transformer.").size())] = tensor;
  state["lm_head.weight"] = model.transformer.wte.weight.detach();
  state["h.0.attn.bias"] = tril(ones({1, 1, 16, 16}));
  state["h.0.attn.masked_bias"] = scalar(-1e4);
  const fs::path folder = scratch("bare");
  io::save_folder(folder, tiny().to_json(), state);
  EXPECT_TRUE(equal(model(ids()), (*Gpt2::load(folder))(ids())));
}

TEST(Gpt2, NamesWhatAFileLacks) {
  const fs::path folder = scratch("lacking");
  nn::StateDict state = Gpt2(tiny()).state_dict();
  state.erase("transformer.ln_f.bias");
  io::save_folder(folder, tiny().to_json(), state);
  EXPECT_NE(text_of([&] { Gpt2::load(folder); }).find("transformer.ln_f.bias"), std::string::npos);
}

TEST(Gpt2, APaddedVocabularyChangesNothing) {
  manual_seed(4);
  Gpt2 model(tiny());
  const fs::path folder = scratch("padded");
  model.save(folder);
  const auto padded = Gpt2::load(folder, {}, 64);
  EXPECT_EQ(padded->transformer.wte.weight.shape(), (Dims{64, 24}));
  EXPECT_EQ((*padded)(ids()).shape(), (Dims{2, 4, 61}));
  EXPECT_TRUE(allclose((*padded)(ids()), model(ids()), 1e-5, 1e-6));
  for (const int64_t chunk : {0, 3}) {
    model.zero_grad();
    padded->zero_grad();
    Tensor loss = model.loss(ids(), targets()), same = padded->loss(ids(), targets(), {.chunk = chunk});
    loss.backward();
    same.backward();
    EXPECT_NEAR(same.item<double>(), loss.item<double>(), 1e-6);
    const Tensor slope = padded->transformer.wte.weight.grad();
    EXPECT_TRUE(allclose(slope.narrow(0, 0, 61), model.transformer.wte.weight.grad(), 1e-5, 1e-6));
    EXPECT_EQ(slope.narrow(0, 61, 3).abs().max().item<float>(), 0);
  }
  padded->save(folder);
  EXPECT_EQ(io::load_folder(folder).tensors.at("transformer.wte.weight").shape(), (Dims{61, 24}));
}

TEST(Gpt2, SaysWhereAnErrorArose) {
  const Gpt2 model(tiny());
  EXPECT_EQ(text_of([&] {
              model(zeros({1, 17}, DType::i64));
            }),
            "[model] 17 tokens are more than the model's 16 positions");
  EXPECT_EQ(text_of([&] {
              model(full({1, 4}, int64_t{61}).eval());
            }),
            "[embedding] index 61 is out of range for dim 0 of size 61 (in transformer.wte)");
}

TEST(Gpt2Config, RefusesWhatGpt2DoesNotDo) {
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"model_type": "llama"})"); }),
            R"([gpt2] config.json: model_type is "llama"; only "gpt2" is supported)");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"scale_attn_by_inverse_layer_idx": true})"); }),
            "[gpt2] config.json: scale_attn_by_inverse_layer_idx is true; only false is supported");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"n_layer": "six"})"); }),
            R"([gpt2] config.json: n_layer is "six", which is not of its type)");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"activation_function": "tanh"})"); }),
            "[gpt2] activation tanh is not known; there are gelu_new, gelu, relu, silu");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"n_embd": 10, "n_head": 3})"); }),
            "[gpt2] a width of 10 cannot be divided among 3 heads");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json("[]"); }), "[gpt2] config.json is not a JSON object");
}

TEST(Gpt2Config, RefusesSizesThatCannotBeCounted) {
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"vocab_size": 4611686018427387904})"); }),
            "[gpt2] the vocabulary can be at most 2147483647, got 4611686018427387904");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"n_embd": 4611686018427387904, "n_head": 1})"); }),
            "[gpt2] the width can be at most 2147483647, got 4611686018427387904");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"n_inner": 4611686018427387904})"); }),
            "[gpt2] the inner width can be at most 2147483647, got 4611686018427387904");
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"n_layer": 2147483647})"); }),
            "[gpt2] there can be at most 65536 layers, got 2147483647");
}

TEST(Gpt2Config, RefusesNumbersThatWrapToNegativeOnes) {
  EXPECT_EQ(text_of([] { Gpt2Config::from_json(R"({"vocab_size": 18446744073709551615})"); }),
            "[gpt2] config.json: vocab_size is 18446744073709551615, which is not of its type");
}

TEST(Gpt2, GivesTheNumbersOfPyTorch) {
  const fs::path folder = testing::shared_folder(TENON_SOURCE_DIR) / "golden" / "gpt2-tiny";
  if (!exists(folder)) GTEST_SKIP() << "there is no " << folder << "; TENON_SHARED names the folder above golden/";
  size_t checks = 0;
  testing::GoldenModel(folder, Device()).run("", [&](const testing::ModelCheck& check) {
    EXPECT_EQ(check.wrong, "") << check.name;
    ++checks;
  });
  EXPECT_EQ(checks, 44u);
}

}  // namespace
}  // namespace tenon::models
