// What was lived through, kept to learn from again: a ring of transitions, drawn evenly or by priority.
//
//   Replay replay({.capacity = 1000});
//   replay.add({board, Move::left, 4.0f, 0.99f, next});
//   Drawn drawn;
//   replay.draw(32, random, drawn);
//   for (const size_t i : drawn.places) learn(replay[i]);
//
// With a priority exponent above 0 a transition is drawn in proportion to |error| ^ exponent, as it was when last
// learned from (Schaul et al. 2016); new ones come with the largest priority so far, so that each is looked at soon.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/rl/board.h"
#include "tenon/rl/saved.h"

namespace tenon::rl {

/// A move and what came of it; with n-step returns, of n moves.
///   rl::Transition transition{board, rl::Move::left, 4, 0.99F, board};
struct Transition {
  Board board;           // before the move
  Move move = Move::up;  // that was made
  float reward = 0;      // what it scored
  float discount = 0;    // of the value of `next`; 0 where the game was over
  Board next;            // behind the last of the moves
  bool operator==(const Transition&) const = default;
};

/// The most transitions that a ring holds.
inline constexpr size_t kMostTransitions = 100'000'000;

/// How many transitions are kept, and which are drawn.
struct ReplayOptions {
  size_t capacity = 1000;          // at most kMostTransitions
  double priority_exponent = 0;    // 0: every transition is as likely; at most 4
  double correction_exponent = 0;  // how far weights make up for what priorities prefer; 1: wholly; at most 4
};

/// Of draws by priority.
struct Drawn {
  std::vector<size_t> places;  // in the ring; one may come twice
  std::vector<float> weights;  // 1 for the rarest, less for what is drawn more often
};

/// The ring.
class Replay {
 public:
  explicit Replay(const ReplayOptions& options);

  /// Transitions that are kept, and the most there may be.
  size_t size() const { return kept_.size(); }
  size_t capacity() const { return options_.capacity; }
  /// Fails where nothing lies there.
  const Transition& operator[](size_t place) const {
    if (place >= kept_.size()) refuse_place(place);
    return kept_[place];
  }
  /// Whether transitions are drawn by priority.
  bool has_priorities() const { return options_.priority_exponent > 0; }

  /// In place of the oldest when the ring is full. Fails where its move is not legal on its board, no game
  /// has one of its boards, or its numbers are out of range.
  void add(const Transition& transition);
  /// Draws with replacement. Fails where there is nothing to draw, or above kMostTransitions.
  void draw(size_t count, Random& random, Drawn& into) const;
  /// How wrong the values of these were; their priorities from now on. Without priorities: nothing. Fails, having
  /// changed nothing, where nothing lies at a place, or there is not one error a place, or one is not finite.
  void set_errors(std::span<const size_t> places, std::span<const float> errors);

  /// Everything, as tensors to save.
  NamedTensors state() const;
  /// Fails, having changed nothing, where this is no state of a ring, or one that does not fit this capacity.
  void load(const NamedTensors& state);

 private:
  [[noreturn]] void refuse_place(size_t place) const;
  double priority_of(float error) const;
  void set_priority(size_t place, double priority);
  size_t place_of(double sum) const;

  ReplayOptions options_;
  std::vector<Transition> kept_;
  size_t next_ = 0;  // where the next one goes
  // A binary tree of sums: leaves are priorities, from leaves_ on.
  size_t leaves_ = 1;
  std::vector<double> sums_;
  double largest_ = 1;
};

/// Turns moves into transitions over n of them: the rewards of n moves, discounted, and the board behind the last.
///   rl::Replay replay({.capacity = 100});
///   rl::NStep steps(3, 0.99);
///   const rl::Move move = rl::any_of(rl::legal_moves(board), random);
///   const rl::Turn made = rl::turn(board, move, random);
///   steps.add(board, move, made.score, made.board, made.legal == 0, replay);
class NStep {
 public:
  NStep(size_t steps, double discount);

  /// A move; transitions that are whole now go to the replay. At the end of a game all do. Fails, having kept nothing,
  /// where it is not legal.
  void add(const Board& board, Move move, double reward, const Board& next, bool is_over, Replay& replay);

 private:
  struct Pending {
    Board board;
    Move move;
    double reward;
  };
  Transition first(const Board& next, bool is_over) const;

  size_t steps_;
  double discount_;
  std::vector<Pending> pending_;  // the oldest first
};

/// The share of moves that are made at random: from * factor ^ episode, or in a straight line, and never below `to`.
///   rl::Exploration exploration{.from = 1, .to = 0.1, .factor = 0.5};
///   exploration.at(2);  // 0.25
struct Exploration {
  double from = 1, to = 0.1;  // the share at first, and the least
  double factor = 0.995;      // an episode
  int64_t over = 0;           // above 0: in a straight line over so many episodes instead

  /// Fails where `episode` is below 0, or the numbers above are no shares.
  double at(int64_t episode) const;
};

}  // namespace tenon::rl
