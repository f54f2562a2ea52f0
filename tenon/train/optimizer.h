// The optimizer and the learning rates that a config describes.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/optim/optimizers.h"
#include "tenon/optim/schedule.h"
#include "tenon/train/config.h"

namespace tenon::train {

std::unique_ptr<optim::Optimizer> make_optimizer(const Config& config, const std::vector<Tensor>& parameters);

/// The learning rate of every step: a function of its number, but for plateau, which follows the validation loss.
class LearningRate {
 public:
  LearningRate(const Config& config, optim::Optimizer& optimizer);

  /// Sets the rate of the update after so many others.
  void set(int64_t updates);
  double now() const { return optimizer_.lr(); }
  void observe(double validation_loss);

  /// What resuming needs beyond the number of the step.
  std::map<std::string, double> state() const;
  void load(const std::map<std::string, double>& state);

 private:
  optim::Optimizer& optimizer_;
  std::optional<optim::Scheduler> scheduler_;
  std::optional<optim::Plateau> plateau_;
  int64_t updates_ = 0;
};

}  // namespace tenon::train
