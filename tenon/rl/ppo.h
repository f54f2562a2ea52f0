// Proximal policy optimization (Schulman et al. 2017): plays a stretch with the policy of now, and makes what went
// better than expected more likely, in steps too small to leave what was seen.
//
//   rl::Ppo agent(environments, {.lr = 3e-4, .entropy = 0.01});
//   agent.train(1'000'000);
//
// A policy chooses one of the actions, or draws each number of an action from a normal distribution whose deviation is
// learned, too. Acting and learning are captured functions.

#pragma once

#include "tenon/optim/optimizers.h"
#include "tenon/rl/agent.h"

namespace tenon::rl {

/// How Ppo plays and learns.
struct PpoOptions {
  std::vector<int64_t> hidden = {64, 64};  // of the policy and of what says what an observation is worth
  double lr = 3e-4;                        // learning rate of Adam
  int64_t steps = 128;                     // of each environment between two rounds of learning
  int64_t epochs = 4;                      // how often a round looks at what was played
  int64_t minibatches = 4;                 // steps of learning an epoch
  double discount = 0.99;                  // what a reward is worth a step later
  double trace = 0.95;                     // lambda of generalized advantages: 0 trusts the values, 1 the rewards
  double clip = 0.2;                       // how far the likelihood of an action may move
  double entropy = 0.0;                    // weight of the policy's entropy, which keeps it trying
  double value = 0.5;                      // weight of the error of values
  double max_norm = 0.5;                   // of all gradients
  uint64_t seed = 0;                       // of actions and draws
  Device device;                           // where the networks lie
};

/// Proximal policy optimization.
class Ppo : public Agent {
 public:
  /// Fails with one line where options are out of range.
  explicit Ppo(Environments& environments, const PpoOptions& options = {});

  void act(std::span<const float> observations, std::span<float> actions) override;
  std::vector<std::pair<std::string, nn::Module*>> networks() override;
  NamedTensors state() const override;
  void load(const NamedTensors& state) override;

 protected:
  int64_t round() override;
  double loss() const override;

 private:
  /// Where the parts of a minibatch stand in the one stretch of numbers that is sent.
  struct Layout {
    int64_t observations, actions, likelihoods, advantages, returns, size;
  };
  /// What was played in a round, a row a step of an environment.
  struct Stretch {
    std::vector<float> observations, actions;
    std::vector<double> likelihoods, rewards, values, advantages, returns;
    std::vector<uint8_t> ends;
  };

  Tensor outputs(const Tensor& observations);
  Tensor step(const Tensor& sent);
  Tensor likelihoods(const Tensor& outputs, const Tensor& actions, Tensor& entropy) const;
  double draw(std::span<const float> outputs, std::span<float> action);
  void play();
  void weigh();
  void learn();
  std::span<const float> outputs_of(std::span<const float> observations);

  PpoOptions options_;
  int64_t choices_, width_;  // outputs of the policy, numbers of an action as it is sent
  Layout layout_{};
  nn::Sequential policy_, value_;
  Tensor log_deviation_;  // of continuous actions
  std::unique_ptr<optim::Adam> adam_;
  Compiled<Tensor, 1> outputs_;
  Compiled<Tensor, 1> step_;
  Stretch stretch_;
  std::vector<float> sent_, last_outputs_, deviations_;
  Tensor observations_there_, sent_there_;  // on the device
  Tensor loss_;
};

}  // namespace tenon::rl
