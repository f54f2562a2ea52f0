// TrainingStep: batches in, updated weights out, recorded once and replayed.
//
// A step whose loss or gradients are not finite changes no weight, and neither does any after it: when somebody looks,
// some steps later, everything is as it was before the bad one, which can then be run again, op by op, to name the op
// that broke.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/optim/grad_scaler.h"
#include "tenon/optim/optimizer.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/compile.h"
#include "tenon/train/config.h"

namespace tenon::train {

/// The mean loss of a micro-batch; see Task::loss.
using LossFunction = std::function<Tensor(std::span<const Tensor> batch)>;

class TrainingStep {
 public:
  TrainingStep(const Config& config, nn::Module& model, LossFunction loss, optim::Optimizer& optimizer);
  ~TrainingStep();
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Submits one update.
  void run(std::span<const Tensor> batch);

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
  std::string explain(std::span<const Tensor> batch);

  /// Puts the means of weights and of running statistics in the place of these, or back; nothing where no means are
  /// kept (optimizer.average). In between nothing is trained.
  void swap_average();

  /// Beyond weights and moments: counters, the loss scale, and means of running statistics.
  std::map<std::string, Tensor> state() const;
  void load(const std::map<std::string, Tensor>& state);

 private:
  std::vector<Tensor> update(std::span<const Tensor> batch);
  void move_averages(const Tensor& is_applied);
  Tensor loss_of_part(std::span<const Tensor> batch, int64_t part) const;
  std::string overflowing_gradient() const;

  const Config& config_;
  nn::Module& model_;
  LossFunction loss_;
  optim::Optimizer& optimizer_;
  std::optional<optim::GradScaler> scaler_;
  Tensor loss_sum_, steps_, norm_, broken_;  // on the device, between looks
  // Running statistics of the model by their names, and their means; empty where no means are kept.
  std::map<std::string, Tensor> statistics_, averages_;
  std::optional<CompiledFunction> captured_;
};

/// While alive, products of this thread are as training.precision says.
class ProductPrecision {
 public:
  explicit ProductPrecision(const Config& config);

 private:
  std::optional<Autocast> lower_;
  AllowTf32 tf32_;
};

}  // namespace tenon::train
