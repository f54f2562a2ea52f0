// Priorities are summed by a tree of doubles that is kept exact by adding up the way from a leaf anew, not by
// differences: what is drawn depends on the priorities alone and not on how they came about, so that a ring that was
// saved and loaded draws the same.

#include "tenon/rl/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/tensor/stats.h"

namespace tenon::rl {
namespace {

using base::fail;

constexpr double kLeastError = 1e-3;  // or what was right once would never be drawn again
constexpr double kMostPower = 4;      // beyond, priorities leave the numbers that there are
constexpr double kMostReward = 1e15;  // beyond, squares of errors do; no game comes near

// Asking takes some 50 us, and what is small need not ask.
void require_memory(size_t transitions, size_t bytes) {
  constexpr size_t kSmall = size_t{64} << 20;
  if (bytes <= kSmall) return;
  const auto available = available_memory(Device("cpu"));
  if (available && bytes > *available)
    fail("replay", "a replay of {} transitions takes {} MB and {} MB are free; make it smaller", transitions,
         bytes / 1'000'000, *available / 1'000'000);
}

void require_move(const Board& board, Move move, double reward) {
  if (static_cast<int>(move) >= kMoves)
    fail("replay", "a transition has move {}, not 0 to {}", static_cast<int>(move), kMoves - 1);
  if (!(std::abs(reward) <= kMostReward))
    fail("replay", "a transition has reward {}; it must be a number of at most {:g}", reward, kMostReward);
  require_possible(board);
  if (!contains(legal_moves(board), move))
    fail("replay", "a transition has the move {}, which is not legal on its board", name(move));
}

void require_transition(const Transition& one) {
  require_move(one.board, one.move, one.reward);
  if (!(one.discount >= 0 && one.discount <= 1))
    fail("replay", "a transition has discount {}; it must be 0 to 1", one.discount);
  require_possible(one.next);
}

}  // namespace

Replay::Replay(const ReplayOptions& options) : options_(options) {
  if (options.capacity < 1) fail("replay", "a replay of {} transitions can hold nothing", options.capacity);
  if (options.capacity > kMostTransitions)
    fail("replay", "a replay holds at most {} transitions, not {}", kMostTransitions, options.capacity);
  for (const double exponent : {options.priority_exponent, options.correction_exponent}) {
    if (!(exponent >= 0 && exponent <= kMostPower))
      fail("replay", "exponents are 0 to {}, not {}", kMostPower, exponent);
  }
  require_memory(options.capacity, options.capacity * sizeof(Transition) +
                                       (has_priorities() ? 2 * sizeof(double) * std::bit_ceil(options.capacity) : 0));
  kept_.reserve(std::min<size_t>(options.capacity, 4096));
  if (!has_priorities()) return;
  leaves_ = std::bit_ceil(options.capacity);
  sums_.assign(2 * leaves_, 0);
}

void Replay::refuse_place(size_t place) const {
  fail("replay", "there is no transition {}; there are {}", place, kept_.size());
}

void Replay::add(const Transition& transition) {
  require_transition(transition);
  if (kept_.size() < options_.capacity)
    kept_.push_back(transition);
  else
    kept_[next_] = transition;
  if (has_priorities()) set_priority(next_, largest_);
  next_ = (next_ + 1) % options_.capacity;
}

void Replay::draw(size_t count, Random& random, Drawn& into) const {
  if (kept_.empty()) fail("replay", "there is nothing to draw from an empty replay");
  if (count > kMostTransitions) fail("replay", "at most {} transitions are drawn, not {}", kMostTransitions, count);
  into.places.resize(count);
  into.weights.assign(count, 1);
  if (!has_priorities()) {
    for (size_t& place : into.places) place = random.below(static_cast<uint32_t>(kept_.size()));
    return;
  }
  const double all = sums_[1], parts = static_cast<double>(count);
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i) {  // one of each stretch, so that a batch covers all of it
    into.places[i] = place_of(all * (static_cast<double>(i) + random.uniform()) / parts);
    least = std::min(least, sums_[leaves_ + into.places[i]]);
  }
  // (size * probability) ^ -exponent over the largest of them, without powers that leave the numbers there are.
  for (size_t i = 0; i < count; ++i)
    into.weights[i] =
        static_cast<float>(std::pow(least / sums_[leaves_ + into.places[i]], options_.correction_exponent));
}

void Replay::set_errors(std::span<const size_t> places, std::span<const float> errors) {
  if (places.size() != errors.size()) fail("replay", "{} errors for {} places", errors.size(), places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= kept_.size()) refuse_place(places[i]);
    if (!std::isfinite(errors[i])) fail("replay", "an error of {} has no priority", errors[i]);
  }
  if (!has_priorities()) return;
  for (size_t i = 0; i < places.size(); ++i) {
    const double priority = priority_of(errors[i]);
    largest_ = std::max(largest_, priority);
    set_priority(places[i], priority);
  }
}

double Replay::priority_of(float error) const {
  return std::pow(std::abs(static_cast<double>(error)) + kLeastError, options_.priority_exponent);
}

void Replay::set_priority(size_t place, double priority) {
  size_t at = leaves_ + place;
  sums_[at] = priority;
  for (at /= 2; at >= 1; at /= 2) sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
}

// The transition whose stretch of the sum of all priorities holds this point.
size_t Replay::place_of(double sum) const {
  size_t at = 1;
  while (at < leaves_) {
    at *= 2;
    if (sum >= sums_[at] && sums_[at + 1] > 0) sum -= sums_[at++];
  }
  return std::min(at - leaves_, kept_.size() - 1);
}

NamedTensors Replay::state() const {
  std::vector<uint64_t> boards, next, moves;
  std::vector<float> rewards, discounts;
  for (const Transition& one : kept_) {
    boards.push_back(one.board.cells);
    next.push_back(one.next.cells);
    moves.push_back(static_cast<uint64_t>(one.move));
    rewards.push_back(one.reward);
    discounts.push_back(one.discount);
  }
  const Dims shape{static_cast<int64_t>(kept_.size())};
  const Options host{Device("cpu")};
  NamedTensors state{{"boards", saved(boards)},
                     {"next", saved(next)},
                     {"moves", saved(moves)},
                     {"rewards", from_vector(rewards, shape, host)},
                     {"discounts", from_vector(discounts, shape, host)},
                     {"position", saved(std::vector<uint64_t>{next_})}};
  if (has_priorities()) {
    std::vector<double> priorities(sums_.begin() + static_cast<ptrdiff_t>(leaves_),
                                   sums_.begin() + static_cast<ptrdiff_t>(leaves_ + kept_.size()));
    priorities.push_back(largest_);
    state.emplace("priorities", from_vector(priorities, {static_cast<int64_t>(priorities.size())}, host));
  }
  return state;
}

void Replay::load(const NamedTensors& state) {
  const Tensor& boards_saved = find(state, "boards");
  const auto count = static_cast<size_t>(boards_saved.numel());
  if (count > options_.capacity)
    fail("replay", "the saved replay holds {} transitions, this one at most {}", count, options_.capacity);
  const std::vector<int64_t> boards = numbers(state, "boards", count), next = numbers(state, "next", count),
                             moves = numbers(state, "moves", count), position = numbers(state, "position", 1);
  const auto reals = [&](const std::string& name, DType dtype, size_t wanted) {
    const Tensor& tensor = find(state, name);
    if (tensor.dtype() != dtype || tensor.shape() != Dims{static_cast<int64_t>(wanted)})
      fail("replay", "{} of the saved replay does not fit its {} transitions", name, count);
    return tensor.to_vector<double>();
  };
  const std::vector<double> rewards = reals("rewards", DType::f32, count),
                            discounts = reals("discounts", DType::f32, count);
  std::vector<double> priorities;
  if (has_priorities()) priorities = reals("priorities", DType::f64, count + 1);
  const auto expected_at_most =
      count < options_.capacity ? static_cast<int64_t>(count) : static_cast<int64_t>(options_.capacity) - 1;
  if (position[0] < 0 || position[0] > expected_at_most ||
      (count < options_.capacity && position[0] != expected_at_most))
    fail("replay", "the saved replay goes on at {}, which is no place of {} transitions", position[0], count);
  std::vector<Transition> kept(count);
  for (size_t i = 0; i < count; ++i) {
    if (moves[i] < 0 || moves[i] >= kMoves) fail("replay", "a transition has move {}, not 0 to 3", moves[i]);
    kept[i] = {{static_cast<uint64_t>(boards[i])},
               static_cast<Move>(moves[i]),
               static_cast<float>(rewards[i]),
               static_cast<float>(discounts[i]),
               {static_cast<uint64_t>(next[i])}};
    require_transition(kept[i]);
  }
  for (const double priority : priorities) {
    if (!(priority > 0) || !std::isfinite(priority))
      fail("replay", "a priority of the saved replay is {}, not a number above 0", priority);
  }
  kept_ = std::move(kept);
  next_ = static_cast<size_t>(position[0]);
  if (!has_priorities()) return;
  sums_.assign(2 * leaves_, 0);
  largest_ = priorities.back();
  for (size_t i = 0; i < count; ++i) sums_[leaves_ + i] = priorities[i];
  for (size_t at = leaves_ - 1; at >= 1; --at) sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
}

NStep::NStep(size_t steps, double discount) : steps_(steps), discount_(discount) {
  if (steps < 1) fail("replay", "returns are over 1 move or more, not {}", steps);
  if (!(discount >= 0 && discount <= 1)) fail("replay", "a discount is 0 to 1, not {}", discount);
}

Transition NStep::first(const Board& next, bool is_over) const {
  double reward = 0, discount = 1;
  for (const Pending& one : pending_) {
    reward += discount * one.reward;
    discount *= discount_;
  }
  return {pending_[0].board, pending_[0].move, static_cast<float>(reward),
          is_over ? 0.0f : static_cast<float>(discount), next};
}

void NStep::add(const Board& board, Move move, double reward, const Board& next, bool is_over, Replay& replay) {
  require_move(board, move, reward);
  require_possible(next);
  pending_.push_back({board, move, reward});
  while (pending_.size() == steps_ || (is_over && !pending_.empty())) {
    replay.add(first(next, is_over));
    pending_.erase(pending_.begin());
  }
}

double Exploration::at(int64_t episode) const {
  if (episode < 0) fail("exploration", "0 episodes or more were played, not {}", episode);
  for (const double one : {from, to, factor}) {
    if (!(one >= 0 && one <= 1)) fail("exploration", "from, to and factor are shares from 0 to 1, not {}", one);
  }
  if (over < 0) fail("exploration", "a line goes over 1 episode or more, or 0 for none, not {}", over);
  const auto e = static_cast<double>(episode);
  const double share =
      over > 0 ? from + (to - from) * std::min(1.0, e / static_cast<double>(over)) : from * std::pow(factor, e);
  return std::max(to, share);
}

}  // namespace tenon::rl
