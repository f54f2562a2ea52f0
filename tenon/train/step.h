// TrainingStep: batches in, updated weights out, recorded once and replayed.
//
// A step whose loss or gradients are not finite changes no weight, and neither does any after it: when somebody looks,
// some steps later, everything is as it was before the bad one, which can then be run again, op by op, to name the op
// that broke.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tenon/data/loader.h"
#include "tenon/models/causal_lm.h"
#include "tenon/optim/grad_scaler.h"
#include "tenon/optim/optimizer.h"
#include "tenon/tensor/compile.h"
#include "tenon/train/config.h"

namespace tenon::train {

/// The loss of a batch by the config's method. Masks are drawn from `dice`.
class LossOf {
 public:
  LossOf(const Config& config, const models::CausalLm& model) : config_(config), model_(model) {}
  Tensor operator()(const Tensor& ids, const Tensor& targets, Generator* dice = nullptr) const;

 private:
  const Config& config_;
  const models::CausalLm& model_;
};

class TrainingStep {
 public:
  TrainingStep(const Config& config, models::CausalLm& model, optim::Optimizer& optimizer);
  ~TrainingStep();
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Submits one update.
  void run(const data::Batch& batch);

  /// What the steps since the last look did; waits for them.
  struct Look {
    double loss = 0;           // mean
    double gradient_norm = 0;  // of the last one, before clipping
    bool is_finite = true;
    std::optional<double> loss_scale;
  };
  Look look();
  /// Whether all steps so far were finite; waits for them and forgets nothing.
  bool is_finite() const { return !broken_.item<bool>(); }

  /// Steps since the last look, up to the first that was not finite; waits for them.
  int64_t good_steps() const { return steps_.item<int64_t>(); }

  /// Runs a batch op by op and returns what the first op that makes a NaN says; empty where none does.
  std::string explain(const data::Batch& batch);

  /// Beyond weights and moments: counters and the loss scale.
  std::map<std::string, Tensor> state() const;
  void load(const std::map<std::string, Tensor>& state);

 private:
  std::vector<Tensor> update(const Tensor& ids, const Tensor& targets);
  std::string overflowing_gradient() const;
  std::pair<Tensor, Tensor> upload(const data::Batch& batch) const;

  const Config& config_;
  models::CausalLm& model_;
  optim::Optimizer& optimizer_;
  LossOf loss_of_;
  std::optional<optim::GradScaler> scaler_;
  Tensor loss_sum_, steps_, norm_, broken_;  // on the device, between looks
  std::unique_ptr<Compiled<std::vector<Tensor>, 2>> captured_;
};

/// The type that products take under a precision; f32 for none.
DType product_dtype(const Config& config);

}  // namespace tenon::train
