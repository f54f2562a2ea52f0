#include "tenon/rl/learner.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/rl/afterstate_learner.h"
#include "tenon/rl/dqn_learner.h"
#include "tenon/rl/games.h"
#include "tenon/rl/tuple_learner.h"

namespace tenon::rl {

Learner::~Learner() = default;

Device device_of(const DqnConfig& config) {
  if (config.device == "auto" && config.learner == "tuples") return Device("cpu");
  return config.device.empty() ? Device() : Device(config.device);
}

std::unique_ptr<Learner> make_learner(const DqnConfig& config) {
  validate(config, "config");
  if (config.learner == "dqn") return std::make_unique<DqnLearner>(config);
  if (config.learner == "afterstates") return std::make_unique<AfterstateLearner>(config);
  return std::make_unique<TupleLearner>(config);
}

void Learner::require_choosable(std::span<const Board> boards, size_t moves) {
  if (moves < boards.size()) base::fail("2048", "there is room for {} moves on {} boards", moves, boards.size());
  for (size_t i = 0; i < boards.size(); ++i) {
    if (legal_moves(boards[i]) == 0) base::fail("2048", "board {} has no legal move: its game is over", i);
  }
}

std::vector<Episode> play_games(Learner* learner, int64_t games, uint64_t seed, const std::function<bool()>& stops) {
  if (games < 1) base::fail("2048", "play 1 game or more, not {}", games);
  const auto count = static_cast<size_t>(games);
  constexpr uint64_t kOfMoves = uint64_t{1} << 32;  // streams of random moves, behind those of the games
  Games all(count, seed);
  std::vector<Random> random;
  for (size_t i = 0; i < count; ++i) random.emplace_back(seed, kOfMoves + i);
  std::vector<size_t> running(count);
  for (size_t i = 0; i < count; ++i) running[i] = i;
  std::vector<Board> boards;
  std::vector<Move> moves;
  while (!running.empty()) {
    if (stops && stops()) return {};
    moves.resize(running.size());
    if (learner) {
      boards.clear();
      for (const size_t i : running) boards.push_back(all.board(i));
      learner->choose(boards, moves);
    } else {
      for (size_t k = 0; k < running.size(); ++k) moves[k] = any_of(all.legal(running[k]), random[running[k]]);
    }
    for (size_t k = 0; k < running.size(); ++k) all.play(running[k], moves[k]);
    std::erase_if(running, [&](size_t i) { return all.is_over(i); });
  }
  std::vector<Episode> ended;
  for (size_t i = 0; i < count; ++i) ended.push_back({all.score(i), all.moves(i), all.board(i).largest_exponent()});
  return ended;
}

double Summary::reached(int tile) const {
  int64_t games = 0, enough = 0;
  for (size_t exponent = 0; exponent < by_tile.size(); ++exponent) {
    games += by_tile[exponent];
    if (exponent >= 31 || 1 << exponent >= tile) enough += by_tile[exponent];
  }
  return games == 0 ? 0 : static_cast<double>(enough) / static_cast<double>(games);
}

Summary summary_of(std::span<const Episode> episodes) {
  Summary sum;
  sum.by_tile.resize(kLargestExponent + 1);
  for (const Episode& one : episodes) {
    if (one.largest_exponent < 0 || one.largest_exponent > kLargestExponent)
      base::fail("2048", "a game ended with the tile 2^{}; tiles are 2^0 to 2^{}", one.largest_exponent,
                 kLargestExponent);
    sum.mean_score += static_cast<double>(one.score);
    sum.mean_moves += static_cast<double>(one.moves);
    sum.best_score = std::max(sum.best_score, one.score);
    ++sum.by_tile[static_cast<size_t>(one.largest_exponent)];
  }
  const auto count = static_cast<double>(std::max<size_t>(1, episodes.size()));
  sum.mean_score /= count;
  sum.mean_moves /= count;
  return sum;
}

}  // namespace tenon::rl
