// Agents: that they learn what they should in environments of one's own, and go on bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tenon/rl/deep_q.h"
#include "tenon/rl/ppo.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::rl {
namespace {

// Arms that pay with different chances; every pull is an episode.
class Bandit : public Environment {
 public:
  explicit Bandit(std::vector<double> chances) : chances_(std::move(chances)) {}
  int64_t observation_size() const override { return 1; }
  Actions actions() const override { return {.count = static_cast<int64_t>(chances_.size())}; }
  void reset(uint64_t seed, std::span<float> observation) override {
    random_ = Random(seed);
    observation[0] = 1;
  }
  Outcome step(std::span<const float> action, std::span<float> observation) override {
    observation[0] = 1;
    return {.reward = random_.uniform() < chances_[static_cast<size_t>(action[0])] ? 1.0 : 0.0, .terminated = true};
  }

 private:
  std::vector<double> chances_;
  Random random_;
};

// Observes what it is told to.
class Fixed : public Environment {
 public:
  explicit Fixed(float observed, double reward = 0, int64_t size = 1) : observed_(observed), reward_(reward), size_(size) {}
  int64_t observation_size() const override { return size_; }
  Actions actions() const override { return {.count = 2}; }
  void reset(uint64_t, std::span<float> observation) override { std::ranges::fill(observation, 0.0F); }
  Outcome step(std::span<const float>, std::span<float> observation) override {
    std::ranges::fill(observation, observed_);
    return {.reward = reward_};
  }

 private:
  float observed_;
  double reward_;
  int64_t size_;
};

Environments poles(size_t count, uint64_t seed = 1) {
  return Environments(count, [] { return std::make_unique<CartPole>(); }, seed);
}

double mean_return(Agent& agent, Environment& environment, int64_t episodes) {
  double sum = 0;
  for (const Played& one : play_episodes(agent, environment, episodes, 7)) sum += one.total_reward;
  return sum / static_cast<double>(episodes);
}

// Gymnasium's CartPole-v1 from the same state, pushed right, right, left.
TEST(Environment, ACartPoleMovesAsGymnasiumsDoes) {
  CartPole pole;
  pole.load(std::vector<double>{0.01, -0.02, 0.03, 0.04, 0});
  std::vector<float> observation(4);
  for (const float push : {1.0F, 1.0F, 0.0F}) pole.step(std::vector<float>{push}, observation);
  const std::vector<double> expected{0.02048054, 0.17387081, 0.01542103, -0.22513742};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(observation[i], expected[i], 1e-6) << i;
}

TEST(Environment, APendulumMovesAsGymnasiumsDoes) {
  Pendulum pendulum;
  pendulum.load(std::vector<double>{1.0, 0.5, 0});
  std::vector<float> observation(3);
  double rewards = 0;
  for (const float torque : {1.0F, -3.0F, 0.5F}) rewards += pendulum.step(std::vector<float>{torque}, observation).reward;
  const std::vector<double> expected{0.30042720, 0.95380475, 2.39516171, -3.90759576};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(observation[i], expected[i], 1e-5) << i;
  EXPECT_NEAR(rewards, expected[3], 1e-5);
}

TEST(Environment, ManyBesideEachOtherBeginAnewByThemselves) {
  Environments all = poles(3);
  const std::vector<float> first(all.observations().begin(), all.observations().end());
  EXPECT_NE(first[0], first[4]);  // each has its own chance
  const std::vector<float> right(3, 1.0F);
  int64_t steps = 0;
  while (std::ranges::none_of(all.outcomes(), &Outcome::terminated)) {
    all.step(right);
    ++steps;
  }
  const std::vector<Played> ended = all.take_ended();
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended[0].steps, steps);
  EXPECT_EQ(ended[0].total_reward, static_cast<double>(steps));
  const auto at = static_cast<size_t>(std::ranges::find_if(all.outcomes(), &Outcome::terminated) - all.outcomes().begin());
  EXPECT_GT(std::abs(all.next()[at * 4 + 2]), 0.2F);           // where it fell
  EXPECT_LE(std::abs(all.observations()[at * 4 + 2]), 0.05F);  // where the next begins
  EXPECT_TRUE(all.take_ended().empty());
}

TEST(Environment, WhatCannotBeIsRefused) {
  const auto of = [](float observed, double reward) {
    return Environments(2, [=] { return std::make_unique<Fixed>(observed, reward); });
  };
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::vector<float> actions(2, 0.0F);
  EXPECT_EQ(text_of([&] { of(kInfinite, 0).step(actions); }), "[environment] environment 0 observes inf");
  EXPECT_EQ(text_of([&] { of(0, kInfinite).step(actions); }), "[environment] environment 0 gives a reward of inf");
  EXPECT_EQ(text_of([&] { of(0, 0).step(std::vector<float>{0, 2}); }),
            "[environment] there is no action 2 in environment 1; they are 0 to 1");
  EXPECT_EQ(text_of([&] { of(0, 0).step(std::vector<float>{0}); }),
            "[environment] 2 environments take 2 numbers for their actions, not 1");
  int64_t made = 0;
  EXPECT_EQ(text_of([&] { Environments(2, [&] { return std::make_unique<Fixed>(0.0F, 0, ++made); }); }),
            "[environment] environments beside each other observe and do the same things; these differ");
  EXPECT_EQ(text_of([] { poles(0); }), "[environment] 0 environments beside each other; there are 1 to 65536");
}

TEST(Agent, FindsTheArmThatPaysMost) {
  Bandit bandit({0.2, 0.8, 0.5});
  const auto make = [] { return std::make_unique<Bandit>(std::vector<double>{0.2, 0.8, 0.5}); };
  Environments arms(8, make, 3), others(1, make, 3);
  Ppo ppo(arms, {.hidden = {8}, .lr = 1e-2, .steps = 16});
  ppo.train(4000);
  std::vector<float> action(1);
  ppo.act(std::vector<float>{1}, action);
  EXPECT_EQ(action[0], 1);
  DeepQ deep_q(others, {.hidden = {8}, .lr = 1e-3, .batch = 64, .learn_from = 100, .exploration = {.to = 0.5, .over = 1000}});
  deep_q.train(6000);
  deep_q.act(std::vector<float>{1}, action);
  EXPECT_EQ(action[0], 1);
  EXPECT_GT(mean_return(deep_q, bandit, 500), 0.7);
}

TEST(Agent, PpoLearnsToBalanceAPole) {
  Environments all = poles(8);
  Ppo agent(all, {.lr = 1e-3});
  double best = 0;
  agent.train(300'000, [&](const Progress& now) {
    best = std::max(best, now.episodes > 100 ? now.mean_return : 0);
    return best < 475;
  });
  EXPECT_GE(best, 475) << agent.steps();
  CartPole pole;
  EXPECT_GE(mean_return(agent, pole, 100), 475);
}

TEST(Agent, DeepQLearnsToBalanceAPole) {
  Environments all = poles(1);
  DeepQ agent(all);
  CartPole pole;
  do {
    agent.train(5'000);
  } while (agent.steps() < 150'000 && mean_return(agent, pole, 20) < 480);
  EXPECT_GE(mean_return(agent, pole, 100), 475) << agent.steps();
}

TEST(Agent, PpoLearnsToSwingAPendulumUp) {
  Environments all(16, [] { return std::make_unique<Pendulum>(); }, 1);
  Ppo agent(all, {.lr = 1e-3, .steps = 128, .epochs = 10, .minibatches = 32, .discount = 0.9});
  agent.train(150'000);
  Pendulum pendulum;
  EXPECT_GE(mean_return(agent, pendulum, 50), -300);  // without learning about -1200; -150 is as good as it gets
}

template <typename Made>
void expect_to_go_on(const Made& make) {
  Environments here = poles(4), there = poles(4, 9);
  auto agent = make(here);
  agent->train(2000);
  NamedTensors state;
  for (const auto& [name, tensor] : agent->state()) state.emplace(name, tensor.clone().eval());
  auto resumed = make(there);
  resumed->load(state);
  agent->train(1500);
  resumed->train(1500);
  EXPECT_EQ(resumed->steps(), agent->steps());
  const NamedTensors expected = agent->state(), made = resumed->state();
  ASSERT_EQ(made.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(equal(made.at(name), tensor)) << name;
}

TEST(Agent, GoesOnBitForBit) {
  expect_to_go_on([](Environments& all) { return std::make_unique<Ppo>(all, PpoOptions{.hidden = {16}, .steps = 32}); });
  expect_to_go_on([](Environments& all) {
    return std::make_unique<DeepQ>(all, DeepQOptions{.hidden = {16}, .batch = 32, .replay = 1000, .learn_from = 100});
  });
}

TEST(Agent, AStateOfAnotherOneIsRefused) {
  Environments all = poles(2), others = poles(3);
  Ppo agent(all, {.steps = 32}), other(others, {.steps = 32, .minibatches = 3});
  agent.train(64);
  const auto text = [](const NamedTensors& state) {
    std::string written;
    for (const auto& [name, tensor] : state) written += name + tensor.to_string();
    return written;
  };
  const std::string before = text(agent.state());
  EXPECT_EQ(text_of([&] { agent.load(other.state()); }).substr(0, 30), "[2048] random of the saved sta");
  NamedTensors broken = agent.state();
  broken["policy.0.weight"] = full_like(broken["policy.0.weight"], std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(text_of([&] { agent.load(broken); }), "nothing was thrown");
  EXPECT_EQ(text(agent.state()), before);
}

TEST(Agent, OptionsOutOfRangeAreOneLine) {
  Environments all = poles(3);
  Environments pendulums(1, [] { return std::make_unique<Pendulum>(); });
  EXPECT_EQ(text_of([&] { Ppo(all, {.steps = 5}); }),
            "[ppo] 5 steps of 3 environments do not make 4 minibatches of one size");
  EXPECT_EQ(text_of([&] { Ppo(all, {.lr = 0}); }), "[ppo] a learning rate is above 0 and at most 1, not 0");
  EXPECT_EQ(text_of([&] { Ppo(all, {.hidden = {0}}); }),
            "[agent] the width of a hidden layer is 1 to 65536, not 0");
  EXPECT_EQ(text_of([&] { DeepQ agent(pendulums); }),
            "[deep_q] deep Q-learning chooses one of some actions, and these are 1 real numbers; use Ppo");
  EXPECT_EQ(text_of([&] { DeepQ(all, {.batch = 0}); }), "[deep_q] a batch is 1 to 65536, not 0");
}

}  // namespace
}  // namespace tenon::rl
