// Drawing happens on the device and inside of the captured step, so that a token costs one replay and one read.

#include "tenon/models/generate.h"

#include <limits>

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

using base::fail;

constexpr float kLowest = std::numeric_limits<float>::lowest();

void check(const GenerateOptions& options) {
  if (!(options.temperature >= 0)) fail("generate", "temperature cannot be negative, got {}", options.temperature);
  if (options.top_k < 0) fail("generate", "top_k cannot be negative, got {}", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) fail("generate", "top_p must lie in 0..1, got {}", options.top_p);
}

// Both filters find the lowest logit that stays and drop those below it.
Tensor only_likely(Tensor logits, const GenerateOptions& options) {
  const int64_t vocabulary = logits.size(-1);
  if (options.top_k > 0 && options.top_k < vocabulary) {
    const Tensor last = topk(logits, options.top_k, -1).first.narrow(-1, options.top_k - 1, 1);
    logits = masked_fill(logits, logits < last, kLowest);
  }
  if (options.top_p < 1) {
    const Tensor sorted = sort(logits, -1, true).first;
    const Tensor probability = softmax(sorted, -1);
    const Tensor stays = cumsum(probability, -1) - probability < options.top_p;  // what stands before is not yet enough
    const Tensor last = amin(where(stays, sorted, -kLowest), {-1}, true);
    logits = masked_fill(logits, logits < last, kLowest);
  }
  return logits;
}

// The mode is the caller's again in the end, also after an error.
class EvalMode {
 public:
  explicit EvalMode(nn::Module& module) : module_(module), before_(module.is_training()) { module_.eval(); }
  ~EvalMode() { module_.train(before_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  nn::Module& module_;
  bool before_;
};

}  // namespace

// The largest of logits with Gumbel noise is a draw with their probabilities (Gumbel, 1954): no sum over the
// vocabulary, no second pass.
Tensor draw(const Tensor& given, const GenerateOptions& options) {
  check(options);
  if (given.dim() != 2) fail("generate", "draws from logits (batch, vocabulary), got {}", ir::to_string(given.shape()));
  const NoGrad drawing;
  const Tensor logits = given.to(DType::f32);
  if (options.temperature == 0) return logits.argmax(-1);
  const Tensor likely = only_likely(logits / options.temperature, options);
  const Tensor even = rand(likely.shape(), Options(DType::f32, likely.device()), options.generator);
  const Tensor waiting = clamp(neg(log1p(neg(even))), 1e-30, {});
  return (likely - log(waiting)).argmax(-1);
}

std::vector<int64_t> generate(CausalLm& model, const std::vector<int64_t>& prompt, const GenerateOptions& options) {
  check(options);
  const auto given = static_cast<int64_t>(prompt.size());
  if (prompt.empty()) fail("generate", "the prompt must have at least one token");
  if (options.new_tokens < 0) fail("generate", "cannot make {} tokens", options.new_tokens);
  if (given + options.new_tokens > model.positions() + 1) {  // the last token is never looked up
    fail("generate", "{} tokens and {} new ones are more than the model's {} positions", given, options.new_tokens,
         model.positions());
  }
  std::vector<int64_t> tokens = prompt;
  if (options.new_tokens == 0) return tokens;

  const NoGrad inference;
  const EvalMode mode(model);
  std::vector<nn::KvCache> caches = model.make_caches(1, given + options.new_tokens - 1);
  const auto next = [&](const Tensor& ids) { return draw(model.next_logits(ids, &caches), options).unsqueeze(0); };
  auto step = compile(next);
  const Options ids_options(DType::i64, caches[0].keys().device());
  Tensor token = next(from_vector(prompt, {1, given}, ids_options));
  while (true) {
    tokens.push_back(token.item<int64_t>());
    const bool is_last = static_cast<int64_t>(tokens.size()) == given + options.new_tokens;
    if (is_last || (options.stop && tokens.back() == *options.stop)) return tokens;
    token = step(from_vector(std::vector<int64_t>{tokens.back()}, {1, 1}, ids_options));
  }
}

}  // namespace tenon::models
