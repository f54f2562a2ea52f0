// Agent: what learns to act in environments, and plays in them.
//
//   rl::Environments poles(8, [] { return std::make_unique<rl::CartPole>(); });
//   rl::Ppo agent(poles);
//   agent.train(100'000, [](const rl::Progress& now) {
//     fmt::print("{} steps, mean return {:.0f}\n", now.steps, now.mean_return);
//     return now.mean_return < 475;  // until it plays well
//   });
//   rl::CartPole pole;
//   const std::vector<rl::Played> played = rl::play_episodes(agent, pole, 100);

#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <string>

#include "tenon/nn/containers.h"
#include "tenon/rl/environment.h"
#include "tenon/tensor/compile.h"

namespace tenon::rl {

/// How training goes.
struct Progress {
  int64_t steps = 0;                                              // of all environments together
  int64_t episodes = 0;                                           // that have ended
  double mean_return = std::numeric_limits<double>::quiet_NaN();  // total reward of an episode, of the last 100
  double loss = std::numeric_limits<double>::quiet_NaN();         // of the last round
  double steps_per_second = 0;                                    // since train() was called
};

/// What learns in environments: the base of Ppo and DeepQ.
///   rl::Environments poles(2, [] { return std::make_unique<rl::CartPole>(); });
///   std::unique_ptr<rl::Agent> agent = std::make_unique<rl::Ppo>(poles);
///   agent->train(256);
class Agent {
 public:
  /// The environments are the caller's and outlive the agent.
  explicit Agent(Environments& environments, const Device& device);
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Plays and learns until the environments have made `steps` more steps together, or a little above. `observe` is
  /// asked after every round of learning whether to go on.
  void train(int64_t steps, const std::function<bool(const Progress&)>& observe = {});

  /// The best actions by what was learned so far, one a row of observations, without chance.
  virtual void act(std::span<const float> observations, std::span<float> actions) = 0;
  /// The networks that it acts and learns with, by name.
  virtual std::vector<std::pair<std::string, nn::Module*>> networks() = 0;

  /// All that decides how it goes on, the environments among it: an agent that is saved and loaded learns what it would
  /// have learned. Shares memory with the agent where it can.
  virtual NamedTensors state() const;
  /// Fails where these are of another agent, or not finite.
  virtual void load(const NamedTensors& state);

  /// The environments it acts in; the steps they have made together.
  Environments& environments() { return environments_; }
  int64_t steps() const { return steps_; }

 protected:
  static constexpr uint64_t kOfAgent = 0x4147454E54;  // a stream of chance apart from those of environments
  /// One round of playing and learning; returns how many steps the environments made.
  virtual int64_t round() = 0;
  virtual double loss() const = 0;

  size_t rows() const { return environments_.size(); }
  size_t columns() const { return static_cast<size_t>(environments_.observation_size()); }

  Environments& environments_;
  Device device_;
  Random random_;  // of actions and of draws

 private:
  int64_t steps_ = 0, episodes_ = 0;
  std::deque<double> returns_;  // of the last episodes
};

/// Plays whole episodes with the best actions; the seeds of their chance are drawn from `seed`.
std::vector<Played> play_episodes(Agent& agent, Environment& environment, int64_t episodes, uint64_t seed = 0);

/// Layers of these widths with tanh or relu between them, orthogonal weights, and a last one whose weights are scaled
/// by `last_gain`.
///   nn::Sequential network;
///   rl::add_layers(network, 4, {16}, 2, true, 0.01);
///   network(zeros({1, 4})).shape();  // (1, 2)
void add_layers(nn::Sequential& network, int64_t in, const std::vector<int64_t>& hidden, int64_t out, bool has_tanh,
                double last_gain);

}  // namespace tenon::rl
