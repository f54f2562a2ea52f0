// Deep Q-learning (Mnih et al. 2015) in environments of your own, with discrete actions: a network says what each
// action is worth, and learns it from transitions that are kept and drawn again. Dqn is the one for 2048.
//
//   rl::Environments poles(1, [] { return std::make_unique<rl::CartPole>(); });
//   rl::DeepQ agent(poles, {.lr = 1e-3});
//   agent.train(50'000);

#pragma once

#include "tenon/optim/optimizers.h"
#include "tenon/rl/agent.h"
#include "tenon/rl/replay.h"

namespace tenon::rl {

/// How DeepQ plays and learns.
struct DeepQOptions {
  std::vector<int64_t> hidden = {120, 84};  // widths of the hidden layers
  double lr = 1e-3;                         // learning rate of Adam
  double discount = 0.99;                   // what a reward is worth a step later
  int64_t batch = 64;                       // transitions of a step of learning
  int64_t replay = 50'000;                  // transitions that are kept
  int64_t learn_from = 1'000;               // steps of environments before the first step of learning
  int64_t learn_every = 2;                  // steps of environments to a step of learning
  int64_t renew_target_every = 250;         // steps of learning after which the copy for targets is renewed
  bool double_q = true;  // the network chooses the next action, its copy says its worth (van Hasselt et al. 2016)
  double max_norm = 10;  // of all gradients
  Exploration exploration{.from = 1, .to = 0.05, .over = 8'000};   // by steps of environments
  uint64_t seed = 0;                                               // of actions and draws
  Device device;                                                   // where the networks lie
};

/// Deep Q-learning.
class DeepQ : public Agent {
 public:
  /// Fails with one line where options are out of range, or actions are not discrete.
  explicit DeepQ(Environments& environments, const DeepQOptions& options = {});

  void act(std::span<const float> observations, std::span<float> actions) override;
  std::vector<std::pair<std::string, nn::Module*>> networks() override { return {{"network", &network_}}; }
  NamedTensors state() const override;
  void load(const NamedTensors& state) override;

 protected:
  int64_t round() override;
  double loss() const override;

 private:
  /// Where the parts of a batch stand in the one stretch of numbers that is sent.
  struct Layout {
    int64_t observations, next, actions, rewards, discounts, size;
  };
  /// A ring, a row a transition.
  struct Kept {
    std::vector<float> observations, next, actions, rewards, discounts;
    int64_t count = 0, position = 0;
  };

  Tensor step(const Tensor& sent);
  void renew_target();
  void play();
  void learn();
  std::span<const float> values_of(std::span<const float> observations);

  DeepQOptions options_;
  int64_t choices_;
  Layout layout_{};
  nn::Sequential network_, target_;
  std::unique_ptr<optim::Adam> adam_;
  Compiled<Tensor, 1> values_;
  Compiled<Tensor, 1> step_;
  Kept kept_;
  std::vector<float> sent_, last_values_, taken_;
  Tensor observations_there_, sent_there_;  // on the device
  Tensor loss_;
  int64_t played_ = 0, learned_ = 0;  // steps of environments, and of learning
};

}  // namespace tenon::rl
