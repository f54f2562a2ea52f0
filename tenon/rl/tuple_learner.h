// Many games at once, valued by a TupleNetwork: every captured step chooses a move in each of them and learns from the
// moves before.

#pragma once

#include <vector>

#include "tenon/rl/games.h"
#include "tenon/rl/learner.h"
#include "tenon/rl/table_sharing.h"
#include "tenon/rl/tuples.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/scalar.h"

namespace tenon::rl {

/// The learner "tuples".
///   rl::DqnConfig config;
///   rl::set(config, "learner=tuples");
///   auto learner = rl::make_learner(config);
class TupleLearner : public Learner {
 public:
  explicit TupleLearner(const DqnConfig& config);

  void play(std::vector<Episode>& ended) override;
  /// One move in each game, learning from the one before; a game that is over is learned from and begun anew.
  void move_all(std::vector<Episode>& ended);
  /// The games as they stand.
  const Games& games() const { return games_; }
  double epsilon() const override { return 0; }  // the tiles that appear are chance enough
  double loss() const override;
  int64_t learning_steps() const override { return steps_; }
  bool is_finite() const override { return true; }  // each step looks, and throws
  void choose(std::span<const Board> boards, std::span<Move> moves) override;
  NamedTensors state() const override;
  void load(const NamedTensors& state) override;
  nn::Module& network() override { return network_; }

 private:
  static void look_at(const Board& board, std::span<int32_t> places, std::span<float> gained);
  void require_finite() const;
  std::vector<Tensor> step(const Tensor& places, const Tensor& numbers);
  Tensor best(const Tensor& places, const Tensor& gained) const;
  double rate() const;

  DqnConfig config_;
  Games games_;
  TupleNetwork network_;
  Compiled<std::vector<Tensor>, 2> step_;
  Compiled<Tensor, 2> best_;
  std::vector<int32_t> places_;   // four afterstates of each game, then those it moved to before
  std::vector<float> numbers_;    // gained (games, 4), whether it goes on (games), how much it learns (games)
  std::vector<int32_t> chosen_;   // the moves of the last step
  std::vector<bool> has_before_;  // whether a game has an afterstate to learn for
  TableSharing sharing_;
  Tensor last_;  // the mean square of the last changes
  int64_t episodes_ = 0, steps_ = 0;
};

}  // namespace tenon::rl
