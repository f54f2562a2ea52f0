// Environment: what an agent acts in, one observation and one action at a time; and many of them beside each other.
//
//   class Corridor : public rl::Environment {  // walk right to the end
//    public:
//     int64_t observation_size() const override { return 1; }
//     rl::Actions actions() const override { return {.count = 2}; }
//     void reset(uint64_t, std::span<float> observation) override { observation[0] = place_ = 0; }
//     rl::Outcome step(std::span<const float> action, std::span<float> observation) override {
//       observation[0] = place_ += action[0] == 1 ? 1.0F : -1.0F;
//       return {.reward = -1, .terminated = place_ == 5};
//     }
//
//    private:
//     float place_ = 0;
//   };
//
// As in Gymnasium, an episode ends by itself (terminated: nothing comes after) or is cut off (truncated: what would
// come after is still worth something).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tenon/rl/random.h"
#include "tenon/rl/saved.h"

namespace tenon::rl {

/// What an action is: one of `count`, numbered from 0; or, where `count` is 0, `size` real numbers, each from `low` to
/// `high`.
struct Actions {
  int64_t count = 0;         // actions to choose from; 0: an action is real numbers
  int64_t size = 0;          // how many of them
  float low = -1, high = 1;  // between these

  /// Whether it is one of `count`.
  bool is_discrete() const { return count > 0; }
  /// How many numbers an action takes: 1, which is its number, or `size`.
  int64_t width() const { return is_discrete() ? 1 : size; }
  bool operator==(const Actions&) const = default;
};

/// What came of an action.
struct Outcome {
  double reward = 0;        // of the action
  bool terminated = false;  // the episode is over
  bool truncated = false;   // it was cut off, by a limit of steps say

  /// Whether no action comes after it in this episode.
  bool ends() const { return terminated || truncated; }
};

/// What an agent acts in: the base of environments of one's own.
///   rl::CartPole pole;
///   std::vector<float> observation(pole.observation_size());
///   pole.reset(7, observation);
class Environment {
 public:
  Environment() = default;
  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// How many numbers an observation has.
  virtual int64_t observation_size() const = 0;
  /// What may be done.
  virtual Actions actions() const = 0;
  /// Begins an episode, all chance of which comes from the seed, and writes its first observation.
  virtual void reset(uint64_t seed, std::span<float> observation) = 0;
  /// Takes an action, of actions().width() numbers, and writes what is observed next.
  virtual Outcome step(std::span<const float> action, std::span<float> observation) = 0;

  /// All that decides how the episode goes on, so that an agent that is saved and loaded goes on with it. An
  /// environment that gives nothing begins a new episode then.
  virtual std::vector<double> state() const { return {}; }
  /// Goes on from such a state.
  virtual void load(std::span<const double> /*state*/) {}
};

/// An episode that has ended.
struct Played {
  double total_reward = 0;  // the sum of all rewards
  int64_t steps = 0;        // of the episode
};

/// Many environments of one kind beside each other, each with its own stream of chance. An episode that ends is
/// followed by a new one at once.
///   rl::Environments poles(8, [] { return std::make_unique<rl::CartPole>(); });
///   poles.observations().size();  // 32
class Environments {
 public:
  using Make = std::function<std::unique_ptr<Environment>()>;
  /// Fails where there are none, or they differ in what is observed and done.
  Environments(size_t count, const Make& make, uint64_t seed = 0);

  /// How many there are; what they have in common.
  size_t size() const { return all_.size(); }
  int64_t observation_size() const { return columns_; }
  const Actions& actions() const { return actions_; }

  /// What each observes now, a row each: after the end of an episode, the first observation of the next.
  std::span<const float> observations() const { return now_; }
  /// One action in each, a row each. Fails, naming the environment, where an observation or a reward is no finite
  /// number.
  void step(std::span<const float> actions);
  /// What came of the last actions, and what they led to, before new episodes began.
  std::span<const Outcome> outcomes() const { return outcomes_; }
  std::span<const float> next() const { return next_; }
  /// Hands over the episodes that have ended since it was called last.
  std::vector<Played> take_ended() { return std::exchange(ended_, {}); }

  /// Everything, as tensors to save.
  NamedTensors state() const;
  /// Fails, having changed nothing, where these are of other environments.
  void load(const NamedTensors& state);

 private:
  std::span<float> row(std::vector<float>& of, size_t i) const;
  void require_finite(std::span<const float> observation, size_t i) const;
  void begin(size_t i);

  std::vector<std::unique_ptr<Environment>> all_;
  int64_t columns_ = 0;
  Actions actions_;
  std::vector<Random> random_;
  std::vector<float> now_, next_;
  std::vector<Outcome> outcomes_;
  std::vector<Played> under_way_, ended_;
};

/// A pole on a cart that is pushed left (0) or right (1), as Barto, Sutton and Anderson (1983) have it: position,
/// speed, angle and turning speed are observed, every step is worth 1 until the pole falls or the cart leaves the
/// track. Cut off after `limit` steps; it is Gymnasium's CartPole-v1.
///   rl::CartPole pole;
///   pole.actions().count;  // 2
class CartPole : public Environment {
 public:
  explicit CartPole(int64_t limit = 500) : limit_(limit) {}

  int64_t observation_size() const override { return 4; }
  Actions actions() const override { return {.count = 2}; }
  void reset(uint64_t seed, std::span<float> observation) override;
  Outcome step(std::span<const float> action, std::span<float> observation) override;
  std::vector<double> state() const override { return {at_[0], at_[1], at_[2], at_[3], static_cast<double>(steps_)}; }
  void load(std::span<const double> state) override;

 private:
  void observe(std::span<float> observation) const;

  int64_t limit_, steps_ = 0;
  double at_[4] = {};
};

/// A pendulum that is swung up by a torque from -2 to 2 and held there: cosine and sine of its angle and its turning
/// speed are observed, and what is lost each step grows with the angle, the speed and the torque. Cut off after `limit`
/// steps; it is Gymnasium's Pendulum-v1.
///   rl::Pendulum pendulum;
///   pendulum.actions().high;  // 2
class Pendulum : public Environment {
 public:
  explicit Pendulum(int64_t limit = 200) : limit_(limit) {}

  int64_t observation_size() const override { return 3; }
  Actions actions() const override { return {.size = 1, .low = -2, .high = 2}; }
  void reset(uint64_t seed, std::span<float> observation) override;
  Outcome step(std::span<const float> action, std::span<float> observation) override;
  std::vector<double> state() const override { return {angle_, speed_, static_cast<double>(steps_)}; }
  void load(std::span<const double> state) override;

 private:
  void observe(std::span<float> observation) const;

  int64_t limit_, steps_ = 0;
  double angle_ = 0, speed_ = 0;
};

}  // namespace tenon::rl
