// The filters and the penalty against the same computed on the host, token by token.

#include "tenon/models/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "tenon/tensor/ops.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

using Logits = std::vector<float>;

std::vector<double> probabilities_of(const Logits& logits, double temperature) {
  std::vector<double> shares;
  for (const float logit : logits) shares.push_back(std::exp(logit / temperature));
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

// What may be drawn, found as the papers say it: sorted by probability, one filter after the other.
std::set<int64_t> kept_on_the_host(const Logits& logits, const GenerateOptions& options) {
  std::vector<double> shares = probabilities_of(logits, options.temperature);
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return shares[a] > shares[b]; });
  if (options.top_k > 0) order.resize(std::min<size_t>(order.size(), options.top_k));
  double total = 0;
  for (const int64_t token : order) total += shares[token];
  double before = 0;
  std::set<int64_t> kept;
  for (const int64_t token : order) {
    if (before / total >= options.top_p) break;
    before += shares[token];
    kept.insert(token);
  }
  std::erase_if(kept, [&](int64_t token) { return shares[token] < options.min_p * shares[order[0]]; });
  return kept;
}

// What is drawn in many draws; every kept token has a fair chance in the cases below.
std::set<int64_t> drawn(const Logits& logits, GenerateOptions options) {
  Generator generator(11);
  options.generator = &generator;
  const auto count = static_cast<int64_t>(logits.size());
  const auto tokens = draw(from_vector(logits, {1, count}).expand({6000, count}), options).to_vector<int64_t>();
  return {tokens.begin(), tokens.end()};
}

Logits some_logits() {
  std::mt19937 random(3);
  Logits logits;
  for (int i = 0; i < 24; ++i) logits.push_back(static_cast<float>(random() % 100 * 24 + i) / 720);  // all different
  return logits;
}

TEST(Sampling, FiltersKeepWhatTheHostKeeps) {
  const Logits logits = some_logits();
  for (const GenerateOptions& options :
       {GenerateOptions{.temperature = 1, .top_k = 5}, GenerateOptions{.temperature = 0.7, .top_p = 0.6},
        GenerateOptions{.temperature = 1, .min_p = 0.3}, GenerateOptions{.temperature = 1.3, .top_k = 9, .top_p = 0.7},
        GenerateOptions{.temperature = 1, .top_k = 12, .top_p = 0.9, .min_p = 0.2},
        GenerateOptions{.temperature = 1, .top_p = 0.8, .min_p = 0.4}}) {
    EXPECT_EQ(drawn(logits, options), kept_on_the_host(logits, options))
        << options.top_k << " " << options.top_p << " " << options.min_p;
  }
}

TEST(Sampling, MinPOfOneKeepsTheMostLikely) {
  EXPECT_EQ(drawn({0.5f, 2, 1}, {.temperature = 1, .min_p = 1}), (std::set<int64_t>{1}));
}

TEST(Sampling, ThePenaltyDividesWhatIsPositiveAndMultipliesWhatIsNot) {
  // By 2: 3 becomes 1.5, below 2; without the penalty token 0 wins.
  const Tensor positive = tensor({3.0f, 2.0f, -1.0f}).unsqueeze(0);
  const Tensor seen = tensor({1.0f, 0.0f, 0.0f}).unsqueeze(0) > 0;
  EXPECT_EQ(draw(positive, {}, seen).item<int64_t>(), 0);
  EXPECT_EQ(draw(positive, {.repetition_penalty = 2}, seen).item<int64_t>(), 1);
  EXPECT_EQ(draw(positive, {.repetition_penalty = 1.4}, seen).item<int64_t>(), 0);  // 2.14
  // -1 becomes -2, below -1.5.
  const Tensor negative = tensor({-1.0f, -1.5f, -9.0f}).unsqueeze(0);
  EXPECT_EQ(draw(negative, {.repetition_penalty = 2}, seen).item<int64_t>(), 1);
  EXPECT_EQ(draw(negative, {.repetition_penalty = 1.4}, seen).item<int64_t>(), 0);  // -1.4
}

TEST(Sampling, SaysWhatIsOutOfRange) {
  const Tensor logits = zeros({1, 4});
  EXPECT_EQ(text_of([&] { draw(logits, {.min_p = 1.5}); }), "[generate] min_p must lie in 0..1, got 1.5");
  EXPECT_EQ(text_of([&] { draw(logits, {.top_p = 0}); }), "[generate] top_p must lie in 0..1, got 0");
  EXPECT_EQ(text_of([&] { draw(logits, {.repetition_penalty = 0}); }),
            "[generate] repetition_penalty must be positive, got 0");
  EXPECT_EQ(text_of([&] { draw(zeros({4})); }), "[generate] draws from logits (batch, vocabulary), got (4,)");
}

}  // namespace
}  // namespace tenon::models
