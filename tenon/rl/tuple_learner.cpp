// Games run in step. Some moves of one step meet the same numbers of the table, whose changes add up: each game learns
// the share that TableSharing leaves it.

#include "tenon/rl/tuple_learner.h"

#include <algorithm>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/rl/captured.h"
#include "tenon/rl/diverged.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::rl {
namespace {

constexpr int64_t kLookups = TupleNetwork::kLookups;
constexpr size_t kBoardsAtOnce = 64;
// No board is worth a tenth of the root of it, however high first_value is: beyond, values grow without end.
constexpr float kMostLoss = 1e20F;

}  // namespace

TupleLearner::TupleLearner(const DqnConfig& config)
    : config_(checked(config, "tuples")),
      games_(static_cast<size_t>(config.games), static_cast<uint64_t>(config.seed)),
      network_(config.first_value, device_of(config)),
      step_(compile([this](const Tensor& places, const Tensor& numbers) { return step(places, numbers); },
                    kReadsArgumentsAlone)),
      best_(compile([this](const Tensor& places, const Tensor& gained) { return best(places, gained); },
                    kReadsArgumentsAlone)),
      places_(games_.size() * 5 * kLookups),
      numbers_(games_.size() * 6),
      chosen_(games_.size()),
      has_before_(games_.size()),
      sharing_(games_.size(), kLookups) {}

void TupleLearner::look_at(const Board& board, std::span<int32_t> places, std::span<float> gained) {
  for (int m = 0; m < kMoves; ++m) {
    const Slide slide = slid(board, static_cast<Move>(m));
    const bool is_legal = slide.board != board;
    gained[static_cast<size_t>(m)] = is_legal ? static_cast<float>(slide.score) : kBarred;
    TupleNetwork::look_up(slide.board, places.subspan(static_cast<size_t>(m * kLookups), kLookups));
  }
}

// Q of each move, one row a board.
Tensor TupleLearner::best(const Tensor& places, const Tensor& gained) const {
  const NoGrad playing;
  return argmax(network_(places) + gained, 1).to(DType::i32);
}

std::vector<Tensor> TupleLearner::step(const Tensor& places, const Tensor& numbers) {
  const NoGrad by_hand;
  const int64_t games = config_.games;
  const Tensor after = places.slice(0, 0, games * kMoves * kLookups).reshape({games, kMoves, kLookups});
  const Tensor before = places.slice(0, games * kMoves * kLookups).reshape({games, kLookups});
  const Tensor gained = numbers.slice(0, 0, games * kMoves).reshape({games, kMoves});
  const Tensor goes_on = numbers.slice(0, games * 4, games * 5), rate = numbers.slice(0, games * 5);
  const Tensor worth = network_(after) + gained;
  const Tensor wrong = amax(worth, 1) * goes_on - network_(before);
  const Tensor change = (wrong * rate).unsqueeze(1).expand({games, kLookups}).reshape({games * kLookups});
  const Tensor chosen = argmax(worth, 1).to(DType::i32);
  network_.table.scatter_add_(0, before.reshape({games * kLookups}), change);
  return {chosen, (wrong * wrong * (rate > 0)).mean()};
}

double TupleLearner::rate() const {
  const double done = std::min(1.0, static_cast<double>(episodes_) / static_cast<double>(config_.episodes));
  return config_.rate + (config_.rate_to - config_.rate) * done;
}

void TupleLearner::move_all(std::vector<Episode>& ended) {
  const size_t games = games_.size();
  const std::span all(places_);
  const double rate = this->rate() / kLookups;
  sharing_.clear();
  for (size_t i = 0; i < games; ++i) {
    look_at(games_.board(i), all.subspan(i * kMoves * kLookups, kMoves * kLookups),
            std::span(numbers_).subspan(i * kMoves, kMoves));
    numbers_[games * 4 + i] = games_.is_over(i) ? 0 : 1;
    if (has_before_[i]) sharing_.add(i, all.subspan((games * kMoves + i) * kLookups, kLookups));
  }
  for (size_t i = 0; i < games; ++i)
    numbers_[games * 5 + i] = has_before_[i] ? static_cast<float>(rate * sharing_.share(i)) : 0;
  const Device device = network_.table.device();
  const std::vector<Tensor> made = step_(sent(places_, {static_cast<int64_t>(places_.size())}, device),
                                         sent(numbers_, {static_cast<int64_t>(numbers_.size())}, device));
  last_ = made[1];
  ++steps_;
  require_finite();
  read<int32_t>(made[0], chosen_);
  for (size_t i = 0; i < games; ++i) {
    if (games_.is_over(i)) {
      ended.push_back({games_.score(i), games_.moves(i), games_.board(i).largest_exponent()});
      games_.restart(i);
      has_before_[i] = false;
      ++episodes_;
      continue;
    }
    const auto from =
        places_.begin() + static_cast<ptrdiff_t>((i * kMoves + static_cast<size_t>(chosen_[i])) * kLookups);
    std::copy_n(from, kLookups, places_.begin() + static_cast<ptrdiff_t>((games * kMoves + i) * kLookups));
    has_before_[i] = true;
    games_.play(i, static_cast<Move>(chosen_[i]));
  }
}

void TupleLearner::play(std::vector<Episode>& ended) {
  const size_t before = ended.size();
  while (ended.size() == before) move_all(ended);
}

// The number lies beside the moves that are read anyway.
void TupleLearner::require_finite() const {
  float loss = 0;
  read<float>(last_, {&loss, 1});
  if (!(loss < kMostLoss)) throw Diverged("[2048] the values of boards grew without end");
}

double TupleLearner::loss() const {
  return last_.defined() ? last_.item<float>() : std::numeric_limits<double>::quiet_NaN();
}

void TupleLearner::choose(std::span<const Board> boards, std::span<Move> moves) {
  require_choosable(boards, moves.size());
  std::vector<int32_t> places(kBoardsAtOnce * kMoves * kLookups);
  std::vector<float> gained(kBoardsAtOnce * kMoves);
  std::vector<int32_t> at(kBoardsAtOnce);
  const Device device = network_.table.device();
  for (size_t begin = 0; begin < boards.size(); begin += kBoardsAtOnce) {
    const size_t count = std::min(kBoardsAtOnce, boards.size() - begin);
    for (size_t i = 0; i < count; ++i)
      look_at(boards[begin + i], std::span(places).subspan(i * kMoves * kLookups, kMoves * kLookups),
              std::span(gained).subspan(i * kMoves, kMoves));
    read<int32_t>(
        best_(sent(places, {kBoardsAtOnce, kMoves, kLookups}, device), sent(gained, {kBoardsAtOnce, kMoves}, device)),
        at);
    for (size_t i = 0; i < count; ++i) {
      moves[begin + i] = static_cast<Move>(at[i]);
      // Numbers that are none make any move the largest.
      if (gained[i * kMoves + static_cast<size_t>(at[i])] == kBarred)
        throw Diverged("[2048] the values of boards are not finite: nothing can be chosen by them");
    }
  }
}

NamedTensors TupleLearner::state() const {
  NamedTensors state;
  add_part(state, "network", network_.state_dict());
  add_part(state, "games", games_.state());
  const auto last = places_.end() - static_cast<ptrdiff_t>(games_.size() * kLookups);
  state.emplace("before", saved(std::vector<int64_t>(last, places_.end())));
  state.emplace("has_before", saved(std::vector<int64_t>(has_before_.begin(), has_before_.end())));
  state.emplace("counts", saved(std::vector<int64_t>{episodes_, steps_}));
  return state;
}

void TupleLearner::load(const NamedTensors& state) {
  const size_t games = games_.size();
  const std::vector<int64_t> before = numbers(state, "before", games * kLookups),
                             has_before = numbers(state, "has_before", games), counts = numbers(state, "counts", 2);
  for (const int64_t place : before) {
    if (place < 0 || place >= TupleNetwork::kEntries)
      base::fail("2048", "the saved state looks up {} in a table of {}", place, TupleNetwork::kEntries);
  }
  require_counts("counts", counts);
  rl::require_finite(state);
  const NamedTensors games_before = games_.state();
  games_.load(part(state, "games"));
  try {
    network_.load_state_dict(part(state, "network"));  // all or nothing
  } catch (...) {
    games_.load(games_before);
    throw;
  }
  std::copy(before.begin(), before.end(), places_.end() - static_cast<ptrdiff_t>(games * kLookups));
  std::copy(has_before.begin(), has_before.end(), has_before_.begin());
  episodes_ = counts[0];
  steps_ = counts[1];
}

}  // namespace tenon::rl
