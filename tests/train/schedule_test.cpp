// The learning rates of a config are those that docs/config.md describes.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tensor/creation.h"
#include "tenon/train/optimizer.h"

namespace tenon::train {
namespace {

// The rates of updates 0, 1, ... as a run sets them, with lr 1.
std::vector<double> rates(const std::vector<std::string>& settings, int64_t count) {
  Config config;
  config.optimizer.lr = 1;
  config.training.steps = count;
  for (const std::string& setting : settings) set(config, setting);
  validate(config);
  const auto optimizer = make_optimizer(config, {zeros({2}).requires_grad_()});
  LearningRate rate(config, *optimizer);
  std::vector<double> all;
  for (int64_t update = 0; update < count; ++update) {
    rate.set(update);
    all.push_back(rate.now());
  }
  return all;
}

size_t highest(const std::vector<double>& all) {
  return static_cast<size_t>(std::max_element(all.begin(), all.end()) - all.begin());
}

TEST(Rates, OneCycleRisesOverTheWarmup) {
  EXPECT_EQ(highest(rates({"schedule.kind=one_cycle", "schedule.warmup_steps=40"}, 100)), 39u);
  EXPECT_EQ(highest(rates({"schedule.kind=one_cycle"}, 100)), 29u);  // three tenths of all
}

TEST(Rates, OneCycleEndsWhereItIsToldTo) {
  const auto all = rates({"schedule.kind=one_cycle", "schedule.decay_steps=50"}, 100);
  EXPECT_EQ(highest(all), 14u);
  EXPECT_LT(all[49], 1e-5);
  EXPECT_EQ(all[49], all[99]);
}

TEST(Rates, FirstCycleIsAsLongAsAskedForAndTheNextOnesLonger) {
  const auto all =
      rates({"schedule.kind=cosine_restarts", "schedule.restart_every=10", "schedule.restart_factor=1.5"}, 60);
  for (const size_t start : {0, 10, 25}) EXPECT_EQ(all[start], 1) << start;
  EXPECT_DOUBLE_EQ(all[5], 0.5);
  EXPECT_LT(all[9], 0.03);
  EXPECT_LT(all[24], 0.02);
  EXPECT_GT(all[48], 0.99);  // the third is 22.5 long
}

TEST(Rates, CyclesDoNotDependOnTheLengthOfTheRun) {
  const std::vector<std::string> settings = {"schedule.kind=cosine_restarts", "schedule.restart_every=7",
                                             "schedule.restart_factor=2", "schedule.warmup_steps=3",
                                             "schedule.min_lr=0.1"};
  const auto brief = rates(settings, 30), longer = rates(settings, 300);
  EXPECT_EQ(brief, std::vector<double>(longer.begin(), longer.begin() + 30));
  EXPECT_EQ(brief[0], 0.25);
  EXPECT_EQ(brief[3], 1);
  EXPECT_GE(*std::min_element(longer.begin() + 3, longer.end()), 0.1);
}

TEST(Rates, CosineEndsAtItsFloor) {
  const auto all = rates({"schedule.min_lr=0.1", "schedule.decay_steps=50", "schedule.warmup_steps=9"}, 100);
  EXPECT_DOUBLE_EQ(all[0], 0.1);
  EXPECT_EQ(all[9], 1);
  EXPECT_DOUBLE_EQ(all[50], 0.1);
  EXPECT_DOUBLE_EQ(all[99], 0.1);
}

TEST(Rates, PlateauFallsAfterItsPatience) {
  Config config;
  config.optimizer.lr = 1;
  for (const char* setting : {"schedule.kind=plateau", "schedule.patience=1", "schedule.gamma=0.5"})
    set(config, setting);
  const auto optimizer = make_optimizer(config, {zeros({2}).requires_grad_()});
  LearningRate rate(config, *optimizer);
  std::vector<double> seen;
  for (const double loss : {3.0, 2.0, 2.0, 2.0, 2.0, 1.0}) {
    rate.observe(loss);
    seen.push_back(rate.now());
  }
  EXPECT_EQ(seen, (std::vector<double>{1, 1, 1, 0.5, 0.5, 0.5}));
}

}  // namespace
}  // namespace tenon::train
