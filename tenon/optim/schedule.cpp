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

double rising(int64_t step, int64_t warmup) {
  return static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
}

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
  return [=](int64_t step) {
    const auto at = static_cast<double>(step);
    if (at < top) return half_cosine(1 / start, 1, at / top);
    return half_cosine(1, 1 / (start * end), (at - top) / (bottom - top));
  };
}

Schedule stepwise(int64_t every, double factor, int64_t warmup) {
  require(every > 0 && factor > 0, "a stepwise schedule takes a positive number of steps and a positive factor");
  return warmed(warmup, [=](int64_t step) { return std::pow(factor, static_cast<double>(step / every)); });
}

Schedule exponential(double factor, int64_t warmup) {
  require(factor > 0, "an exponential schedule takes a positive factor");
  return warmed(warmup, [=](int64_t step) { return std::pow(factor, static_cast<double>(step)); });
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
      best_(std::numeric_limits<double>::infinity()),
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

void Plateau::observe(double loss) {
  if (loss < best_ * (1 - options_.threshold)) {
    best_ = loss;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ <= options_.patience) return;
  factor_ *= options_.factor;
  cooling_ = options_.cooldown;
  bad_ = 0;
  apply();
}

std::map<std::string, double> Plateau::state() const {
  return {{"factor", factor_}, {"best", best_}, {"step", static_cast<double>(step_)},
          {"bad", static_cast<double>(bad_)}, {"cooling", static_cast<double>(cooling_)}};
}

void Plateau::load(const std::map<std::string, double>& state) {
  for (const char* name : {"factor", "best", "step", "bad", "cooling"})
    require(state.contains(name), "the state of a plateau is incomplete");
  factor_ = state.at("factor");
  best_ = state.at("best");
  step_ = static_cast<int64_t>(state.at("step"));
  bad_ = static_cast<int64_t>(state.at("bad"));
  cooling_ = static_cast<int64_t>(state.at("cooling"));
  apply();
}

}  // namespace tenon::optim
