#include "tenon/rl/environment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/base/error.h"

namespace tenon::rl {
namespace {

using base::fail;

constexpr int64_t kMostNumbers = int64_t{1} << 24;
constexpr size_t kMostEnvironments = 65536;

void require_actions(const Actions& actions) {
  if (actions.count < 0 || actions.count > kMostNumbers)
    fail("environment", "an environment has {} actions; they are 1 to {}", actions.count, kMostNumbers);
  if (actions.is_discrete()) return;
  if (actions.size < 1 || actions.size > kMostNumbers)
    fail("environment", "actions are one of `count`, or `size` real numbers; both are 0");
  if (!(actions.low < actions.high) || !std::isfinite(actions.low) || !std::isfinite(actions.high))
    fail("environment", "numbers of an action lie from {} to {}, which is no range", actions.low, actions.high);
}

// Numbers of any kind as the tensor that they are saved as.
Tensor bits_of(const std::vector<double>& numbers) {
  std::vector<int64_t> bits;
  for (const double one : numbers) bits.push_back(std::bit_cast<int64_t>(one));
  return saved(bits);
}
std::vector<double> numbers_of(const Tensor& bits) {
  std::vector<double> numbers;
  for (const int64_t one : bits.to_vector<int64_t>()) numbers.push_back(std::bit_cast<double>(one));
  return numbers;
}

void require_state(std::string_view environment, std::span<const double> state, size_t count) {
  const bool are_numbers = std::ranges::all_of(state, [](double one) { return std::isfinite(one); });
  if (state.size() != count || !are_numbers || state.back() < 0)
    fail("environment", "these {} numbers are no state of {}", state.size(), environment);
}

}  // namespace

Environments::Environments(size_t count, const Make& make, uint64_t seed) {
  if (count < 1 || count > kMostEnvironments)
    fail("environment", "{} environments beside each other; there are 1 to {}", count, kMostEnvironments);
  for (size_t i = 0; i < count; ++i) {
    all_.push_back(make());
    if (!all_[i]) fail("environment", "what makes environments gave none");
    random_.emplace_back(seed, i);
  }
  columns_ = all_[0]->observation_size();
  actions_ = all_[0]->actions();
  if (columns_ < 1 || columns_ > kMostNumbers)
    fail("environment", "an observation has {} numbers; it has 1 to {}", columns_, kMostNumbers);
  require_actions(actions_);
  for (const auto& one : all_) {
    if (one->observation_size() != columns_ || one->actions() != actions_)
      fail("environment", "environments beside each other observe and do the same things; these differ");
  }
  now_.resize(count * static_cast<size_t>(columns_));
  next_ = now_;
  outcomes_.resize(count);
  under_way_.resize(count);
  for (size_t i = 0; i < count; ++i) begin(i);
}

std::span<float> Environments::row(std::vector<float>& of, size_t i) const {
  const auto columns = static_cast<size_t>(columns_);
  return std::span(of).subspan(i * columns, columns);
}

void Environments::require_finite(std::span<const float> observation, size_t i) const {
  for (const float one : observation) {
    if (!std::isfinite(one)) fail("environment", "environment {} observes {}", i, one);
  }
}

void Environments::begin(size_t i) {
  under_way_[i] = {};
  all_[i]->reset(random_[i].next(), row(now_, i));
  require_finite(row(now_, i), i);
}

void Environments::step(std::span<const float> actions) {
  const auto width = static_cast<size_t>(actions_.width());
  if (actions.size() != size() * width)
    fail("environment", "{} environments take {} numbers for their actions, not {}", size(), size() * width,
         actions.size());
  for (size_t i = 0; i < size(); ++i) {
    const auto action = actions.subspan(i * width, width);
    const float first = action[0];
    if (actions_.is_discrete() && !(first >= 0 && first < static_cast<float>(actions_.count) && first == std::floor(first)))
      fail("environment", "there is no action {} in environment {}; they are 0 to {}", first, i, actions_.count - 1);
    const Outcome& made = outcomes_[i] = all_[i]->step(action, row(next_, i));
    require_finite(row(next_, i), i);
    if (!std::isfinite(made.reward)) fail("environment", "environment {} gives a reward of {}", i, made.reward);
    under_way_[i].total_reward += made.reward;
    ++under_way_[i].steps;
    if (made.ends()) {
      ended_.push_back(under_way_[i]);
      begin(i);
    } else {
      std::ranges::copy(row(next_, i), row(now_, i).begin());
    }
  }
}

NamedTensors Environments::state() const {
  NamedTensors state;
  std::vector<uint64_t> random;
  std::vector<double> played;
  for (size_t i = 0; i < size(); ++i) {
    random.push_back(random_[i].state());
    played.insert(played.end(), {under_way_[i].total_reward, static_cast<double>(under_way_[i].steps)});
    state.emplace(fmt::format("states.{}", i), bits_of(all_[i]->state()));
  }
  state.emplace("random", saved(random));
  state.emplace("played", bits_of(played));
  state.emplace("observations", bits_of({now_.begin(), now_.end()}));
  return state;
}

void Environments::load(const NamedTensors& state) {
  const std::vector<int64_t> random = numbers(state, "random", size());
  numbers(state, "played", 2 * size());
  numbers(state, "observations", now_.size());
  const std::vector<double> played = numbers_of(find(state, "played"));
  const std::vector<double> observations = numbers_of(find(state, "observations"));
  std::vector<std::vector<double>> states, before;
  for (size_t i = 0; i < size(); ++i) {
    states.push_back(numbers_of(find(state, fmt::format("states.{}", i))));
    before.push_back(all_[i]->state());
    if (states[i].size() != before[i].size())
      fail("environment", "the saved state of environment {} has {} numbers, not {}", i, states[i].size(),
           before[i].size());
  }
  try {
    for (size_t i = 0; i < size(); ++i) all_[i]->load(states[i]);
  } catch (...) {
    for (size_t i = 0; i < size(); ++i) all_[i]->load(before[i]);
    throw;
  }
  for (size_t i = 0; i < size(); ++i) {
    random_[i].set_state(static_cast<uint64_t>(random[i]));
    under_way_[i] = {played[2 * i], static_cast<int64_t>(played[2 * i + 1])};
    std::ranges::transform(std::span(observations).subspan(i * static_cast<size_t>(columns_), static_cast<size_t>(columns_)),
                           row(now_, i).begin(), [](double one) { return static_cast<float>(one); });
    if (states[i].empty()) begin(i);
  }
  ended_.clear();
}

// ---- CartPole ----

namespace {

constexpr double kGravity = 9.8, kCartMass = 1.0, kPoleMass = 0.1, kMass = kCartMass + kPoleMass;
constexpr double kHalfLength = 0.5, kPush = 10.0, kSeconds = 0.02;
constexpr double kMostAngle = 12 * 2 * std::numbers::pi / 360, kMostPlace = 2.4;

}  // namespace

void CartPole::observe(std::span<float> observation) const {
  for (size_t i = 0; i < 4; ++i) observation[i] = static_cast<float>(at_[i]);
}

void CartPole::reset(uint64_t seed, std::span<float> observation) {
  Random random(seed);
  for (double& one : at_) one = random.uniform() * 0.1 - 0.05;
  steps_ = 0;
  observe(observation);
}

Outcome CartPole::step(std::span<const float> action, std::span<float> observation) {
  auto& [place, speed, angle, turning] = at_;
  const double force = action[0] == 1 ? kPush : -kPush;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double pull = (force + kPoleMass * kHalfLength * turning * turning * sine) / kMass;
  const double turning_more = (kGravity * sine - cosine * pull) /
                              (kHalfLength * (4.0 / 3.0 - kPoleMass * cosine * cosine / kMass));
  const double faster = pull - kPoleMass * kHalfLength * turning_more * cosine / kMass;
  place += kSeconds * speed;
  speed += kSeconds * faster;
  angle += kSeconds * turning;
  turning += kSeconds * turning_more;
  ++steps_;
  observe(observation);
  const bool falls = std::abs(place) > kMostPlace || std::abs(angle) > kMostAngle;
  return {.reward = 1, .terminated = falls, .truncated = steps_ >= limit_};
}

void CartPole::load(std::span<const double> state) {
  require_state("CartPole", state, 5);
  std::copy_n(state.begin(), 4, at_);
  steps_ = static_cast<int64_t>(state[4]);
}

// ---- Pendulum ----

namespace {

constexpr double kMostSpeed = 8, kStepSeconds = 0.05, kPull = 10, kWeight = 1, kLength = 1;

}  // namespace

void Pendulum::observe(std::span<float> observation) const {
  observation[0] = static_cast<float>(std::cos(angle_));
  observation[1] = static_cast<float>(std::sin(angle_));
  observation[2] = static_cast<float>(speed_);
}

void Pendulum::reset(uint64_t seed, std::span<float> observation) {
  Random random(seed);
  angle_ = (random.uniform() * 2 - 1) * std::numbers::pi;
  speed_ = random.uniform() * 2 - 1;
  steps_ = 0;
  observe(observation);
}

Outcome Pendulum::step(std::span<const float> action, std::span<float> observation) {
  const double torque = std::clamp(static_cast<double>(action[0]), -2.0, 2.0);
  const double from_top = std::remainder(angle_, 2 * std::numbers::pi);
  const double cost = from_top * from_top + 0.1 * speed_ * speed_ + 0.001 * torque * torque;
  speed_ += (3 * kPull / (2 * kLength) * std::sin(angle_) + 3 / (kWeight * kLength * kLength) * torque) * kStepSeconds;
  speed_ = std::clamp(speed_, -kMostSpeed, kMostSpeed);
  angle_ += speed_ * kStepSeconds;
  ++steps_;
  observe(observation);
  return {.reward = -cost, .truncated = steps_ >= limit_};
}

void Pendulum::load(std::span<const double> state) {
  require_state("Pendulum", state, 3);
  angle_ = state[0];
  speed_ = state[1];
  steps_ = static_cast<int64_t>(state[2]);
}

}  // namespace tenon::rl
