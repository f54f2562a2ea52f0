// Two agents learn to balance a pole on a cart: one by proximal policy optimization, one by deep Q-learning.
//
// usage: example_cartpole [--quick]    (--quick: a few steps)

#include <fmt/format.h>
#include <tenon/tenon.h>

#include "arguments.h"

using namespace tenon;

namespace {

double mean_of_100(rl::Agent& agent) {
  rl::CartPole pole;
  double sum = 0;
  for (const rl::Played& one : rl::play_episodes(agent, pole, 100)) sum += one.total_reward;
  return sum / 100;
}

void learn(std::string_view name, rl::Agent& agent, int64_t steps) {
  int64_t shown = 1'000;
  agent.train(steps, [&](const rl::Progress& now) {  // returns are of episodes with chance
    if (now.steps >= shown) {
      fmt::print("{} {:>7} steps  {:>5} episodes  mean return {:>5.1f}  {:.0f} steps/s\n", name, now.steps, now.episodes,
                 now.mean_return, now.steps_per_second);
      shown += 10'000;
    }
    return !(now.episodes > 100 && now.mean_return >= 475);  // of 500: it balances
  });
  fmt::print("{}: mean return of 100 episodes {:.1f}\n", name, mean_of_100(agent));
}

int run(const example::Arguments& arguments) {
  const int64_t steps = arguments.quick ? 2'000 : 300'000;
  const auto pole = [] { return std::make_unique<rl::CartPole>(); };
  rl::Environments eight(8, pole, /*seed=*/1), one(1, pole, /*seed=*/1);
  rl::Ppo ppo(eight, {.lr = 1e-3});
  learn("PPO", ppo, steps);
  rl::DeepQ deep_q(one);
  learn("DQN", deep_q, steps);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[--quick]", run); }
