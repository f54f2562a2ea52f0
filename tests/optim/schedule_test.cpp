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
