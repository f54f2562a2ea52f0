// Batches give each sequence what it gets alone, and calls share their captured step.

#include "tenon/models/decoder.h"

#include <gtest/gtest.h>

#include <set>

#include "tenon/models/generate.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

using Tokens = std::vector<int64_t>;
using Sequences = Decoder::Sequences;

Gpt2 gpt2() {
  Gpt2Config config;
  config.vocabulary = 31;
  config.positions = 200;
  config.width = 24;
  config.layers = 2;
  config.heads = 3;
  manual_seed(1);
  return Gpt2(config.set_dropout(0.5));
}

LlamaConfig llama_config() {
  LlamaConfig config;
  config.vocabulary = 31;
  config.positions = 64;
  config.width = 24;
  config.layers = 2;
  config.heads = 6;
  config.kv_heads = 2;
  config.inner = 40;
  return config;
}

const Sequences kPrompts{{3, 4, 5, 6, 7}, {9}, {1, 2, 30}};

void expect_batch_is_singles(CausalLm& model) {
  // Initial weights are small and near to each other; larger ones make texts that depend on what was read.
  {
    const NoGrad scaling;
    for (Tensor& parameter : model.parameters()) parameter.mul_(4.0);
  }
  const Sequences together = Decoder(model).run(kPrompts, {.new_tokens = 20});
  std::set<Tokens> different;
  for (size_t i = 0; i < kPrompts.size(); ++i) {
    EXPECT_EQ(together[i], Decoder(model).run({kPrompts[i]}, {.new_tokens = 20})[0]) << i;
    different.insert(together[i]);
  }
  EXPECT_EQ(different.size(), kPrompts.size());
}

TEST(Decoder, ABatchOfDifferentLengthsGivesWhatEachGetsAlone) {
  Gpt2 one = gpt2();
  expect_batch_is_singles(one);
  manual_seed(1);
  Llama other(llama_config());
  expect_batch_is_singles(other);
}

TEST(Decoder, GivesTheSameAsGenerate) {
  Gpt2 model = gpt2();
  Tokens whole{3, 4};
  const Tokens made = Decoder(model).run({{3, 4}}, {.new_tokens = 10})[0];
  whole.insert(whole.end(), made.begin(), made.end());
  EXPECT_EQ(generate(model, {3, 4}, {.new_tokens = 10}), whole);
}

TEST(Decoder, ReplaysAcrossCallsAndOtherNumbers) {
  Gpt2 model = gpt2();
  {
    const NoGrad scaling;  // so that a temperature matters
    for (Tensor& parameter : model.parameters()) parameter.mul_(4.0);
  }
  Decoder decoder(model);
  GenerateOptions options{.new_tokens = 8, .temperature = 1, .top_p = 0.9, .min_p = 0.01, .repetition_penalty = 1.2};
  const auto run = [&](const Tokens& prompt) {
    Generator dice(5);
    options.generator = &dice;
    return decoder.run({prompt}, options)[0];
  };
  const Tokens first = run({1, 2});
  const size_t recordings = decoder.recordings();
  EXPECT_EQ(recordings, 1u);
  EXPECT_EQ(run({1, 2}), first);
  run({1, 2, 3, 4, 5});
  options.temperature = 5;
  options.top_p = 0.99;
  options.min_p = 0.001;
  options.repetition_penalty = 3;
  const Tokens hotter = run({1, 2});
  EXPECT_NE(hotter, first);
  EXPECT_EQ(decoder.recordings(), recordings);
  const Tokens fresh = [&] {
    Generator dice(5);
    options.generator = &dice;
    return Decoder(model).run({{1, 2}}, options)[0];
  }();
  EXPECT_EQ(hotter, fresh);  // nothing of earlier calls is left
  options.top_k = 3;
  run({1, 2});
  EXPECT_EQ(decoder.recordings(), recordings + 1);
}

TEST(Decoder, TheCallersGeneratorGoesOn) {
  Gpt2 model = gpt2();
  Decoder decoder(model);
  Generator dice(5);
  const GenerateOptions options{.new_tokens = 8, .temperature = 3, .generator = &dice};
  const Tokens first = decoder.run({{1}}, options)[0], second = decoder.run({{1}}, options)[0];
  EXPECT_NE(first, second);
  dice.manual_seed(5);
  EXPECT_EQ(decoder.run({{1}}, options)[0], first);
}

// Where tokens are read while the next step runs, a text that ends early has begun one too many.
TEST(Decoder, AStepBegunInVainDrawsNothing) {
  Gpt2 model = gpt2();
  Decoder decoder(model);
  Generator dice(5);
  GenerateOptions options{.new_tokens = 3, .temperature = 3, .generator = &dice};
  const Tokens three = decoder.run({{1}}, options)[0];
  const uint64_t position = dice.position();
  options.new_tokens = 8;
  for (const bool throws : {false, true}) {
    dice.manual_seed(5);
    Tokens seen;
    const auto third_ends = [&](size_t, int64_t token) {
      seen.push_back(token);
      if (seen.size() == 3 && throws) throw std::runtime_error("enough");
      return seen.size() < 3;
    };
    try {
      decoder.run({{1}}, options, third_ends);
      EXPECT_FALSE(throws);
    } catch (const std::runtime_error&) {
      EXPECT_TRUE(throws);
    }
    EXPECT_EQ(seen, three);
    EXPECT_EQ(dice.position(), position);
  }
}

TEST(Decoder, FollowsWeightsThatChange) {
  Gpt2 model = gpt2();
  Decoder decoder(model);
  const GenerateOptions options{.new_tokens = 6};
  decoder.run({{1, 2}}, options);
  {
    const NoGrad training;
    for (Tensor& parameter : model.parameters()) parameter.mul_(-3.0);
  }
  EXPECT_EQ(decoder.run({{1, 2}}, options), Decoder(model).run({{1, 2}}, options));
}

TEST(Decoder, AHighPenaltyRepeatsNothing) {
  Gpt2 model = gpt2();
  const Tokens plain = Decoder(model).run({{3, 4}}, {.new_tokens = 20})[0];
  EXPECT_LT(std::set<int64_t>(plain.begin(), plain.end()).size(), plain.size());
  const Sequences made = Decoder(model).run({{3, 4}, {5}}, {.new_tokens = 20, .repetition_penalty = 1e6});
  for (const Tokens& tokens : made) EXPECT_EQ(std::set<int64_t>(tokens.begin(), tokens.end()).size(), 20u);
  for (const int64_t of_prompt : {3, 4}) EXPECT_EQ(std::count(made[0].begin(), made[0].end(), of_prompt), 0);
}

TEST(Decoder, SequencesOfABatchEndByThemselves) {
  Gpt2 model = gpt2();
  const Sequences whole = Decoder(model).run(kPrompts, {.new_tokens = 12});
  size_t of_second = 0;
  const Sequences ended = Decoder(model).run(
      kPrompts, {.new_tokens = 12}, [&](size_t sequence, int64_t) { return sequence != 1 || ++of_second < 4; });
  EXPECT_EQ(ended[0], whole[0]);
  EXPECT_EQ(ended[1], Tokens(whole[1].begin(), whole[1].begin() + 4));
  EXPECT_EQ(ended[2], whole[2]);
  const Tokens stopped = Decoder(model).run({kPrompts[0]}, {.new_tokens = 12, .stop_tokens = {whole[0][2]}})[0];
  EXPECT_EQ(stopped.back(), whole[0][2]);
  EXPECT_LE(stopped.size(), 3u);
}

TEST(Decoder, WritesUpToTheLastPosition) {
  manual_seed(1);
  Llama model(llama_config());
  EXPECT_EQ(Decoder(model).run({{1, 2}, {3}}, {.new_tokens = 63})[1].size(), 63u);
}

TEST(Decoder, GoesOnFromTheSecondHalfOfAFullContext) {
  manual_seed(1);
  Llama model(llama_config());
  {
    const NoGrad scaling;
    for (Tensor& parameter : model.parameters()) parameter.mul_(4.0);
  }
  Tokens text = Decoder(model).run({{1, 2}}, {.new_tokens = 200})[0];
  ASSERT_EQ(text.size(), 200u);
  text.insert(text.begin(), {1, 2});
  // 64 columns are full with the token at 63; the one at 64 is drawn from them, and the one at 65 from the last 32.
  const auto drawn_from = [&](int64_t from, int64_t end) {
    return Decoder(model).run({Tokens(text.begin() + from, text.begin() + end)}, {.new_tokens = 1})[0][0];
  };
  EXPECT_EQ(text[64], drawn_from(0, 64));
  EXPECT_EQ(text[65], drawn_from(33, 65));
  EXPECT_EQ(text[97], drawn_from(33, 97));
  EXPECT_EQ(text[98], drawn_from(66, 98));
}

TEST(Decoder, BatchesGoOnToo) {
  manual_seed(1);
  Llama model(llama_config());
  const Sequences texts =
      Decoder(model).run({{1, 2, 3}, {3}}, {.new_tokens = 150, .temperature = 1, .repetition_penalty = 1.3});
  EXPECT_EQ(texts[0].size(), 150u);
  EXPECT_EQ(texts[1].size(), 150u);
}

TEST(Decoder, SaysWhatDoesNotFit) {
  Gpt2 model = gpt2();
  EXPECT_EQ(text_of([&] { Decoder(model).run({{1}, {}}, {}); }), "[generate] the prompt must have at least one token");
  EXPECT_EQ(text_of([&] { Decoder(model).run({Tokens(201, 1)}, {}); }),
            "[generate] a prompt of 201 tokens is more than the model's 200 positions");
  EXPECT_EQ(text_of([&] { Decoder(model).run({{31}}, {}); }),
            "[generate] token 31 of the prompt is none of the model's 31");
  EXPECT_EQ(text_of([&] { Decoder(model).run({{1}}, {.stop_strings = {"."}}); }),
            "[generate] strings to stop at need a tokenizer; use TextWriter");
}

}  // namespace
}  // namespace tenon::models
