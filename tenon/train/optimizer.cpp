// Names of a config to constructors.

#include "tenon/train/optimizer.h"

#include <cmath>
#include <numbers>

#include "tenon/base/error.h"
#include "tenon/train/optimizer_table.h"

namespace tenon::train {
namespace {

std::vector<optim::ParamGroup> groups_of(const Config& config, const std::vector<Tensor>& parameters) {
  const OptimizerConfig& o = config.optimizer;
  if (o.weight_decay > 0 && o.decay == "matrices") return optim::decay_matrices_only(parameters);
  std::vector<optim::ParamGroup> one{{.parameters = parameters}};
  if (o.decay == "none") one[0].weight_decay = 0;
  return one;
}

// Cycles without end, the first restart_every long, each restart_factor times as long as the one before. Not
// optim::cosine, which cuts a given length into cycles: here a run that is made longer keeps the cycles it had.
optim::Schedule restarts_of(const ScheduleConfig& s, double last) {
  const auto rising = optim::constant(s.warmup_steps);
  return [rising, last, warmup = s.warmup_steps, first = static_cast<double>(s.restart_every),
          longer = s.restart_factor](int64_t step) {
    if (step < warmup) return rising(step);
    double at = static_cast<double>(step - warmup), length = first;
    for (; at >= length; length *= longer) at -= length;
    return last + (1 - last) * (1 + std::cos(std::numbers::pi * at / length)) / 2;
  };
}

optim::Schedule schedule_of(const Config& config) {
  const ScheduleConfig& s = config.schedule;
  const optim::ScheduleOptions options{.warmup = s.warmup_steps, .last = s.min_lr / config.optimizer.lr};
  const int64_t total = config.decay_steps();
  if (s.kind == "constant") return optim::constant(s.warmup_steps);
  if (s.kind == "linear") return optim::linear(total, options);
  if (s.kind == "cosine") return optim::cosine(total, options);
  if (s.kind == "step") return optim::stepwise(s.step_every, s.gamma, s.warmup_steps);
  if (s.kind == "exponential") return optim::exponential(s.gamma, s.warmup_steps);
  if (s.kind == "cosine_restarts") return restarts_of(s, options.last);
  return s.warmup_steps == 0
             ? optim::one_cycle(total)
             : optim::one_cycle(total, static_cast<double>(s.warmup_steps) / static_cast<double>(total));
}

}  // namespace

std::unique_ptr<optim::Optimizer> make_optimizer(const Config& config, const std::vector<Tensor>& parameters) {
  std::unique_ptr<optim::Optimizer> made;
  for_each_optimizer([&](const OptimizerRow& row, const auto& make) {
    if (row.name == config.optimizer.kind) made = make(groups_of(config, parameters), config.optimizer);
  });
  if (!made) base::fail("config", "optimizer.kind is {}, which no optimizer is called", config.optimizer.kind);
  return made;
}

LearningRate::LearningRate(const Config& config, optim::Optimizer& optimizer) : optimizer_(optimizer) {
  const ScheduleConfig& s = config.schedule;
  if (s.kind == "plateau") {
    plateau_.emplace(
        optimizer,
        optim::PlateauOptions{.factor = s.gamma, .patience = s.patience, .least = s.min_lr, .warmup = s.warmup_steps});
  } else {
    scheduler_.emplace(optimizer, schedule_of(config));
  }
}

void LearningRate::set(int64_t updates) {
  if (scheduler_) scheduler_->set(updates);
  if (plateau_) {
    for (; updates_ < updates; ++updates_) plateau_->step();
  }
  updates_ = updates;
}

void LearningRate::observe(double validation_loss) {
  if (plateau_) plateau_->observe(validation_loss);
}

std::map<std::string, double> LearningRate::state() const {
  return plateau_ ? plateau_->state() : std::map<std::string, double>{};
}

void LearningRate::load(const std::map<std::string, double>& state) {
  if (!plateau_) return;
  plateau_->load(state);
  updates_ = static_cast<int64_t>(state.at("step"));
}

}  // namespace tenon::train
