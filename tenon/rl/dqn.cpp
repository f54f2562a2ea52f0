// A batch travels as one stretch of numbers: an upload, and views of it inside the captured step, instead of seven.

#include "tenon/rl/dqn.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/nn/activations.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/losses.h"
#include "tenon/rl/captured.h"
#include "tenon/rl/diverged.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/refill.h"
#include "tenon/tensor/stats.h"

namespace tenon::rl {
namespace {

using base::fail;

constexpr int64_t kRowsAtOnce = 64;

void add_layers(nn::Sequential& network, const DqnOptions& options) {
  auto in = static_cast<int64_t>(width(options.encoding));
  for (const int64_t out : options.hidden) {
    network.emplace<nn::Linear>(in, out);
    network.emplace<nn::ReLU>();
    in = out;
  }
  network.emplace<nn::Linear>(in, kMoves);
}

// What learning holds of every weight: itself, its gradient, two moments and the copy for targets; and of every row
// what each layer makes of it and of its gradient.
void require_memory(const DqnOptions& options) {
  auto in = static_cast<double>(width(options.encoding));
  double weights = 0, rows = 2 * in;
  for (const int64_t hidden : options.hidden) {
    const auto out = static_cast<double>(hidden);
    weights += (in + 1) * out;
    rows += 3 * out;
    in = out;
  }
  weights += (in + 1) * kMoves;
  const double bytes = sizeof(float) * (weights * (options.renew_target_every > 0 ? 5 : 4) +
                                        rows * static_cast<double>(std::max(options.batch, kRowsAtOnce)));
  constexpr double kSmall = 64e6;  // asking what is free takes some 50 us
  const auto available = bytes > kSmall ? available_memory() : std::nullopt;
  if (available && bytes > static_cast<double>(*available))
    fail("2048", "a network of {:.0f} weights takes {:.0f} MB to learn and {} MB are free; lower hidden or batch",
         weights, bytes * 1e-6, *available / 1'000'000);
}

const DqnOptions& checked(const DqnOptions& options) {
  const int64_t kMost = 65536;
  const auto require = [kMost](int64_t value, int64_t least, std::string_view what) {
    if (value < least || value > kMost) fail("2048", "{} is {} to {}, not {}", what, least, kMost, value);
  };
  width(options.encoding);  // which refuses what is none
  if (options.hidden.empty()) fail("2048", "a network has one hidden layer or more, not none");
  for (const int64_t one : options.hidden) require(one, 1, "the width of a hidden layer");
  require(options.batch, 1, "a batch");
  if (!(options.lr > 0 && options.lr <= 1))
    fail("2048", "a learning rate is above 0 and at most 1, not {}", options.lr);
  if (options.renew_target_every < 0)
    fail("2048", "targets are renewed after 1 step or more, or 0 for never, not {}", options.renew_target_every);
  if (options.double_q && options.renew_target_every == 0)
    fail("2048", "double_q needs a second network; set renew_target_every, too");
  require_memory(options);
  return options;
}

}  // namespace

size_t width(Encoding encoding) {
  if (encoding > Encoding::one_hot) fail("2048", "there is no encoding {}", static_cast<int>(encoding));
  return encoding == Encoding::one_hot ? kCells * 16 : kCells;
}

void encode(const Board& board, Encoding encoding, std::span<float> room) {
  if (room.size() < width(encoding))
    fail("2048", "a board is {} numbers, and there is room for {}", width(encoding), room.size());
  float* to = room.data();
  if (encoding == Encoding::one_hot) {
    std::fill_n(to, kCells * 16, 0.0F);
    for (int cell = 0; cell < kCells; ++cell) to[cell * 16 + board.exponent(cell)] = 1;
    return;
  }
  for (int cell = 0; cell < kCells; ++cell)
    to[cell] = static_cast<float>(encoding == Encoding::tiles ? board.tile(cell) : board.exponent(cell));
}

Dqn::Layout Dqn::layout_of(const DqnOptions& options) {
  const int64_t rows = options.batch, width = static_cast<int64_t>(rl::width(options.encoding));
  Layout at{};
  const auto take = [&](int64_t count) { return std::exchange(at.size, at.size + count); };
  at.boards = take(rows * width);
  at.next = take(rows * width);
  at.moves = take(rows * kMoves);
  at.rewards = take(rows);
  at.discounts = take(rows);
  at.weights = take(rows);
  at.barred = take(rows * kMoves);
  return at;
}

Dqn::Dqn(const DqnOptions& options)
    : options_(checked(options)),
      layout_(layout_of(options)),
      values_(compile(
          [this](const Tensor& boards) {
            const NoGrad playing;
            return network_(boards);
          },
          kReadsArgumentsAlone)),
      step_(compile([this](const Tensor& batch) { return step(batch); }, kReadsArgumentsAlone)),
      board_(width(options.encoding)),
      sent_(static_cast<size_t>(layout_.size)),
      board_there_(sent(board_, {1, static_cast<int64_t>(board_.size())}, options.device)),
      sent_there_(sent(sent_, {layout_.size}, options.device)) {
  add_layers(network_, options_);
  network_.to(options_.device);
  adam_ = std::make_unique<optim::Adam>(network_.parameters(), optim::AdamOptions{.lr = options_.lr});
  if (options_.renew_target_every == 0) return;
  add_layers(target_, options_);
  target_.to(options_.device);
  target_.requires_grad_(false);
  renew_target();
}

void Dqn::renew_target() {
  const NoGrad copying;
  const std::vector<Tensor> from = network_.parameters(), to = target_.parameters();
  for (size_t i = 0; i < to.size(); ++i) Tensor(to[i]).copy_(from[i]);
  eval(to);
}

// What the best move behind each row is worth.
Tensor Dqn::target_values(const Tensor& next, const Tensor& barred) const {
  const NoGrad fixed;
  const bool has_target = target_.size() > 0;
  const auto allowed = [&](const Tensor& values) { return options_.legal_targets ? values + barred : values; };
  if (!options_.double_q || !has_target) return amax(allowed((has_target ? target_ : network_)(next)), 1);
  const Tensor chosen = argmax(allowed(network_(next)), 1, true);
  return gather(target_(next), 1, chosen).squeeze(1);
}

std::vector<Tensor> Dqn::step(const Tensor& batch) {
  const int64_t rows = options_.batch, width = static_cast<int64_t>(rl::width(options_.encoding));
  const auto rows_at = [&](int64_t at, int64_t columns) {
    return batch.slice(0, at, at + rows * columns).reshape({rows, columns});
  };
  const auto column_at = [&](int64_t at) { return batch.slice(0, at, at + rows); };
  const Tensor target =
      column_at(layout_.rewards) +
      column_at(layout_.discounts) * target_values(rows_at(layout_.next, width), rows_at(layout_.barred, kMoves));
  // Of the four outputs only that of the move that was made is wrong.
  const Tensor wrong =
      (network_(rows_at(layout_.boards, width)) - target.unsqueeze(1)) * rows_at(layout_.moves, kMoves);
  Tensor loss = (wrong.square() * column_at(layout_.weights).unsqueeze(1)).mean();
  loss.backward();
  adam_->step();
  adam_->zero_grad();
  return {loss.detach(), wrong.detach().sum(1)};
}

void Dqn::learn(Replay& replay, Random& random) {
  const auto rows = static_cast<size_t>(options_.batch);
  const size_t columns = width(options_.encoding);
  replay.draw(rows, random, drawn_);
  float* to = sent_.data();
  std::fill(to + layout_.moves, to + layout_.rewards, 0.0F);
  for (size_t i = 0; i < rows; ++i) {
    const Transition& one = replay[drawn_.places[i]];
    encode(one.board, options_.encoding, {to + layout_.boards + i * columns, columns});
    encode(one.next, options_.encoding, {to + layout_.next + i * columns, columns});
    to[layout_.moves + i * kMoves + static_cast<size_t>(one.move)] = 1;
    to[layout_.rewards + i] = one.reward;
    to[layout_.discounts + i] = one.discount;
    to[layout_.weights + i] = drawn_.weights[i];
    if (!options_.legal_targets) continue;
    const MoveSet legal = legal_moves(one.next);
    for (int m = 0; m < kMoves; ++m)
      to[layout_.barred + i * kMoves + m] = contains(legal, static_cast<Move>(m)) || legal == 0 ? 0 : kBarred;
  }
  refill(sent_there_, std::as_bytes(std::span(sent_)));
  last_ = step_(sent_there_);
  if (replay.has_priorities()) {
    const std::vector<float> errors = last_[1].to_vector<float>();
    for (const float error : errors) {
      if (!std::isfinite(error)) throw Diverged("[2048] what moves are worth is not finite any more");
    }
    replay.set_errors(drawn_.places, errors);
  }
  ++steps_;
  if (options_.renew_target_every > 0 && steps_ % options_.renew_target_every == 0) renew_target();
}

double Dqn::loss() const { return last_.empty() ? std::numeric_limits<double>::quiet_NaN() : last_[0].item<float>(); }

void Dqn::values(const Board& board, std::span<float, kMoves> into) {
  encode(board, options_.encoding, board_);
  refill(board_there_, std::as_bytes(std::span(board_)));
  read<float>(values_(board_there_), into);
}

std::vector<float> Dqn::values(std::span<const Board> boards) {
  const size_t columns = width(options_.encoding);
  std::vector<float> rows(static_cast<size_t>(kRowsAtOnce) * columns), all;
  for (size_t begin = 0; begin < boards.size(); begin += kRowsAtOnce) {
    const size_t count = std::min<size_t>(kRowsAtOnce, boards.size() - begin);
    for (size_t i = 0; i < count; ++i)
      encode(boards[begin + i], options_.encoding, {rows.data() + i * columns, columns});
    const std::vector<float> made =
        values_(sent(rows, {kRowsAtOnce, static_cast<int64_t>(columns)}, options_.device)).to_vector<float>();
    all.insert(all.end(), made.begin(), made.begin() + static_cast<ptrdiff_t>(count * kMoves));
  }
  return all;
}

Move Dqn::best(const Board& board, MoveSet legal) {
  std::array<float, kMoves> worth{};
  values(board, worth);
  return best_of(worth, legal);
}

NamedTensors Dqn::state() const {
  NamedTensors state;
  add_part(state, "network", network_.state_dict());
  add_part(state, "optimizer", adam_->state_dict());
  if (target_.size() > 0) add_part(state, "target", target_.state_dict());
  state.emplace("steps", saved(std::vector<int64_t>{steps_}));
  return state;
}

void Dqn::load(const NamedTensors& state) {
  const int64_t steps = numbers(state, "steps", 1)[0];
  require_counts("steps", {steps});
  require_finite(state);
  require_moments(part(state, "optimizer"));
  const NamedTensors before = this->state();
  NamedTensors kept;
  for (const auto& [name, tensor] : before) kept.emplace(name, tensor.clone().eval());
  const auto take = [&](const NamedTensors& from) {
    network_.load_state_dict(part(from, "network"));
    if (target_.size() > 0) target_.load_state_dict(part(from, "target"));
    adam_->load_state_dict(part(from, "optimizer"));
  };
  try {
    take(state);
  } catch (...) {
    take(kept);
    throw;
  }
  steps_ = steps;
}

}  // namespace tenon::rl
