// Text that the model of a run writes on the way, by the config's sample section.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/models/causal_lm.h"
#include "tenon/text/tokenizer.h"
#include "tenon/train/config.h"

namespace tenon::train {

class Sampler {
 public:
  /// Fails with one line where the prompt leaves no room for a token.
  Sampler(const Config& config, models::CausalLm& model, const text::Tokenizer& tokenizer);

  /// Writes sample.count texts, the same draws every time: what differs from one step to the next is the model.
  std::string write() const;

 private:
  std::string write_one(Generator& dice) const;

  const SampleConfig& config_;
  models::CausalLm& model_;
  const text::Tokenizer& tokenizer_;
  std::vector<int64_t> prompt_;
  int64_t new_tokens_ = 0;  // what the context has room for, if that is less than asked for
};

}  // namespace tenon::train
