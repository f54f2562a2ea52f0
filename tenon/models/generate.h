// Text token by token: the prompt in one pass, then one captured step per token over caches of keys and values.
//
//   std::vector<int64_t> tokens = models::generate(model, prompt, {.new_tokens = 40});
//   Generator dice(7);
//   tokens = models::generate(model, prompt, {.temperature = 0.8, .top_k = 40, .generator = &dice});

#pragma once

#include <optional>
#include <vector>

#include "tenon/models/causal_lm.h"
#include "tenon/tensor/creation.h"

namespace tenon::models {

struct GenerateOptions {
  int64_t new_tokens = 64;
  double temperature = 0;            // 0: always the most likely token
  int64_t top_k = 0;                 // draw among this many most likely tokens; 0: among all
  double top_p = 1;                  // and among the fewest that have this probability together
  double min_p = 0;                  // and among those at least this many times as likely as the most likely one
  double repetition_penalty = 1;     // tokens that stand in the text already are less likely by this
  std::optional<int64_t> stop = {};  // ends the text when drawn
  Generator* generator = nullptr;    // the default one unless given
};

/// The prompt and what follows it. Runs without dropout, whatever mode the model is in.
std::vector<int64_t> generate(CausalLm& model, const std::vector<int64_t>& prompt, const GenerateOptions& options = {});

/// Tokens (batch,) drawn from logits (batch, vocabulary).
Tensor draw(const Tensor& logits, const GenerateOptions& options = {});

}  // namespace tenon::models
