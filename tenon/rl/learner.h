// Learner: what plays 2048, learns from it, and can be stopped and taken up again without anybody noticing.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/rl/board.h"
#include "tenon/rl/diverged.h"
#include "tenon/rl/dqn_config.h"
#include "tenon/rl/saved.h"

namespace tenon::rl {

/// A game that has ended.
struct Episode {
  int64_t score = 0, moves = 0;  // of the game, and its moves
  int largest_exponent = 0;      // of the largest tile
};

/// What plays 2048 and learns from it.
///   std::unique_ptr<rl::Learner> learner = rl::make_learner(rl::DqnConfig());
///   std::vector<rl::Episode> ended;
///   learner->play(ended);
class Learner {
 public:
  virtual ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// Plays and learns until at least one more game has ended, and adds those that have. May throw Diverged;
  /// is_finite() tells of it in any case.
  virtual void play(std::vector<Episode>& ended) = 0;
  /// The share of moves that are made at random.
  virtual double epsilon() const = 0;
  /// How wrong values were lately: the mean square of what was learned.
  virtual double loss() const = 0;
  /// Steps of learning so far.
  virtual int64_t learning_steps() const = 0;

  /// Whether all that was learned, and all that learning goes on with, is finite.
  virtual bool is_finite() const = 0;

  /// The best move on each board, by what was learned so far. Fails where one is over, or there are fewer moves to
  /// fill in than boards.
  virtual void choose(std::span<const Board> boards, std::span<Move> moves) = 0;

  /// All that decides how it goes on: weights, moments, games, replay, random streams.
  virtual NamedTensors state() const = 0;
  /// Fails, naming what and having changed nothing, where these are of another learner.
  virtual void load(const NamedTensors& state) = 0;
  /// What playing needs.
  virtual nn::Module& network() = 0;

 protected:
  Learner() = default;
  static void require_choosable(std::span<const Board> boards, size_t moves);
};

/// Where a config wants it to run; fails where there is no such device. `auto` is a GPU for networks, and the cpu for
/// tables, of which a move reads a few numbers.
///   rl::device_of(rl::DqnConfig());
Device device_of(const DqnConfig& config);
/// The learner that a config asks for.
///   auto learner = rl::make_learner(rl::DqnConfig());
std::unique_ptr<Learner> make_learner(const DqnConfig& config);

/// Plays so many games to their ends with the best moves, or without a learner with random ones. Game i takes stream i
/// of the seed, whatever is asked of the others. Nothing is returned where `stops`, asked between moves, says so.
///   rl::play_games(nullptr, 2, 7).size();  // 2
std::vector<Episode> play_games(Learner* learner, int64_t games, uint64_t seed,
                                const std::function<bool()>& stops = {});

/// What a set of games came to.
///   const std::vector<rl::Episode> games = {{.score = 100}, {.score = 300}};
///   rl::summary_of(games).mean_score;  // 200
struct Summary {
  double mean_score = 0, mean_moves = 0;  // over all games
  int64_t best_score = 0;                 // of a game
  std::vector<int64_t> by_tile;           // games whose largest tile has this exponent
  /// The share of games that reached a tile, 2048 say.
  double reached(int tile) const;
};
/// What these games came to.
///   const std::vector<rl::Episode> games = {{.score = 100}, {.score = 300}};
///   rl::summary_of(games).best_score;  // 300
Summary summary_of(std::span<const Episode> episodes);

}  // namespace tenon::rl
