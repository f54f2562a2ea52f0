// The filters find the lowest logit that stays and drop those below it, so that none needs to know where a token stood
// before it was sorted.

#include "tenon/models/sampling.h"

#include <cmath>
#include <limits>

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

using base::fail;

constexpr float kLowest = std::numeric_limits<float>::lowest();

Tensor without_those_below(const Tensor& logits, const Tensor& last) {
  return masked_fill(logits, logits < last, kLowest);
}

}  // namespace

void check(const GenerateOptions& options) {
  if (!(options.temperature >= 0)) fail("generate", "temperature cannot be negative, got {}", options.temperature);
  if (options.top_k < 0) fail("generate", "top_k cannot be negative, got {}", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) fail("generate", "top_p must lie in 0..1, got {}", options.top_p);
  if (!(options.min_p >= 0 && options.min_p <= 1)) fail("generate", "min_p must lie in 0..1, got {}", options.min_p);
  if (!(options.repetition_penalty > 0) || std::isinf(options.repetition_penalty))
    fail("generate", "repetition_penalty must be positive, got {}", options.repetition_penalty);
  if (options.new_tokens < 0) fail("generate", "cannot make {} tokens", options.new_tokens);
}

Sampler::Sampler(const GenerateOptions& options, Device device)
    : is_greedy_(options.temperature == 0),
      has_penalty_(options.repetition_penalty != 1),
      has_top_p_(options.top_p < 1),
      has_min_p_(options.min_p > 0),
      top_k_(options.top_k),
      temperature_(1, DType::f32, device),
      penalty_(1, DType::f32, device),
      top_p_(1, DType::f32, device),
      log_min_p_(0, DType::f32, device) {
  set(options);
}

bool Sampler::fits(const GenerateOptions& options) const {
  if (is_greedy_ != (options.temperature == 0) || has_penalty_ != (options.repetition_penalty != 1)) return false;
  const bool same_filters =
      top_k_ == options.top_k && has_top_p_ == (options.top_p < 1) && has_min_p_ == (options.min_p > 0);
  return is_greedy_ || same_filters;
}

void Sampler::set(const GenerateOptions& options) {
  check(options);
  temperature_.set(options.temperature);
  penalty_.set(options.repetition_penalty);
  top_p_.set(options.top_p);
  if (has_min_p_) log_min_p_.set(std::log(options.min_p));
}

Tensor Sampler::only_likely(Tensor logits) const {
  const bool has_top_k = top_k_ > 0 && top_k_ < logits.size(-1);
  Tensor sorted;
  if (has_top_k) {
    sorted = topk(logits, top_k_, -1).first;
    logits = without_those_below(logits, sorted.narrow(-1, top_k_ - 1, 1));
  }
  if (has_top_p_) {
    if (!has_top_k) sorted = sort(logits, -1, true).first;  // else the few that stay are sorted already
    const Tensor probability = softmax(sorted, -1);
    const Tensor stays = cumsum(probability, -1) - probability < top_p_;  // what stands before is not yet enough
    logits = without_those_below(logits, amin(where(stays, sorted, -kLowest), {-1}, true));
  }
  if (has_min_p_) logits = without_those_below(logits, amax(logits, {-1}, true) + log_min_p_);
  return logits;
}

// The largest of logits with Gumbel noise is a draw with their probabilities (Gumbel, 1954): no sum over the
// vocabulary, no second pass.
Tensor Sampler::draw(const Tensor& given, const Tensor& seen, Generator* generator) const {
  if (given.dim() != 2) fail("generate", "draws from logits (batch, vocabulary), got {}", ir::to_string(given.shape()));
  const NoGrad drawing;
  Tensor logits = given.to(DType::f32);
  if (has_penalty_ && seen.defined())
    logits = where(seen, where(logits > 0, logits / penalty_, logits * penalty_), logits);
  if (is_greedy_) return logits.argmax(-1);
  const Tensor likely = only_likely(logits / temperature_);
  const Tensor even = rand(likely.shape(), Options(DType::f32, likely.device()), generator);
  const Tensor waiting = clamp(neg(log1p(neg(even))), 1e-30, {});
  return (likely - log(waiting)).argmax(-1);
}

Tensor draw(const Tensor& logits, const GenerateOptions& options, const Tensor& seen) {
  return Sampler(options, logits.device()).draw(logits, seen, options.generator);
}

}  // namespace tenon::models
