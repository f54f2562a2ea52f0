// The caches of one batch size are kept at a time: they are the memory that generation takes.

#include "tenon/models/decoder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tenon/base/interrupt.h"
#include "tenon/exec/read_ahead.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

using base::fail;

constexpr int64_t kColumnStep = 64;  // capacities are multiples, so that calls of nearly the same length share a step
constexpr size_t kMostSteps = 4;     // per batch: greedy or not, with which filters

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

// Captured steps draw from a generator that lives as long as they do; the caller's goes on from where it was left.
class Lent {
 public:
  Lent(Generator& own, Generator& callers) : own_(own), callers_(callers) {
    own_.set(callers.seed(), callers.position());
  }
  ~Lent() { callers_.set(own_.seed(), own_.position()); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  Generator &own_, &callers_;
};

// A step that was begun before anybody knew whether it is wanted. If it is not, what it drew was never drawn.
class Begun {
 public:
  explicit Begun(Generator& generator)
      : generator_(generator), seed_(generator.seed()), position_(generator.position()) {}
  ~Begun() {
    if (!is_wanted_) generator_.set(seed_, position_);
  }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  void keep() { is_wanted_ = true; }

 private:
  Generator& generator_;
  uint64_t seed_, position_;
  bool is_wanted_ = false;
};

std::vector<int64_t> tokens_of(const std::vector<std::byte>& bytes) {
  std::vector<int64_t> tokens(bytes.size() / sizeof(int64_t));
  std::memcpy(tokens.data(), bytes.data(), bytes.size());
  return tokens;
}

int64_t longest_of(const Decoder::Sequences& sequences) {
  size_t longest = 0;
  for (const auto& sequence : sequences) longest = std::max(longest, sequence.size());
  return static_cast<int64_t>(longest);
}

// The last tokens of all texts so far. A text that has filled the context goes on behind its second half: keeping all
// but the first token would mean to read the whole context again for every token.
Decoder::Sequences ends_of(const Decoder::Sequences& prompts, const Decoder::Sequences& made, int64_t most) {
  Decoder::Sequences ends;
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::vector<int64_t> all = prompts[i];
    all.insert(all.end(), made[i].begin(), made[i].end());
    const int64_t dropped = std::max<int64_t>(0, std::ssize(all) - most);
    ends.emplace_back(all.begin() + dropped, all.end());
  }
  return ends;
}

// State that captured steps write has memory of its own.
Tensor state(const Tensor& value) { return value.clone().eval(); }

}  // namespace

struct Decoder::Batch {
  struct CapturedStep {
    Sampler sampler;
    std::optional<DType> autocast;
    bool tf32;
    Compiled<Tensor, 1> next;
  };

  Batch(CausalLm& of, int64_t sequences, int64_t columns)
      : model(of), caches(of.make_caches(sequences, columns)), size(sequences), capacity(columns) {
    if (sequences == 1) return;
    starts = state(zeros({sequences}, Options(DType::i64, model.device())));
    for (nn::KvCache& cache : caches) cache.set_starts(starts);
  }

  // Right-aligned: the last tokens of all prompts stand in one column, that of the longest.
  Tensor begin(const Sequences& prompts, bool has_penalty) {
    const auto longest = static_cast<size_t>(longest_of(prompts));
    std::vector<int64_t> ids, first;
    for (const auto& prompt : prompts) {
      first.push_back(static_cast<int64_t>(longest - prompt.size()));
      ids.insert(ids.end(), longest - prompt.size(), prompt[0]);
      ids.insert(ids.end(), prompt.begin(), prompt.end());
    }
    caches[0].rewind();
    if (starts.defined()) starts.copy_(from_vector(first, {size}, Options(DType::i64, model.device())));
    if (has_penalty) mark(prompts);
    return from_vector(ids, {size, static_cast<int64_t>(longest)}, Options(DType::i64, model.device()));
  }

  void mark(const Sequences& prompts) {
    const int64_t vocabulary = model.vocabulary();
    std::vector<uint8_t> used(static_cast<size_t>(size * vocabulary));
    for (size_t i = 0; i < prompts.size(); ++i) {
      for (const int64_t token : prompts[i]) used[i * static_cast<size_t>(vocabulary) + static_cast<size_t>(token)] = 1;
    }
    const Tensor marks = from_vector(used, {size, vocabulary}, Options(model.device())).to(DType::boolean);
    if (seen.defined())
      seen.copy_(marks);
    else
      seen = state(marks);
  }

  // The tokens behind ids (batch, time), as (batch, 1).
  Tensor next(const Tensor& ids, const Sampler& sampler) {
    return sampler.draw(model.next_logits(ids, &caches), seen, &generator).unsqueeze(-1);
  }

  CapturedStep& step_for(const GenerateOptions& options) {
    for (auto step = steps.begin(); step != steps.end(); ++step) {
      if (!(*step)->sampler.fits(options) || (*step)->autocast != autocast_dtype() || (*step)->tf32 != tf32_allowed())
        continue;
      std::rotate(steps.begin(), step, step + 1);
      steps[0]->sampler.set(options);
      return *steps[0];
    }
    if (steps.size() == kMostSteps) {
      earlier_recordings += steps.back()->next.recordings();
      steps.pop_back();
    }
    const Sampler sampler(options, model.device());  // its numbers are shared with the copies
    auto step = compile([this, sampler](const Tensor& token) {
      if (sampler.has_penalty()) {
        const Tensor all = arange(model.vocabulary(), Options(DType::i64, model.device()));
        seen.copy_(logical_or(seen, all == token));
      }
      return next(token, sampler);
    });
    steps.insert(steps.begin(), std::make_unique<CapturedStep>(
                                    CapturedStep{sampler, autocast_dtype(), tf32_allowed(), std::move(step)}));
    return *steps[0];
  }

  size_t recordings() const {
    size_t count = earlier_recordings;
    for (const auto& step : steps) count += step->next.recordings();
    return count;
  }

  CausalLm& model;
  std::vector<nn::KvCache> caches;
  Tensor starts;  // the column in which each sequence starts; undefined for one sequence
  Tensor seen;    // the tokens of each sequence so far, bool (batch, vocabulary); undefined until a penalty asks for it
  Generator generator;
  int64_t size, capacity;
  std::vector<std::unique_ptr<CapturedStep>> steps;  // the latest first
  size_t earlier_recordings = 0;
};

Decoder::Decoder(CausalLm& model) : model_(model) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

size_t Decoder::recordings() const { return earlier_recordings_ + (batch_ ? batch_->recordings() : 0); }

Decoder::Batch& Decoder::batch_for(int64_t sequences, int64_t columns) {
  if (batch_ && batch_->size == sequences && batch_->capacity >= columns) return *batch_;
  earlier_recordings_ = recordings();
  batch_.reset();  // gives its memory back first
  const int64_t rounded = (columns + kColumnStep - 1) / kColumnStep * kColumnStep;
  batch_ = std::make_unique<Batch>(model_, sequences, std::max(columns, std::min(rounded, model_.positions())));
  return *batch_;
}

void Decoder::check_fits(const Sequences& prompts, const GenerateOptions& options) const {
  check(options);
  if (!options.stop_strings.empty()) fail("generate", "strings to stop at need a tokenizer; use TextWriter");
  for (const auto& prompt : prompts) {
    if (prompt.empty()) fail("generate", "the prompt must have at least one token");
    const auto given = static_cast<int64_t>(prompt.size());
    if (given > model_.positions())
      fail("generate", "a prompt of {} tokens is more than the model's {} positions", given, model_.positions());
    for (const int64_t token : prompt) {
      if (token < 0 || token >= model_.vocabulary())
        fail("generate", "token {} of the prompt is none of the model's {}", token, model_.vocabulary());
    }
  }
}

Decoder::Sequences Decoder::run(const Sequences& prompts, const GenerateOptions& options, const OnToken& on_token) {
  check_fits(prompts, options);
  Sequences made(prompts.size());
  if (options.new_tokens == 0 || prompts.empty()) return made;
  const NoGrad inference;
  const EvalMode mode(model_);
  const int64_t longest = longest_of(prompts);
  // The last token is never looked up.
  const int64_t columns = std::min(longest + options.new_tokens - 1, model_.positions());
  Batch& batch = batch_for(static_cast<int64_t>(prompts.size()), columns);
  const Lent lent(batch.generator, options.generator ? *options.generator : default_generator());
  Batch::CapturedStep& step = batch.step_for(options);

  std::vector<bool> ended(prompts.size());
  const auto take = [&](size_t sequence, int64_t token) {
    made[sequence].push_back(token);
    const auto& stops = options.stop_tokens;
    const bool is_stop = token == options.stop || std::find(stops.begin(), stops.end(), token) != stops.end();
    const bool goes_on = !on_token || on_token(sequence, token);
    ended[sequence] = is_stop || !goes_on;
  };
  Tensor tokens = batch.next(batch.begin(prompts, step.sampler.has_penalty()), step.sampler);
  exec::ReadAhead reader(model_.device().id, prompts.size() * sizeof(int64_t));
  int64_t held = longest;  // columns of the caches
  base::InterruptClock clock;
  for (int64_t count = 1;; ++count, ++held) {
    clock.check();
    const bool is_last = count == options.new_tokens, fits = held < model_.positions();
    // Where a device reads by itself, the next step runs while these tokens are on their way and looked at.
    Begun begun(batch.generator);
    Tensor following;
    if (reader.is_possible() && !is_last && fits && reader.start(value_of(tokens.eval())))
      following = step.next(tokens);
    const std::vector<int64_t> drawn = following.defined() ? tokens_of(reader.finish()) : tokens.to_vector<int64_t>();
    for (size_t i = 0; i < drawn.size(); ++i) {
      if (!ended[i]) take(i, drawn[i]);
    }
    const bool all_ended = std::find(ended.begin(), ended.end(), false) == ended.end();
    if (all_ended || is_last) return made;
    begun.keep();
    if (fits) {
      tokens = following.defined() ? following : step.next(tokens);
      continue;
    }
    const Sequences windows = ends_of(prompts, made, std::max<int64_t>(1, model_.positions() / 2));
    tokens = batch.next(batch.begin(windows, false), step.sampler);
    if (step.sampler.has_penalty()) batch.mark(ends_of(prompts, made, std::numeric_limits<int64_t>::max()));
    held = longest_of(windows) - 1;
  }
}

}  // namespace tenon::models
