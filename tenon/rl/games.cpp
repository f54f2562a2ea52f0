#include "tenon/rl/games.h"

#include "tenon/base/error.h"
#include "tenon/rl/saved.h"

namespace tenon::rl {

Games::Games(size_t count, uint64_t seed) {
  if (count > kMost) base::fail("2048", "at most {} games run beside each other, not {}", kMost, count);
  boards_.resize(count);
  legal_.resize(count);
  scores_.resize(count);
  moves_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    random_.emplace_back(seed, i);
    restart(i);
  }
}

void Games::refuse(size_t game, Move move) const {
  base::fail("2048", "{} is not a legal move in game {}; legal moves: {}", name(move), game, to_string(legal_[game]));
}

void Games::refuse(size_t game) const { base::fail("2048", "there is no game {}; there are {}", game, size()); }

void Games::play(std::span<const Move> moves) {
  if (moves.size() != size()) base::fail("2048", "{} moves for {} games", moves.size(), size());
  for (size_t i = 0; i < size(); ++i) {
    if (!contains(legal_[i], moves[i])) refuse(i, moves[i]);
  }
  for (size_t i = 0; i < size(); ++i) play(i, moves[i]);
}

void Games::restart(size_t game) {
  stand(game, first_board(random_[checked(game)]));
  scores_[game] = moves_[game] = 0;
}

void Games::set(size_t game, const Board& board) {
  require_possible(board);
  stand(checked(game), board);
}

NamedTensors Games::state() const {
  std::vector<uint64_t> cells, random;
  for (const Board& board : boards_) cells.push_back(board.cells);
  for (const Random& one : random_) random.push_back(one.state());
  return {{"boards", saved(cells)}, {"scores", saved(scores_)}, {"moves", saved(moves_)}, {"random", saved(random)}};
}

void Games::load(const NamedTensors& state) {
  const std::vector<int64_t> cells = numbers(state, "boards", size()), random = numbers(state, "random", size());
  std::vector<int64_t> scores = numbers(state, "scores", size()), moves = numbers(state, "moves", size());
  for (const int64_t one : cells) require_possible({static_cast<uint64_t>(one)});
  require_counts("scores", scores);
  require_counts("moves", moves);
  for (size_t i = 0; i < size(); ++i) {
    stand(i, {static_cast<uint64_t>(cells[i])});
    random_[i].set_state(static_cast<uint64_t>(random[i]));
  }
  scores_ = std::move(scores);
  moves_ = std::move(moves);
}

}  // namespace tenon::rl
