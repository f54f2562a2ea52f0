// Text token by token: the prompt in one pass, then one captured step per token over caches of keys and values.
//
//   std::vector<int64_t> tokens = models::generate(model, prompt, {.new_tokens = 40});
//   Generator dice(7);
//   tokens = models::generate(model, prompt, {.temperature = 0.8, .top_k = 40, .generator = &dice});
//
// What writes more than one text keeps a Decoder (tokens) or a TextWriter (text) instead: they keep the captured step.

#pragma once

#include <vector>

#include "tenon/models/causal_lm.h"
#include "tenon/models/sampling.h"

namespace tenon::models {

/// The prompt and what follows it. Runs without dropout, whatever mode the model is in.
std::vector<int64_t> generate(CausalLm& model, const std::vector<int64_t>& prompt, const GenerateOptions& options = {});

}  // namespace tenon::models
