// LoRA: corrections that start as nothing, train alone, are saved alone and become part of the weights.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

Gpt2Config tiny() {
  Gpt2Config config;
  config.vocabulary = 50;
  config.positions = 16;
  config.width = 24;
  config.layers = 2;
  config.heads = 3;
  return config.set_dropout(0);
}

const Tensor& ids() {
  static const Tensor made = randint(0, 50, {2, 16}).eval();
  return made;
}

// Everything but the corrections stays; they make the loss fall.
void train(Gpt2& model, int steps) {
  optim::AdamW optimizer(trainable(model), {.lr = 1e-2});
  auto step = compile([&](const Tensor& x) {
    Tensor loss = model.loss(x, x);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  for (int i = 0; i < steps; ++i) step(ids());
}

double loss_of(const Gpt2& model) { return model.loss(ids(), ids()).item<double>(); }

TEST(Lora, StartsAsNothing) {
  manual_seed(1);
  Gpt2 model(tiny());
  const double before = loss_of(model);
  attach_lora(model, {"c_attn", "c_proj"}, {.rank = 2});
  EXPECT_EQ(loss_of(model), before);
}

TEST(Lora, OnlyTheCorrectionsTrain) {
  manual_seed(1);
  Gpt2 model(tiny());
  attach_lora(model, {"c_attn"}, {.rank = 2});
  EXPECT_EQ(trainable(model).size(), 4u);
  const Tensor weight = model.transformer.h[0].attn.c_attn.weight.clone().eval();
  const double before = loss_of(model);
  train(model, 30);
  EXPECT_LT(loss_of(model), before - 0.05);
  EXPECT_EQ((model.transformer.h[0].attn.c_attn.weight - weight).abs().max().item<double>(), 0);
}

TEST(Lora, MergedModelsComputeTheSame) {
  manual_seed(1);
  Gpt2 model(tiny());
  attach_lora(model, {"c_attn", "c_fc"}, {.rank = 2});
  train(model, 20);
  const double before = loss_of(model);
  EXPECT_TRUE(has_lora(model));
  merge_lora(model);
  EXPECT_FALSE(has_lora(model));
  EXPECT_NEAR(loss_of(model), before, 1e-5);
  EXPECT_EQ(trainable(model).size(), model.parameters().size());
}

TEST(Lora, IsSavedAloneAndReadAgain) {
  const auto folder = std::filesystem::temp_directory_path() / "tenon_lora_test";
  manual_seed(1);
  Gpt2 model(tiny());
  attach_lora(model, {"c_attn"}, {.rank = 2, .alpha = 4});
  train(model, 20);
  EXPECT_NE(text_of([&] { model.save(folder); }).find("merge_lora"), std::string::npos);
  save_lora(model, folder, {.rank = 2, .alpha = 4});
  EXPECT_LT(std::filesystem::file_size(folder / "adapter_model.safetensors"), 8000u);
  manual_seed(1);
  Gpt2 other(tiny());
  load_lora(other, folder);
  EXPECT_EQ(loss_of(other), loss_of(model));

  const std::filesystem::path config = folder / "adapter_config.json";
  std::ofstream(config) << R"({"r": 2147483648, "lora_alpha": 4, "target_modules": ["c_attn"]})";
  Gpt2 third(tiny());
  EXPECT_NE(text_of([&] { load_lora(third, folder); }).find("r is 2147483648, but "), std::string::npos);
  std::ofstream(config) << R"({"r": )" << std::string(100'000, '[');
  EXPECT_EQ(text_of([&] { load_lora(third, folder); }),
            "[lora] " + config.string() + ": nests deeper than 64 levels (at byte 70 of it)");
  std::filesystem::remove_all(folder);
}

TEST(Lora, UnknownLayersAreNamed) {
  Gpt2 model(tiny());
  EXPECT_EQ(text_of([&] { attach_lora(model, {"q_proj"}); }),
            "[lora] no layer is called q_proj; there are c_attn, c_fc, c_proj");
}

TEST(Gpt2, WithoutBiasesIsReadByOthersWithZeros) {
  const auto folder = std::filesystem::temp_directory_path() / "tenon_gpt2_no_bias_test";
  manual_seed(1);
  Gpt2Config config = tiny();
  config.bias = false;
  const Gpt2 model(config);
  EXPECT_FALSE(model.transformer.ln_f.bias.defined());
  model.save(folder);
  const auto same = Gpt2::load(folder);
  EXPECT_TRUE(same->transformer.h[1].mlp.c_fc.bias.defined());
  EXPECT_EQ(loss_of(*same), loss_of(model));
  std::filesystem::remove_all(folder);
}

TEST(Gpt2, WithoutCausalityATokenSeesWhatFollows) {
  manual_seed(1);
  Gpt2Config config = tiny();
  config.causal = false;
  Gpt2 model(config);
  const Tensor a = from_vector(std::vector<int64_t>{1, 2, 3}, {1, 3}), b = from_vector(std::vector<int64_t>{1, 2, 4}, {1, 3});
  EXPECT_GT((model(a) - model(b)).select(1, 0).abs().max().item<double>(), 0);
  EXPECT_NE(text_of([&] { generate(model, {1}, {.new_tokens = 2}); }).find("fill in masked tokens"), std::string::npos);
}

}  // namespace
}  // namespace tenon::models
