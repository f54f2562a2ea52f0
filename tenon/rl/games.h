// Many games of 2048 beside each other, each with its own chance: how one goes depends on its seed and its moves alone,
// whatever the others do.
//
//   Games games(64, /*seed=*/1);
//   while (...) {
//     for (size_t i = 0; i < games.size(); ++i) moves[i] = any_of(games.legal(i), random);
//     games.play(moves);
//     for (size_t i = 0; i < games.size(); ++i) {
//       if (games.is_over(i)) games.restart(i);
//     }
//   }

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tenon/rl/board.h"
#include "tenon/tensor/tensor.h"

namespace tenon::rl {

/// States by name.
using NamedTensors = std::map<std::string, Tensor>;

/// Every function fails with one line where there is no such game.
class Games {
 public:
  /// The most games.
  static constexpr size_t kMost = size_t{1} << 28;
  /// Game i takes stream i of the seed. At most kMost.
  Games(size_t count, uint64_t seed);

  /// How many games there are; of each the board, the moves that are legal, whether it is over, its score and its moves
  /// so far.
  size_t size() const { return boards_.size(); }
  const Board& board(size_t game) const { return boards_[checked(game)]; }
  MoveSet legal(size_t game) const { return legal_[checked(game)]; }
  bool is_over(size_t game) const { return legal_[checked(game)] == 0; }
  int64_t score(size_t game) const { return scores_[checked(game)]; }
  int64_t moves(size_t game) const { return moves_[checked(game)]; }

  /// One move in one game; returns what it scored. Fails where it is not legal.
  int play(size_t game, Move move) {
    if (!contains(legal_[checked(game)], move)) refuse(game, move);
    const Turn made = turn(boards_[game], move, random_[game]);
    boards_[game] = made.board;
    legal_[game] = made.legal;
    scores_[game] += made.score;
    ++moves_[game];
    return made.score;
  }
  /// One move in each game. Fails where one is not legal, before any is made.
  void play(std::span<const Move> moves);
  /// A new game in place of this one, with the chance that comes next.
  void restart(size_t game);
  /// Goes on from a board. Fails where it cannot be (require_possible).
  void set(size_t game, const Board& board);

  /// Everything, as tensors to save; and back. Fails, having changed nothing, where these are not of as many games, or
  /// hold a board that cannot be.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  [[noreturn]] void refuse(size_t game, Move move) const;
  [[noreturn]] void refuse(size_t game) const;
  size_t checked(size_t game) const {
    if (game >= boards_.size()) refuse(game);
    return game;
  }
  void stand(size_t game, const Board& board) {
    boards_[game] = board;
    legal_[game] = legal_moves(board);
  }

  std::vector<Board> boards_;
  std::vector<MoveSet> legal_;
  std::vector<int64_t> scores_, moves_;
  std::vector<Random> random_;
};

}  // namespace tenon::rl
