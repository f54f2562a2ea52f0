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

/// The beginning and the end of a schedule.
struct ScheduleOptions {
  int64_t warmup = 0;  // steps over which the factor rises evenly from 1 / (warmup + 1) to 1
  double last = 0;     // the factor at the end
};

/// 1, after the warm-up.
///   optim::constant(3)(0);  // 0.25
Schedule constant(int64_t warmup = 0);
/// Falls evenly from 1 to `last` at step `total`, and stays.
///   optim::linear(10)(5);  // 0.5
Schedule linear(int64_t total, const ScheduleOptions& options = {});
/// Half a cosine from 1 to `last` at step `total`. With `cycles` above 1 it starts again so many times; each cycle is
/// `longer` times as long as the one before.
///   optim::cosine(10, {.last = 0.1})(10);  // 0.1
Schedule cosine(int64_t total, const ScheduleOptions& options = {}, int64_t cycles = 1, double longer = 1);
/// Rises from 1 / start to 1 over the first `rise` of all steps, then falls to 1 / (start * end), both as half cosines.
///   optim::one_cycle(100)(30);  // 0.9995
Schedule one_cycle(int64_t total, double rise = 0.3, double start = 25, double end = 1e4);
/// Times `factor` every `every` steps.
///   optim::stepwise(10)(20);  // 0.01
Schedule stepwise(int64_t every, double factor = 0.1, int64_t warmup = 0);
/// Times `factor` every step.
///   optim::exponential(0.5)(3);  // 0.125
Schedule exponential(double factor, int64_t warmup = 0);

/// Times `factor(n)` at every step n from 1 on.
///   optim::multiplicative([](int64_t) { return 0.5; })(2);  // 0.25
Schedule multiplicative(std::function<double(int64_t step)> factor);
/// One schedule after the other: each begins, at its own step 0, at its milestone, of which there is one less.
///   optim::sequential({optim::constant(), optim::exponential(0.5)}, {10})(12);  // 0.25
Schedule sequential(std::vector<Schedule> schedules, std::vector<int64_t> milestones);
/// Several at once: their factors multiply.
///   optim::chained({optim::exponential(0.5), optim::exponential(0.5)})(1);  // 0.25
Schedule chained(std::vector<Schedule> schedules);

/// A schedule of PyTorch's, which goes on from the rate that there is now, whoever set it: several multiply, and one
/// that is set by hand is gone on from. `at` is the rate that it makes of a base rate alone. Where a Schedule is taken,
/// it is its factors of a base rate of 1.
///   optim::Course course = optim::exponential_lr(0.5);
///   course.at(3, 8);  // 1
struct Course {
  std::function<double(double step, double base)> at;  // the rate of a step
  /// The rate of a step, from that of the step before; `begins`: the schedule begins there.
  std::function<double(double step, double rate, double base, bool begins)> next;

  /// Its factors.
  operator Schedule() const;  // NOLINT(google-explicit-constructor): a course is given where a schedule is taken
};

/// Times gamma every `every` steps.
///   optim::step_lr(10).at(20, 1);  // 0.01
Course step_lr(double every, double gamma = 0.1);
/// Times gamma at each of these steps; one that is there twice counts twice.
///   optim::multi_step_lr({10, 15}).at(12, 1);  // 0.1
Course multi_step_lr(std::vector<double> milestones, double gamma = 0.1);
/// A factor for the first `total` steps.
///   optim::constant_lr(0.5, 5).at(3, 1);  // 0.5
Course constant_lr(double factor = 1.0 / 3, double total = 5);
/// Evenly from one factor to another over `total` steps.
///   optim::linear_lr(0.5, 1, 10).at(5, 1);  // 0.75
Course linear_lr(double start = 1.0 / 3, double end = 1, double total = 5);
/// Times gamma every step.
///   optim::exponential_lr(0.5).at(2, 1);  // 0.25
Course exponential_lr(double gamma);
/// Falls to 0 as a power of the steps that are left of `total`.
///   optim::polynomial_lr(10).at(5, 1);  // 0.5
Course polynomial_lr(double total = 5, double power = 1);
/// A cosine from the rate to `least` at step `half`, and back, and so on.
///   optim::cosine_annealing_lr(10).at(5, 1);  // 0.5
Course cosine_annealing_lr(double half, double least = 0);
/// Half cosines from the rate to `least`, one after the other: the first over so many steps, each `longer` times as
/// long as the one before.
///   optim::warm_restarts_lr(10).at(10, 1);  // 1
Course warm_restarts_lr(double first, double longer = 1, double least = 0);

/// Where a step lies in half cosines that start again.
struct Restart {
  double at = 0, length = 1;  // steps since it started, and how many there are
};
Restart restart_at(double step, double first, double longer);
/// A step further.
Restart next_restart(const Restart& now, double longer);

enum class Annealing : uint8_t { cosine, linear };
/// A share of the way from one number to another.
double between(Annealing how, double from, double to, double share);
/// A stretch of a schedule: from one number to another, up to a step.
struct Phase {
  double end, from, to;
};
/// Where phases, one after the other, stand at a step.
double along(const std::vector<Phase>& phases, Annealing how, double step);

/// A cycle of PyTorch's OneCycleLR: from a first value to the one at the top, and then to a last one; in three phases
/// it comes back to the first before.
struct OneCycle {
  double total, rise = 0.3;           // steps, and the share of them that it rises for
  bool three_phases = false;          // whether it comes back to the first value before it goes to the last
  Annealing how = Annealing::cosine;  // the shape of its phases
};
/// Its value at a step, which is not negative: the curve goes on after the last step.
///   optim::one_cycle_at({.total = 100}, 29, 0.04, 1, 0.0001);  // 1
double one_cycle_at(const OneCycle& cycle, double step, double first, double top, double last);

/// How high cycles rise: all to the top, each half as high as the one before, or to powers of gamma.
enum class CycleHeight : uint8_t { same, halved, powers };  // PyTorch's triangular, triangular2 and exp_range
/// How long cycles are, and how high.
struct CyclicOptions {
  double up = 2000, down = 2000;           // steps of a cycle
  CycleHeight height = CycleHeight::same;  // of one cycle and the next
  double gamma = 1;                        // whose powers are the heights
};
/// The cycle of a step, counted from 1, and how far up it stands: 0 at the ends and 1 at the top.
struct Cycle {
  double number = 1, share = 0;
};
/// Of cycles of `length` steps, which rise for a share of them.
Cycle cycle_at(double step, double length, double rising);
/// How high a cycle rises that is the `number`th, at a step.
double height_of(const CyclicOptions& options, double number, double step);
/// Up from the base rate to `most` times it and down again, over and over.
///   optim::cyclic(10, {.up = 5, .down = 5})(5);  // 10
Schedule cyclic(double most, const CyclicOptions& options = {});

/// Sets the rates of an optimizer: base rate times factor.
///   optim::Scheduler schedule(optimizer, optim::exponential(0.5));
///   schedule.step();
///   optimizer.lr();  // 0.05
class Scheduler {
 public:
  Scheduler(Optimizer& optimizer, Schedule schedule);
  /// After an update: sets the rate of the next.
  void step() { set(step_ + 1); }
  /// Goes to a step, after a resume say.
  void set(int64_t step);
  /// Steps so far.
  int64_t steps() const { return step_; }

 private:
  Optimizer& optimizer_;
  Schedule schedule_;
  double base_;
  std::vector<double> own_;  // base rates of groups
  int64_t step_ = 0;
};

/// When the rate falls, and by how much.
struct PlateauOptions {
  double factor = 0.1;      // the rate falls by
  int64_t patience = 10;    // observations without progress before the rate falls
  double threshold = 1e-4;  // progress is a fall by this share
  int64_t cooldown = 0;     // observations after a fall that do not count
  double least = 0;         // the rate stays above
  int64_t warmup = 0;       // updates over which the rate rises evenly first
  bool rises = false;       // what is observed gets better by rising, as an accuracy does
  bool absolute = false;    // the threshold is a distance, not a share
  double eps = 0;           // a rate that would fall by no more stays
};
/// What a plateau remembers of what it has observed.
struct Observed {
  double best;
  int64_t bad = 0, cooling = 0;  // observations without progress, and those that do not count
};
/// Takes one more; whether the rate falls now.
bool observe(Observed& so_far, const PlateauOptions& options, double value);
/// A rate that falls.
double lowered(double rate, const PlateauOptions& options);
/// Lowers the rate when an observed loss stops falling.
///   optim::Plateau plateau(optimizer, {.factor = 0.5, .patience = 2});
///   plateau.observe(0.7);
class Plateau {
 public:
  explicit Plateau(Optimizer& optimizer, const PlateauOptions& options = {});
  /// After an update: matters during the warm-up only.
  void step();
  /// After an evaluation: what it found.
  void observe(double loss);

  /// What it has observed, for a checkpoint, and back.
  std::map<std::string, double> state() const;
  void load(const std::map<std::string, double>& state);

 private:
  void apply();

  Optimizer& optimizer_;
  PlateauOptions options_;
  double base_, factor_ = 1;
  Observed seen_;
  std::vector<double> own_;
  int64_t step_ = 0;
};

}  // namespace tenon::optim
