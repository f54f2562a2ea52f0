// Learning-rate schedules: functions from the step to a factor of the base rate, each with an optional warm-up.
//
//   optim::Scheduler schedule(optimizer, optim::cosine(5000, {.warmup = 100, .last = 0.1}));
//   for (int step = 0; step < 5000; ++step) { train(); schedule.step(); }
//
// A schedule changes a number that captured steps read, so that nothing is ever recorded again.

#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tenon/optim/optimizer.h"

namespace tenon::optim {

/// The factor of update `step`, counted from 0.
using Schedule = std::function<double(int64_t step)>;

struct ScheduleOptions {
  int64_t warmup = 0;  // steps over which the factor rises evenly from 1 / (warmup + 1) to 1
  double last = 0;     // the factor at the end
};

Schedule constant(int64_t warmup = 0);
/// Falls evenly from 1 to `last` at step `total`, and stays.
Schedule linear(int64_t total, const ScheduleOptions& options = {});
/// Half a cosine from 1 to `last` at step `total`. With `cycles` above 1 it starts again so many times; each cycle is
/// `longer` times as long as the one before.
Schedule cosine(int64_t total, const ScheduleOptions& options = {}, int64_t cycles = 1, double longer = 1);
/// Rises from 1 / start to 1 over the first `rise` of all steps, then falls to 1 / (start * end), both as half cosines.
Schedule one_cycle(int64_t total, double rise = 0.3, double start = 25, double end = 1e4);
/// Times `factor` every `every` steps.
Schedule stepwise(int64_t every, double factor = 0.1, int64_t warmup = 0);
/// Times `factor` every step.
Schedule exponential(double factor, int64_t warmup = 0);

/// Sets the rates of an optimizer: base rate times factor.
class Scheduler {
 public:
  Scheduler(Optimizer& optimizer, Schedule schedule);
  /// After an update: sets the rate of the next.
  void step() { set(step_ + 1); }
  /// Goes to a step, after a resume say.
  void set(int64_t step);
  int64_t steps() const { return step_; }

 private:
  Optimizer& optimizer_;
  Schedule schedule_;
  double base_;
  std::vector<double> own_;  // base rates of groups
  int64_t step_ = 0;
};

struct PlateauOptions {
  double factor = 0.1;
  int64_t patience = 10;    // observations without progress before the rate falls
  double threshold = 1e-4;  // progress is a fall by this share
  int64_t cooldown = 0;     // observations after a fall that do not count
  double least = 0;         // the rate stays above
  int64_t warmup = 0;       // updates over which the rate rises evenly first
};
/// Lowers the rate when an observed loss stops falling.
class Plateau {
 public:
  explicit Plateau(Optimizer& optimizer, const PlateauOptions& options = {});
  /// After an update: matters during the warm-up only.
  void step();
  void observe(double loss);

  std::map<std::string, double> state() const;
  void load(const std::map<std::string, double>& state);

 private:
  void apply();

  Optimizer& optimizer_;
  PlateauOptions options_;
  double base_, factor_ = 1, best_;
  std::vector<double> own_;
  int64_t step_ = 0, bad_ = 0, cooling_ = 0;
};

}  // namespace tenon::optim
