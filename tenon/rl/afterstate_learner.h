// A deep network that plays 2048: it says what afterstates are worth, the boards between a move and the tile that
// appears, and learns by temporal differences from many games beside each other.
//
// Q(board, move) = score of the move + V(afterstate), so that a move needs no search and no exploration: the tiles are
// chance enough. A board is turned and mirrored into the one of its eight symmetries that comes first, so that all
// eight are learned at once. Its pairs of neighbouring cells are looked up, which is a convolution of the cells as
// one-hot vectors, and hidden layers follow. One captured function chooses the moves of all games and learns from the
// moves before.

#pragma once

#include <memory>
#include <vector>

#include "tenon/nn/containers.h"
#include "tenon/optim/optimizers.h"
#include "tenon/rl/games.h"
#include "tenon/rl/learner.h"
#include "tenon/tensor/compile.h"

namespace tenon::rl {

/// The network that says what afterstates are worth.
///   rl::BoardNetwork network({32});
///   network(zeros({1, rl::BoardNetwork::kPairs}, int32)).shape();  // (1,)
class BoardNetwork : public nn::Layer {
 public:
  /// Pairs of neighbours, and entries of the table of each.
  static constexpr int kPairs = 24, kEntries = 256;  // of neighbours, 12 beside and 12 above each other

  /// Hidden layers of these widths, the first of which is the sum of what pairs look up.
  explicit BoardNetwork(const std::vector<int64_t>& hidden);

  /// Places (rows, kPairs) to values (rows).
  Tensor forward(const Tensor& places) const override;
  /// The places of a board in the table, kPairs of them; equal for its eight symmetries.
  static void look_up(const Board& board, std::span<int32_t> places);

  Tensor table, bias;     // (kPairs * kEntries, width), (width)
  nn::Sequential layers;  // behind the first
};

/// The learner "afterstates".
///   rl::DqnConfig config;
///   rl::set(config, "learner=afterstates");
///   auto learner = rl::make_learner(config);
class AfterstateLearner : public Learner {
 public:
  explicit AfterstateLearner(const DqnConfig& config);

  void play(std::vector<Episode>& ended) override;
  /// One move in each game, learning from the one before; a game that is over is learned from and begun anew.
  void move_all(std::vector<Episode>& ended);
  const Games& games() const { return games_; }
  double epsilon() const override { return 0; }
  double loss() const override;
  int64_t learning_steps() const override { return steps_; }
  bool is_finite() const override { return true; }  // each step looks, and throws
  void choose(std::span<const Board> boards, std::span<Move> moves) override;
  NamedTensors state() const override;
  void load(const NamedTensors& state) override;
  nn::Module& network() override { return network_; }

 private:
  static void look_at(const Board& board, std::span<int32_t> places, std::span<float> gained);
  std::vector<Tensor> step(const Tensor& places, const Tensor& numbers);
  double lr() const;

  DqnConfig config_;
  Games games_;
  BoardNetwork network_;
  std::unique_ptr<optim::Adam> adam_;
  Compiled<std::vector<Tensor>, 2> step_;
  Compiled<Tensor, 2> best_;
  std::vector<int32_t> places_;  // four afterstates of each game, then those it moved to before
  std::vector<float> numbers_;   // gained (games, 4), whether it goes on (games), whether it learns (games)
  std::vector<int32_t> chosen_;
  std::vector<bool> has_before_;
  Tensor last_;  // the mean square of the last errors
  int64_t episodes_ = 0, steps_ = 0;
};

}  // namespace tenon::rl
