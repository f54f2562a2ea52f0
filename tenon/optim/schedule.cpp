// Schedules as closures over their few numbers.

#include "tenon/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tenon::optim {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) base::fail("schedule", "{}", what);
}

double half_cosine(double from, double to, double share) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * std::clamp(share, 0.0, 1.0))) / 2;
}

double rising(int64_t step, int64_t warmup) { return static_cast<double>(step + 1) / static_cast<double>(warmup + 1); }

// `after(k)`: the factor k steps behind the warm-up.
template <typename F>
Schedule warmed(int64_t warmup, F after) {
  require(warmup >= 0, "the warm-up must not be negative");
  return [warmup, after](int64_t step) { return step < warmup ? rising(step, warmup) : after(step - warmup); };
}

// Base rates of groups with a rate of their own; those without share the optimizer's.
std::vector<double> own_rates(const Optimizer& optimizer) {
  std::vector<double> rates;
  for (size_t g = 0; g < optimizer.groups(); ++g) rates.push_back(optimizer.has_own_lr(g) ? optimizer.lr(g) : -1);
  return rates;
}

void set_rates(Optimizer& optimizer, double base, const std::vector<double>& own, double factor, double least) {
  optimizer.set_lr(std::max(base * factor, least));
  for (size_t g = 0; g < own.size(); ++g) {
    if (own[g] >= 0) optimizer.set_lr(g, std::max(own[g] * factor, least));
  }
}

}  // namespace

Schedule constant(int64_t warmup) {
  return warmed(warmup, [](int64_t) { return 1.0; });
}

Schedule linear(int64_t total, const ScheduleOptions& options) {
  require(total > options.warmup, "a linear schedule must be longer than its warm-up");
  const auto length = static_cast<double>(total - options.warmup);
  return warmed(options.warmup, [length, last = options.last](int64_t step) {
    return 1 + (last - 1) * std::min(1.0, static_cast<double>(step) / length);
  });
}

Schedule cosine(int64_t total, const ScheduleOptions& options, int64_t cycles, double longer) {
  require(total > options.warmup, "a cosine schedule must be longer than its warm-up");
  require(cycles >= 1 && longer > 0, "a cosine schedule has at least one cycle, of positive length");
  double parts = 0, part = 1;
  for (int64_t i = 0; i < cycles; ++i, part *= longer) parts += part;
  const double first = static_cast<double>(total - options.warmup) / parts;
  return warmed(options.warmup, [=, last = options.last](int64_t step) {
    double at = static_cast<double>(step), length = first;
    for (int64_t i = 1; i < cycles && at >= length; ++i) {
      at -= length;
      length *= longer;
    }
    return half_cosine(1, last, at / length);
  });
}

Schedule one_cycle(int64_t total, double rise, double start, double end) {
  require(total > 1 && rise > 0 && rise < 1, "a cycle has more than one step and rises for a share of it");
  require(start > 0 && end > 0, "the divisors of a cycle must be positive");
  const double top = rise * static_cast<double>(total) - 1, bottom = static_cast<double>(total) - 1;
  const std::vector<Phase> phases{{top, 1 / start, 1}, {bottom, 1, 1 / (start * end)}};
  return [=](int64_t step) { return along(phases, Annealing::cosine, std::min(static_cast<double>(step), bottom)); };
}

Schedule stepwise(int64_t every, double factor, int64_t warmup) {
  require(every > 0 && factor > 0, "a stepwise schedule takes a positive number of steps and a positive factor");
  return warmed(warmup, [=](int64_t step) { return std::pow(factor, static_cast<double>(step / every)); });
}

Schedule exponential(double factor, int64_t warmup) {
  require(factor > 0, "an exponential schedule takes a positive factor");
  return warmed(warmup, [=](int64_t step) { return std::pow(factor, static_cast<double>(step)); });
}

Schedule multiplicative(std::function<double(int64_t step)> factor) {
  return [factor = std::move(factor)](int64_t step) {
    double product = 1;
    for (int64_t n = 1; n <= step; ++n) product *= factor(n);
    return product;
  };
}

Schedule sequential(std::vector<Schedule> schedules, std::vector<int64_t> milestones) {
  require(!schedules.empty() && milestones.size() + 1 == schedules.size(),
          "a milestone lies between every two schedules");
  require(std::is_sorted(milestones.begin(), milestones.end()), "milestones are in order");
  return [schedules = std::move(schedules), milestones = std::move(milestones)](int64_t step) {
    const auto place = std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin();
    return schedules[static_cast<size_t>(place)](place == 0 ? step : step - milestones[static_cast<size_t>(place) - 1]);
  };
}

Schedule chained(std::vector<Schedule> schedules) {
  return [schedules = std::move(schedules)](int64_t step) {
    double product = 1;
    for (const Schedule& one : schedules) product *= one(step);
    return product;
  };
}

// ---- PyTorch's ----

Course::operator Schedule() const {
  return [at = at](int64_t step) { return at(static_cast<double>(step), 1); };
}

Course step_lr(double every, double gamma) {
  require(every > 0, "a stepwise schedule takes a positive number of steps");
  return {[=](double step, double base) { return base * std::pow(gamma, std::floor(step / every)); },
          [=](double step, double rate, double, bool) {
            return step != 0 && std::fmod(step, every) == 0 ? rate * gamma : rate;
          }};
}

Course multi_step_lr(std::vector<double> milestones, double gamma) {
  std::sort(milestones.begin(), milestones.end());
  return {[=](double step, double base) {
            const auto passed = std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin();
            return base * std::pow(gamma, static_cast<double>(passed));
          },
          [=](double step, double rate, double, bool) {
            const auto times = std::count(milestones.begin(), milestones.end(), step);
            return times == 0 ? rate : rate * std::pow(gamma, static_cast<double>(times));
          }};
}

Course constant_lr(double factor, double total) {
  require(factor > 0 && factor <= 1, "a constant factor lies above 0 and is at most 1");
  return {[=](double step, double base) { return step < total ? base * factor : base; },
          [=](double step, double rate, double, bool) {
            if (step == 0) return rate * factor;
            return step == total ? rate * (1 / factor) : rate;
          }};
}

Course linear_lr(double start, double end, double total) {
  require(start > 0 && start <= 1, "a linear schedule starts at a factor above 0, which is at most 1");
  require(end >= 0 && end <= 1, "a linear schedule ends at a factor between 0 and 1");
  const double rise = end - start;
  return {
      [=](double step, double base) { return base * (total > 0 ? start + rise * std::min(total, step) / total : end); },
      [=](double step, double rate, double, bool begins) {
        if (step == 0) return rate * start;
        if (begins || step > total) return rate;
        return rate * std::max(1 + rise / (total * start + (step - 1) * rise), 0.0);  // rounding may lead below
      }};
}

Course exponential_lr(double gamma) {
  return {[=](double step, double base) { return base * std::pow(gamma, step); },
          [=](double, double rate, double, bool begins) { return begins ? rate : rate * gamma; }};
}

Course polynomial_lr(double total, double power) {
  require(total > 0, "a polynomial schedule takes a positive number of steps");
  return {[=](double step, double base) { return base * std::pow(1 - std::min(total, step) / total, power); },
          [=](double step, double rate, double, bool begins) {
            if (begins || step > total) return rate;
            return rate * std::pow((1 - step / total) / (1 - (step - 1) / total), power);
          }};
}

Course cosine_annealing_lr(double half, double least) {
  require(half > 0, "a cosine takes a positive number of steps");
  const auto height = [=](double step) { return 1 + std::cos(std::numbers::pi * step / half); };
  return {[=](double step, double base) { return least + (base - least) * height(step) / 2; },
          [=](double step, double rate, double base, bool begins) {
            if (begins) return rate;
            if (std::fmod(step - 1 - half, 2 * half) == 0)  // at the bottom, from which no factor leads up
              return rate + (base - least) * (1 - std::cos(std::numbers::pi / half)) / 2;
            return least + (rate - least) * (height(step) / height(step - 1));
          }};
}

Course warm_restarts_lr(double first, double longer, double least) {
  require(first > 0 && longer >= 1, "restarts take a positive number of steps, and get no shorter");
  const auto at = [=](double step, double base) {
    const Restart now = restart_at(step, first, longer);
    return between(Annealing::cosine, base, least, now.at / now.length);
  };
  return {at, [=](double step, double, double base, bool) { return at(step, base); }};
}

Restart restart_at(double step, double first, double longer) {
  require(first > 0 && longer >= 1, "restarts take a positive number of steps, and get no shorter");
  if (longer == 1) return {std::fmod(step, first), first};
  Restart now{step, first};
  while (now.at >= now.length) {
    now.at -= now.length;
    now.length *= longer;
  }
  return now;
}

Restart next_restart(const Restart& now, double longer) {
  if (now.at + 1 < now.length) return {now.at + 1, now.length};
  return {std::fmod(now.at + 1, now.length), now.length * longer};
}

double between(Annealing how, double from, double to, double share) {
  if (how == Annealing::linear) return from + (to - from) * share;
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
}

double along(const std::vector<Phase>& phases, Annealing how, double step) {
  require(!phases.empty(), "a schedule has at least one phase");
  double start = 0;
  size_t i = 0;
  for (; i + 1 < phases.size() && step > phases[i].end; ++i) start = phases[i].end;
  const double length = phases[i].end - start;
  return between(how, phases[i].from, phases[i].to, length == 0 ? 1 : (step - start) / length);
}

double one_cycle_at(const OneCycle& cycle, double step, double first, double top, double last) {
  const double end = cycle.total - 1, peak = cycle.rise * cycle.total - 1;
  std::vector<Phase> phases{{peak, first, top}, {end, top, last}};
  if (cycle.three_phases) phases = {phases[0], {2 * cycle.rise * cycle.total - 2, top, first}, {end, first, last}};
  return std::max(along(phases, cycle.how, step), 0.0);
}

Cycle cycle_at(double step, double length, double rising) {
  require(length > 0 && rising > 0, "a cycle rises for a positive number of steps");
  const double place = 1 + step / length, number = std::floor(place), share = place - number;
  return {number, share <= rising ? share / rising : (share - 1) / (rising - 1)};
}

double height_of(const CyclicOptions& options, double number, double step) {
  switch (options.height) {
    case CycleHeight::halved: return std::pow(0.5, number - 1);
    case CycleHeight::powers: return std::pow(options.gamma, step);
    default: return 1;
  }
}

Schedule cyclic(double most, const CyclicOptions& options) {
  return [=](int64_t step) {
    const auto at = static_cast<double>(step);
    const double length = options.up + options.down;
    const Cycle now = cycle_at(at, length, options.up / length);
    return between(Annealing::linear, 1, most, now.share * height_of(options, now.number, at));
  };
}

Scheduler::Scheduler(Optimizer& optimizer, Schedule schedule)
    : optimizer_(optimizer), schedule_(std::move(schedule)), base_(optimizer.lr()), own_(own_rates(optimizer)) {
  set(0);
}

void Scheduler::set(int64_t step) {
  require(step >= 0, "a step must not be negative");
  step_ = step;
  set_rates(optimizer_, base_, own_, schedule_(step), 0);
}

Plateau::Plateau(Optimizer& optimizer, const PlateauOptions& options)
    : optimizer_(optimizer),
      options_(options),
      base_(optimizer.lr()),
      seen_{options.rises ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()},
      own_(own_rates(optimizer)) {
  require(options.factor > 0 && options.factor < 1, "the factor of a plateau must lie between 0 and 1");
  require(options.patience >= 0 && options.cooldown >= 0 && options.warmup >= 0, "counts must not be negative");
  apply();
}

void Plateau::apply() {
  const double warm = step_ < options_.warmup ? rising(step_, options_.warmup) : 1;
  set_rates(optimizer_, base_, own_, factor_ * warm, step_ < options_.warmup ? 0 : options_.least);
}

void Plateau::step() {
  ++step_;
  if (step_ <= options_.warmup) apply();
}

bool observe(Observed& so_far, const PlateauOptions& options, double value) {
  const double sign = options.rises ? 1 : -1;
  const double mark =
      options.absolute ? so_far.best + sign * options.threshold : so_far.best * (1 + sign * options.threshold);
  ++so_far.bad;
  if (sign * value > sign * mark) so_far = {value, 0, so_far.cooling};
  if (so_far.cooling > 0) {
    --so_far.cooling;
    so_far.bad = 0;
  }
  if (so_far.bad <= options.patience) return false;
  so_far.cooling = options.cooldown;
  so_far.bad = 0;
  return true;
}

double lowered(double rate, const PlateauOptions& options) {
  const double next = std::max(rate * options.factor, options.least);
  return rate - next > options.eps ? next : rate;
}

void Plateau::observe(double loss) {
  if (!optim::observe(seen_, options_, loss)) return;
  factor_ *= options_.factor;
  apply();
}

std::map<std::string, double> Plateau::state() const {
  return {{"factor", factor_},
          {"best", seen_.best},
          {"step", static_cast<double>(step_)},
          {"bad", static_cast<double>(seen_.bad)},
          {"cooling", static_cast<double>(seen_.cooling)}};
}

void Plateau::load(const std::map<std::string, double>& state) {
  for (const char* name : {"factor", "best", "step", "bad", "cooling"})
    require(state.contains(name), "the state of a plateau is incomplete");
  factor_ = state.at("factor");
  seen_ = {state.at("best"), static_cast<int64_t>(state.at("bad")), static_cast<int64_t>(state.at("cooling"))};
  step_ = static_cast<int64_t>(state.at("step"));
  apply();
}

}  // namespace tenon::optim
