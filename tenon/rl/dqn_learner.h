// Deep Q-learning as a schedule: play a game with some moves at random, keep what happened, learn from what is kept.

#pragma once

#include <vector>

#include "tenon/rl/dqn.h"
#include "tenon/rl/games.h"
#include "tenon/rl/learner.h"

namespace tenon::rl {

/// The learner "dqn".
///   rl::DqnLearner learner{rl::DqnConfig()};
///   std::vector<rl::Episode> ended;
///   learner.play(ended);
class DqnLearner : public Learner {
 public:
  explicit DqnLearner(const DqnConfig& config);

  void play(std::vector<Episode>& ended) override;
  double epsilon() const override { return exploration_.at(episodes_); }
  double loss() const override { return dqn_.loss(); }
  int64_t learning_steps() const override { return dqn_.learning_steps(); }
  bool is_finite() const override { return first_not_finite(dqn_.state()).empty(); }
  void choose(std::span<const Board> boards, std::span<Move> moves) override;
  NamedTensors state() const override;
  void load(const NamedTensors& state) override;
  nn::Module& network() override { return dqn_.network(); }

  /// From now on as if so many episodes had been played: for measurements at another epsilon.
  void set_episodes(int64_t episodes);

 private:
  void learn();

  DqnConfig config_;
  Games games_;    // one
  Random random_;  // of moves and of draws
  Replay replay_;
  NStep n_step_;
  Exploration exploration_;
  Dqn dqn_;
  int64_t episodes_ = 0, moves_ = 0;
};

}  // namespace tenon::rl
