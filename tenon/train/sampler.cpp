// Draws have a generator of their own: sampling more often must not change the dropout of the next step.

#include "tenon/train/sampler.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/models/generate.h"
#include "tenon/tensor/creation.h"

namespace tenon::train {

Sampler::Sampler(const Config& config, models::CausalLm& model, const text::Tokenizer& tokenizer)
    : config_(config.sample), model_(model), tokenizer_(tokenizer) {
  const std::vector<int32_t> ids = tokenizer.encode(config_.prompt);
  prompt_.assign(ids.begin(), ids.end());
  if (prompt_.empty()) prompt_.push_back(tokenizer.end_of_text().value_or(0));
  const int64_t room = model.positions() + 1 - std::ssize(prompt_);  // the last token is never looked up
  if (room <= 0) {
    base::fail("train", "sample.prompt has {} tokens, model.context is {}; shorten the prompt", prompt_.size(),
               model.positions());
  }
  new_tokens_ = std::min(config_.tokens, room);
}

std::string Sampler::write() const {
  Generator dice(static_cast<uint64_t>(config_.seed));
  std::string text;
  for (int64_t i = 0; i < config_.count; ++i) text += (i > 0 ? "\n\n" : "") + write_one(dice);
  return text;
}

std::string Sampler::write_one(Generator& dice) const {
  models::GenerateOptions options;
  options.new_tokens = new_tokens_;
  options.temperature = config_.temperature;
  options.top_k = config_.top_k;
  options.top_p = config_.top_p;
  options.min_p = config_.min_p;
  options.repetition_penalty = config_.repetition_penalty;
  options.generator = &dice;
  const std::optional<int32_t> end = tokenizer_.end_of_text();
  if (end) options.stop = *end;
  const std::vector<int64_t> made = models::generate(model_, prompt_, options);
  std::vector<int32_t> shown(made.begin() + (config_.prompt.empty() ? std::ssize(prompt_) : 0), made.end());
  if (end && !shown.empty() && shown.back() == *end) shown.pop_back();
  // A model may know more tokens than the tokenizer (model.vocabulary); those have no text.
  std::erase_if(shown, [&](int32_t id) { return id >= tokenizer_.vocabulary(); });
  return tokenizer_.decode(shown);
}

}  // namespace tenon::train
