// Decoder: tokens from prompts, one captured step per token, kept between calls.
//
//   models::Decoder decoder(model);
//   auto texts = decoder.run({{1, 2, 3}, {4}}, {.new_tokens = 40});  // the second prompt is shorter
//   texts = decoder.run({{7, 7}, {8, 9}}, {.new_tokens = 30});       // replays the step of the first call
//
// Prompts of a batch end at the same column of the caches; the shorter ones start later, and nothing looks at what
// stands before them. So a sequence gets the tokens that it gets alone, up to the rounding of larger products.
//
// Texts may be longer than the model's context: when it is full, the model goes on from its second half.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tenon/models/causal_lm.h"
#include "tenon/models/sampling.h"

namespace tenon::models {

/// Writes tokens behind prompts, with a captured step that it keeps.
class Decoder {
 public:
  /// The model must outlive it. Its weights may change between calls.
  explicit Decoder(CausalLm& model);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  using Sequences = std::vector<std::vector<int64_t>>;
  /// Called with each new token; false ends its sequence.
  using OnToken = std::function<bool(size_t sequence, int64_t token)>;

  /// The new tokens of each prompt. One that ends a sequence is the last of them. Runs without dropout, whatever mode
  /// the model is in.
  Sequences run(const Sequences& prompts, const GenerateOptions& options, const OnToken& on_token = {});

  /// Recordings made so far.
  size_t recordings() const;

 private:
  struct Batch;

  Batch& batch_for(int64_t sequences, int64_t columns);
  void check_fits(const Sequences& prompts, const GenerateOptions& options) const;

  CausalLm& model_;
  std::unique_ptr<Batch> batch_;
  size_t earlier_recordings_ = 0;
};

}  // namespace tenon::models
