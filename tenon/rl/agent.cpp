#include "tenon/rl/agent.h"

#include <chrono>
#include <cmath>

#include "tenon/nn/activations.h"
#include "tenon/nn/init.h"
#include "tenon/nn/layers.h"
#include "tenon/rl/diverged.h"
#include "tenon/tensor/autograd.h"

namespace tenon::rl {
namespace {

using base::fail;

constexpr size_t kReturns = 100;  // that a mean is taken of

}  // namespace

Agent::Agent(Environments& environments, const Device& device) : environments_(environments), device_(device) {}

void Agent::train(int64_t steps, const std::function<bool(const Progress&)>& observe) {
  if (steps < 0) fail("train", "an agent makes 0 steps or more, not {}", steps);
  const auto begin = std::chrono::steady_clock::now();
  int64_t made = 0;
  while (made < steps) {
    const int64_t more = round();
    made += more;
    steps_ += more;
    for (const Played& one : environments_.take_ended()) {
      ++episodes_;
      returns_.push_back(one.total_reward);
      if (returns_.size() > kReturns) returns_.pop_front();
    }
    if (!observe) continue;
    Progress now{.steps = steps_, .episodes = episodes_, .loss = loss()};
    double sum = 0;
    for (const double one : returns_) sum += one;
    if (!returns_.empty()) now.mean_return = sum / static_cast<double>(returns_.size());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    now.steps_per_second = static_cast<double>(made) / std::max(passed.count(), 1e-9);
    if (!observe(now)) return;
  }
}

NamedTensors Agent::state() const {
  NamedTensors state;
  add_part(state, "environments", environments_.state());
  state.emplace("agent.random", saved(std::vector<uint64_t>{random_.state()}));
  state.emplace("agent.counts", saved(std::vector<int64_t>{steps_, episodes_}));
  std::vector<int64_t> returns;
  for (const double one : returns_) returns.push_back(std::bit_cast<int64_t>(one));
  state.emplace("agent.returns", saved(returns));
  return state;
}

void Agent::load(const NamedTensors& state) {
  const std::vector<int64_t> counts = numbers(state, "agent.counts", 2), random = numbers(state, "agent.random", 1);
  require_counts("agent.counts", counts);
  const Tensor& returns = find(state, "agent.returns");
  const auto count = static_cast<size_t>(returns.numel());
  if (count > kReturns) fail("agent", "the saved state has {} returns; {} are kept", count, kReturns);
  const std::vector<int64_t> bits = numbers(state, "agent.returns", count);
  environments_.load(part(state, "environments"));
  random_.set_state(static_cast<uint64_t>(random[0]));
  steps_ = counts[0];
  episodes_ = counts[1];
  returns_.clear();
  for (const int64_t one : bits) returns_.push_back(std::bit_cast<double>(one));
}

std::vector<Played> play_episodes(Agent& agent, Environment& environment, int64_t episodes, uint64_t seed) {
  std::vector<float> observation(static_cast<size_t>(environment.observation_size()));
  std::vector<float> action(static_cast<size_t>(environment.actions().width()));
  Random random(seed);
  std::vector<Played> played;
  for (int64_t i = 0; i < episodes; ++i) {
    Played one;
    environment.reset(random.next(), observation);
    for (Outcome made; !made.ends(); ++one.steps) {
      agent.act(observation, action);
      made = environment.step(action, observation);
      one.total_reward += made.reward;
    }
    played.push_back(one);
  }
  return played;
}

void add_layers(nn::Sequential& network, int64_t in, const std::vector<int64_t>& hidden, int64_t out, bool has_tanh,
                double last_gain) {
  const NoGrad setting;
  const auto add = [&](int64_t width, double gain) {
    nn::Linear& made = network.emplace<nn::Linear>(in, width);
    for (auto& [name, parameter] : made.named_parameters()) {
      if (name == "weight")
        nn::init::orthogonal_(parameter, gain);
      else
        nn::init::constant_(parameter, 0);
    }
    in = width;
  };
  for (const int64_t width : hidden) {
    if (width < 1 || width > 65536) fail("agent", "the width of a hidden layer is 1 to 65536, not {}", width);
    add(width, std::sqrt(2.0));
    if (has_tanh)
      network.emplace<nn::Tanh>();
    else
      network.emplace<nn::ReLU>();
  }
  add(out, last_gain);
}

}  // namespace tenon::rl
