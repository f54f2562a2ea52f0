// The loss of a language model over a whole set, in nats: every token told once, in windows of the context.

#pragma once

#include <memory>

#include "tenon/data/tokens.h"
#include "tenon/models/causal_lm.h"
#include "tenon/tensor/compile.h"
#include "tenon/train/config.h"
#include "tenon/train/language_loss.h"
#include "tenon/train/task.h"

namespace tenon::train {

/// Keeps its recording from one evaluation to the next.
class Evaluation {
 public:
  Evaluation(const Config& config, models::CausalLm& model);
  /// Windows side by side, `batch` at a time, at most `most_batches` of them (0: all, and what is left behind the last
  /// whole window). The first token alone is not told: nothing stands before it. Dropout is off meanwhile.
  Evaluated run(const data::Tokens& tokens, int64_t batch, int64_t length, int64_t most_batches = 0);

 private:
  const Config& config_;
  models::CausalLm& model_;
  LanguageLoss loss_of_;
  Generator masks_;  // the same masks every time
  Compiled<Tensor, 2> captured_;
};

}  // namespace tenon::train
