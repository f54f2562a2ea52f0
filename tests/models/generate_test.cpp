// Drawing tokens, and texts of a model that is small enough to compute without a cache.

#include "tenon/models/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

using Tokens = std::vector<int64_t>;

Gpt2Config tiny() {
  Gpt2Config config;
  config.vocabulary = 31;
  config.positions = 12;
  config.width = 24;
  config.layers = 2;
  config.heads = 3;
  return config.set_dropout(0.5);
}

// How often each of the tokens was drawn.
std::map<int64_t, int> draws(const std::vector<float>& probabilities, GenerateOptions options) {
  constexpr int64_t kDraws = 4000;
  Generator generator(5);
  options.generator = &generator;
  const auto count = static_cast<int64_t>(probabilities.size());
  const Tensor logits = log(from_vector(probabilities, {1, count})).expand({kDraws, count});
  std::map<int64_t, int> drawn;
  for (const int64_t token : draw(logits, options).to_vector<int64_t>()) ++drawn[token];
  return drawn;
}

TEST(Draw, TakesTheMostLikelyAtTemperatureZero) {
  EXPECT_EQ(draws({0.2f, 0.5f, 0.3f}, {}), (std::map<int64_t, int>{{1, 4000}}));
}

TEST(Draw, FollowsTheProbabilities) {
  auto drawn = draws({0.2f, 0.5f, 0.3f}, {.temperature = 1});
  EXPECT_NEAR(drawn[0], 800, 100);
  EXPECT_NEAR(drawn[1], 2000, 130);
  EXPECT_NEAR(drawn[2], 1200, 120);
}

TEST(Draw, ATemperatureSharpens) {
  auto drawn = draws({0.2f, 0.4f}, {.temperature = 0.5});  // squares: 1 to 4
  EXPECT_NEAR(drawn[0], 800, 100);
}

TEST(Draw, TopKKeepsTheMostLikely) {
  auto drawn = draws({0.2f, 0.4f, 0.1f, 0.3f}, {.temperature = 1, .top_k = 2});
  EXPECT_EQ(drawn.size(), 2u);
  EXPECT_NEAR(drawn[1], 4000.0 * 4 / 7, 130);
}

TEST(Draw, TopPKeepsTheFewestThatAreEnough) {
  EXPECT_EQ(draws({0.2f, 0.4f, 0.1f, 0.3f}, {.temperature = 1, .top_p = 0.65}).size(), 2u);
  EXPECT_EQ(draws({0.2f, 0.4f, 0.1f, 0.3f}, {.temperature = 1, .top_p = 0.75}).size(), 3u);
  EXPECT_EQ(draws({0.2f, 0.4f, 0.1f, 0.3f}, {.temperature = 1, .top_p = 1e-6}).size(), 1u);
}

TEST(Generate, IsWhatTheWholeModelSays) {
  manual_seed(1);
  Gpt2 model(tiny());
  const Tokens made = generate(model, {3, 4, 5}, {.new_tokens = 9});
  EXPECT_TRUE(model.is_training());
  const NoGrad inference;
  model.eval();
  Tokens expected{3, 4, 5};
  while (expected.size() < 12) {
    const Tensor ids = from_vector(expected, {1, static_cast<int64_t>(expected.size())});
    expected.push_back(model.next_logits(ids).argmax(-1).item<int64_t>());
  }
  EXPECT_EQ(made, expected);
}

TEST(Generate, TheSameSeedGivesTheSameText) {
  manual_seed(1);
  Gpt2 model(tiny());
  const auto text = [&](uint64_t seed) {
    Generator generator(seed);
    return generate(model, {3},
                    {.new_tokens = 11, .temperature = 1, .top_k = 20, .top_p = 0.9, .generator = &generator});
  };
  EXPECT_EQ(text(7), text(7));
  EXPECT_NE(text(7), text(8));
}

TEST(Generate, DrawsAnewForEveryToken) {
  manual_seed(1);
  Gpt2 model(tiny());
  Generator generator(3);
  const Tokens text = generate(model, {3}, {.new_tokens = 11, .temperature = 100, .generator = &generator});
  EXPECT_GE(std::set<int64_t>(text.begin(), text.end()).size(), 6u);
}

TEST(Generate, EndsWithTheStopToken) {
  manual_seed(1);
  Gpt2 model(tiny());
  const Tokens whole = generate(model, {3, 4}, {.new_tokens = 8});
  const Tokens ended = generate(model, {3, 4}, {.new_tokens = 8, .stop = whole[4]});
  EXPECT_EQ(ended.back(), whole[4]);
  EXPECT_LE(ended.size(), 5u);
}

template <typename Model, typename Config>
void expect_texts_in_lower_types(const Config& config) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    manual_seed(1);
    Model model(config, dtype);
    EXPECT_EQ(generate(model, {3, 4}, {.new_tokens = 4}).size(), 6u);
    const Tensor ids = from_vector(Tokens{3, 4, 5, 6}, {1, 4});
    EXPECT_NEAR(model.loss(ids, ids).template item<double>(), std::log(31.0), 0.3);
  }
  manual_seed(1);
  Model model(config);
  const Autocast lower;
  EXPECT_EQ(generate(model, {3, 4}, {.new_tokens = 4}).size(), 6u);
}

TEST(Generate, WorksInLowerTypes) {
  expect_texts_in_lower_types<Gpt2>(tiny());
  LlamaConfig llama;
  llama.vocabulary = 31;
  llama.positions = 12;
  llama.width = 24;
  llama.layers = 2;
  llama.heads = 6;
  llama.kv_heads = 2;
  llama.inner = 40;
  expect_texts_in_lower_types<Llama>(llama);
}

TEST(Generate, SaysWhatDoesNotFit) {
  Gpt2 model(tiny());
  EXPECT_EQ(text_of([&] { generate(model, std::vector<int64_t>(13, 1), {.new_tokens = 1}); }),
            "[generate] a prompt of 13 tokens is more than the model's 12 positions");
  EXPECT_EQ(text_of([&] { generate(model, {}); }), "[generate] the prompt must have at least one token");
  EXPECT_EQ(text_of([&] { generate(model, {1}, {.temperature = -1}); }),
            "[generate] temperature cannot be negative, got -1");
}

}  // namespace
}  // namespace tenon::models
