// The loss of a language model by the config's method: the next token, or tokens behind masks.

#pragma once

#include "tenon/models/causal_lm.h"
#include "tenon/tensor/creation.h"
#include "tenon/train/config.h"

namespace tenon::train {

class LanguageLoss {
 public:
  LanguageLoss(const Config& config, const models::CausalLm& model) : config_(config), model_(model) {}
  /// Of ids and targets (batch, time). Masks are drawn from `dice`.
  Tensor operator()(const Tensor& ids, const Tensor& targets, Generator* dice = nullptr) const;

 private:
  const Config& config_;
  const models::CausalLm& model_;
};

}  // namespace tenon::train
