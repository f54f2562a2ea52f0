// Learning rates over time.

#include "tenon/optim/schedule.h"

#include <gtest/gtest.h>

#include "tests/error_text.h"
#include "tests/optim/net.h"

namespace tenon::optim {
namespace {

TEST(Schedules, HaveTheirShapes) {
  const Schedule flat = constant(4);
  EXPECT_DOUBLE_EQ(flat(0), 0.2);
  EXPECT_DOUBLE_EQ(flat(3), 0.8);
  EXPECT_DOUBLE_EQ(flat(4), 1);
  const Schedule line = linear(10, {.last = 0.5});
  EXPECT_DOUBLE_EQ(line(0), 1);
  EXPECT_DOUBLE_EQ(line(5), 0.75);
  EXPECT_DOUBLE_EQ(line(20), 0.5);
  const Schedule wave = cosine(110, {.warmup = 10, .last = 0.1});
  EXPECT_DOUBLE_EQ(wave(10), 1);
  EXPECT_NEAR(wave(60), 0.55, 1e-12);
  EXPECT_NEAR(wave(110), 0.1, 1e-12);
  EXPECT_NEAR(wave(500), 0.1, 1e-12);
  const Schedule waves = cosine(30, {}, 2, 2);  // 10 steps, then 20
  EXPECT_DOUBLE_EQ(waves(0), 1);
  EXPECT_NEAR(waves(5), 0.5, 1e-12);
  EXPECT_NEAR(waves(10), 1, 1e-12);
  EXPECT_NEAR(waves(20), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(stepwise(3, 0.5)(7), 0.25);
  EXPECT_DOUBLE_EQ(exponential(0.5)(3), 0.125);
  const Schedule cycle = one_cycle(100);  // as torch.optim.lr_scheduler.OneCycleLR
  EXPECT_NEAR(cycle(0), 0.04, 1e-12);
  EXPECT_NEAR(cycle(29), 1, 1e-12);
  EXPECT_NEAR(cycle(99), 0.04 / 1e4, 1e-12);
}

TEST(Schedules, RefuseWhatMakesNoSense) {
  EXPECT_EQ(text_of([] { linear(10, {.warmup = 10}); }),
            "[schedule] a linear schedule must be longer than its warm-up");
  EXPECT_EQ(text_of([] { exponential(0); }), "[schedule] an exponential schedule takes a positive factor");
}

TEST(Schedules, MoveTheRatesOfAllGroups) {
  Tensor a = ones({4}).clone().requires_grad_(), b = ones({4}).clone().requires_grad_();
  SGD optimizer(std::vector<ParamGroup>{{{a}}, {.parameters = {b}, .lr = 0.5}}, {.lr = 0.1});
  Scheduler schedule(optimizer, exponential(0.5));
  schedule.step();
  EXPECT_DOUBLE_EQ(optimizer.lr(0), 0.05);
  EXPECT_DOUBLE_EQ(optimizer.lr(1), 0.25);
}

TEST(Schedules, APlateauLowersTheRate) {
  Tensor a = ones({4}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{a}, {.lr = 1});
  Plateau plateau(optimizer, {.factor = 0.5, .patience = 1, .least = 0.2});
  for (const double loss : {3.0, 2.0, 2.0}) plateau.observe(loss);
  EXPECT_EQ(optimizer.lr(), 1);
  plateau.observe(2.0);
  EXPECT_EQ(optimizer.lr(), 0.5);
  for (int i = 0; i < 20; ++i) plateau.observe(2.0);
  EXPECT_EQ(optimizer.lr(), 0.2);
}

// ---- PyTorch's; the values are those of torch.optim.lr_scheduler at a rate of 0.5 ----

struct Followed {
  Course course;
  std::vector<double> rates;
};
std::vector<Followed> courses() {
  // clang-format off
  return {
      {step_lr(3, 0.5), {0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125}},
      {multi_step_lr({4, 2, 4}, 0.5), {0.5, 0.5, 0.25, 0.25, 0.0625, 0.0625, 0.0625, 0.0625}},
      {constant_lr(0.25, 3), {0.125, 0.125, 0.125, 0.5, 0.5, 0.5, 0.5, 0.5}},
      {linear_lr(0.25, 0.75, 4), {0.125, 0.1875, 0.25, 0.3125, 0.375, 0.375, 0.375, 0.375}},
      {exponential_lr(0.9), {0.5, 0.45000000000000001, 0.40500000000000003, 0.36450000000000005, 0.32805000000000006, 0.29524500000000009, 0.26572050000000008, 0.23914845000000007}},
      {polynomial_lr(5, 2), {0.5, 0.32000000000000006, 0.17999999999999999, 0.080000000000000016, 0.019999999999999993, 0, 0, 0}},
      {cosine_annealing_lr(3, 0.1), {0.5, 0.40000000000000002, 0.20000000000000007, 0.10000000000000001, 0.19999999999999998, 0.40000000000000024, 0.50000000000000033, 0.40000000000000036}},
      {warm_restarts_lr(2, 2, 0.1), {0.5, 0.30000000000000004, 0.5, 0.44142135623730949, 0.30000000000000004, 0.15857864376269051, 0.5, 0.48477590650225733}},
  };
  // clang-format on
}

TEST(Courses, GiveTheRatesOfABaseRate) {
  for (const auto& [course, rates] : courses()) {
    for (size_t step = 0; step < rates.size(); ++step) EXPECT_NEAR(course.at(step, 0.5), rates[step], 1e-15) << step;
  }
}

TEST(Courses, GoOnFromTheRateOfNow) {
  for (const auto& [course, rates] : courses()) {
    double rate = 0.5, other = 0.5;
    for (size_t i = 0; i < rates.size(); ++i) {
      const auto step = static_cast<int64_t>(i);
      rate = course.next(step, rate, 0.5, i == 0);
      EXPECT_NEAR(rate, rates[i], 1e-15) << i;
      // Two multiply: between them the rate is another.
      other = exponential_lr(0.5).next(step, course.next(step, other, 0.5, i == 0), 0.5, i == 0);
    }
    EXPECT_LT(other, 0.5);
  }
}

TEST(Courses, AreSchedulesOfTheirFactors) {
  Tensor a = ones({4}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{a}, {.lr = 0.5});
  Scheduler schedule(optimizer, multi_step_lr({2}, 0.1));
  schedule.set(2);
  EXPECT_DOUBLE_EQ(optimizer.lr(), 0.05);
}

TEST(Courses, FollowEachOtherAndMultiply) {
  const Schedule one_by_one = sequential({constant_lr(0.25, 3), exponential_lr(0.9)}, {3});
  const Schedule at_once = chained({constant_lr(0.25, 3), exponential_lr(0.9)});
  const Schedule factors = multiplicative([](int64_t step) { return 1 / static_cast<double>(step); });
  const std::vector<double> followed{0.25, 0.25, 0.25, 1, 0.9, 0.81, 0.729},
      multiplied{0.25, 0.225, 0.2025, 0.729, 0.6561}, products{1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24};
  for (size_t i = 0; i < followed.size(); ++i)
    EXPECT_NEAR(one_by_one(static_cast<int64_t>(i)), followed[i], 1e-15) << i;
  for (size_t i = 0; i < multiplied.size(); ++i)
    EXPECT_NEAR(at_once(static_cast<int64_t>(i)), multiplied[i], 1e-15) << i;
  for (size_t i = 0; i < products.size(); ++i) EXPECT_NEAR(factors(static_cast<int64_t>(i)), products[i], 1e-15) << i;
  EXPECT_EQ(text_of([] { sequential({constant()}, {3}); }), "[schedule] a milestone lies between every two schedules");
}

TEST(Courses, RiseAndFallInCycles) {
  const auto expect = [](CycleHeight height, const std::vector<double>& rates) {
    const Schedule cycles = cyclic(2, {.up = 2, .down = 3, .height = height, .gamma = 0.9});
    for (size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(0.5 * cycles(static_cast<int64_t>(i)), rates[i], 1e-15) << i;
  };
  expect(CycleHeight::same, {0.5, 0.75, 1, 5.0 / 6, 2.0 / 3, 0.5, 0.75, 1, 5.0 / 6});
  expect(CycleHeight::halved, {0.5, 0.75, 1, 5.0 / 6, 2.0 / 3, 0.5, 0.625, 0.75, 2.0 / 3});
  expect(CycleHeight::powers, {0.5, 0.725, 0.905, 0.743, 0.60935, 0.5, 0.63286025, 0.73914845, 0.64348907});
}

TEST(Courses, GoAlongPhases) {
  const std::vector<Phase> three{{2, 0.04, 1}, {4, 1, 0.04}, {9, 0.04, 4e-6}};  // OneCycleLR with three_phase
  const std::vector<double> rates{0.04, 0.52, 1, 0.52, 0.04, 0.0320008, 0.0240016, 0.0160024, 0.0080032, 4e-6};
  for (size_t i = 0; i < rates.size(); ++i)
    EXPECT_NEAR(along(three, Annealing::linear, static_cast<double>(i)), rates[i], 1e-15) << i;
}

TEST(Courses, StartAgainLater) {
  EXPECT_EQ(restart_at(7.5, 2, 2).at, 1.5);
  EXPECT_EQ(restart_at(7.5, 2, 2).length, 8);
  Restart now = restart_at(0, 2, 2);
  for (int step = 1; step < 20; ++step) {
    now = next_restart(now, 2);
    EXPECT_EQ(now.at, restart_at(step, 2, 2).at) << step;
    EXPECT_EQ(now.length, restart_at(step, 2, 2).length) << step;
  }
}

TEST(Courses, RefuseWhatMakesNoSense) {
  EXPECT_EQ(text_of([] { step_lr(0); }), "[schedule] a stepwise schedule takes a positive number of steps");
  EXPECT_EQ(text_of([] { linear_lr(0); }),
            "[schedule] a linear schedule starts at a factor above 0, which is at most 1");
}

TEST(Schedules, APlateauMayBeAHeight) {
  const PlateauOptions options{.patience = 1, .threshold = 0.5, .rises = true, .absolute = true};
  Observed seen{0};
  EXPECT_FALSE(observe(seen, options, 1));
  EXPECT_EQ(seen.best, 1);
  EXPECT_FALSE(observe(seen, options, 1.5));  // no more than the threshold above it
  EXPECT_TRUE(observe(seen, options, 1.25));
  EXPECT_EQ(lowered(1, {.factor = 0.5, .least = 0.75}), 0.75);
  EXPECT_EQ(lowered(1, {.factor = 0.5, .eps = 0.5}), 1);
}

TEST(Schedules, NeverRecordACapturedStepAgain) {
  Tensor p = ones({4}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{p}, {.lr = 1});
  Scheduler schedule(optimizer, exponential(0.5));
  auto step = compile([&] {
    Tensor loss = p.sum();
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  for (int i = 0; i < 6; ++i) {
    step();
    schedule.step();
  }
  EXPECT_EQ(step.recordings(), 1u);
  EXPECT_FLOAT_EQ(p.to_vector<float>()[0], 1 - 1.96875f);  // 1 + 1/2 + ... + 1/32
}

}  // namespace
}  // namespace tenon::optim
