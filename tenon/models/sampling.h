// Choosing tokens: from logits to a draw, on the device.
//
// In this order, as transformers does it: the repetition penalty, the temperature, top_k, top_p, min_p. A Sampler keeps
// the numbers as Scalars, so that a captured step serves other values of them; what changes the operations themselves
// (whether a filter acts, and top_k, which is a size) needs another one.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/scalar.h"

namespace tenon::models {

/// How tokens are drawn, and when a text ends.
struct GenerateOptions {
  int64_t new_tokens = 64;                     // the most that are added
  double temperature = 0;                      // 0: always the most likely token
  int64_t top_k = 0;                           // draw among this many most likely tokens; 0: among all
  double top_p = 1;                            // and among the fewest that have this probability together
  std::optional<int64_t> stop = {};            // ends the text when drawn
  Generator* generator = nullptr;              // the default one unless given
  double min_p = 0;                            // and among those with this share of the highest probability
  double repetition_penalty = 1;               // above 1: tokens of the prompt and the text become less likely (CTRL)
  std::vector<int64_t> stop_tokens = {};       // more tokens that end the text
  std::vector<std::string> stop_strings = {};  // for TextWriter: the text ends right before one of these
};

/// Fails with one line where an option is out of range.
///   models::check({.temperature = 0.8, .top_p = 0.9});
void check(const GenerateOptions& options);

/// Draws tokens by options that may change from step to step.
///   models::Sampler sampler({.temperature = 0.8});
///   Tensor tokens = sampler.draw(zeros({2, 50}), {}, nullptr);
class Sampler {
 public:
  explicit Sampler(const GenerateOptions& options, Device device = {});

  /// Whether these options take the same operations.
  bool fits(const GenerateOptions& options) const;
  /// Takes the numbers of options that fit.
  void set(const GenerateOptions& options);
  /// Whether repeated tokens become less likely.
  bool has_penalty() const { return has_penalty_; }

  /// Tokens (batch,) for logits (batch, vocabulary). `seen`, bool of the same shape, says what the penalty acts on.
  Tensor draw(const Tensor& logits, const Tensor& seen, Generator* generator) const;

 private:
  Tensor only_likely(Tensor logits) const;

  bool is_greedy_, has_penalty_, has_top_p_, has_min_p_;
  int64_t top_k_;
  Scalar temperature_, penalty_, top_p_, log_min_p_;
};

/// Tokens (batch,) drawn from logits (batch, vocabulary), of which `seen` have been used; none unless given.
///   models::draw(tensor({{0.0, 5.0, 1.0}}));  // [1]
Tensor draw(const Tensor& logits, const GenerateOptions& options = {}, const Tensor& seen = Tensor());

}  // namespace tenon::models
