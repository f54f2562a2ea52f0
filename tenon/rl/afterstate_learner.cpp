#include "tenon/rl/afterstate_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/nn/activations.h"
#include "tenon/nn/init.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/losses.h"
#include "tenon/rl/captured.h"
#include "tenon/rl/diverged.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::rl {
namespace {

constexpr int64_t kPairs = BoardNetwork::kPairs;
constexpr float kScale = 1e-3F;  // a score, as the network has it: values of a few thousand are of the size of 1
constexpr double kMostNorm = 1;  // of gradients: a game that ends early is a large error
constexpr float kMostError = 1e6F;
constexpr size_t kBoards = 64;  // that are looked at together

// The first of its eight symmetries.
Board first_symmetry(Board board) {
  uint64_t first = std::numeric_limits<uint64_t>::max();
  for (int turn = 0; turn < 4; ++turn) {
    first = std::min({first, board.cells, transposed(board).cells});
    board = mirrored(transposed(board));
  }
  return {first};
}

}  // namespace

BoardNetwork::BoardNetwork(const std::vector<int64_t>& hidden)
    : table(randn({kPairs * kEntries, hidden.at(0)})), bias(zeros({hidden[0]})) {
  const NoGrad setting;
  table = table * (1 / std::sqrt(static_cast<double>(kPairs)));
  register_parameter("table", table);
  register_parameter("bias", bias);
  int64_t in = hidden[0];
  for (size_t i = 1; i <= hidden.size(); ++i) {
    const int64_t out = i < hidden.size() ? hidden[i] : 1;
    layers.emplace<nn::ReLU>();
    layers.emplace<nn::Linear>(in, out);
    in = out;
  }
  register_module("layers", layers);
}

Tensor BoardNetwork::forward(const Tensor& places) const {
  const int64_t rows = places.shape()[0], width = bias.shape()[0];
  const Tensor looked_up = index_select(table, 0, places.reshape({rows * kPairs})).reshape({rows, kPairs, width});
  return layers(looked_up.sum(1) + bias).squeeze(1);
}

void BoardNetwork::look_up(const Board& board, std::span<int32_t> places) {
  const Board first = first_symmetry(board);
  const auto cell = [&](int at) { return static_cast<int32_t>((first.cells >> (4 * at)) & 15); };
  int pair = 0;
  const auto add = [&](int a, int b) {
    places[static_cast<size_t>(pair)] = pair * kEntries + cell(a) * 16 + cell(b);
    ++pair;
  };
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 3; ++column) add(4 * row + column, 4 * row + column + 1);
  }
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) add(4 * row + column, 4 * row + column + 4);
  }
}

AfterstateLearner::AfterstateLearner(const DqnConfig& config)
    : config_(checked(config, "afterstates")),
      games_(static_cast<size_t>(config.games), static_cast<uint64_t>(config.seed)),
      network_((manual_seed(static_cast<uint64_t>(config.seed)), config.hidden)),
      step_(compile([this](const Tensor& places, const Tensor& numbers) { return step(places, numbers); },
                    kReadsArgumentsAlone)),
      best_(compile(
          [this](const Tensor& places, const Tensor& gained) {
            const NoGrad playing;
            const Dims& shape = gained.shape();
            return argmax(network_(places).reshape(shape) + gained, 1).to(DType::i32);
          },
          kReadsArgumentsAlone)),
      places_(games_.size() * 5 * kPairs),
      numbers_(games_.size() * 6),
      chosen_(games_.size()),
      has_before_(games_.size()) {
  network_.to(device_of(config));
  adam_ = std::make_unique<optim::Adam>(network_.parameters(), optim::AdamOptions{.lr = config.lr});
}

void AfterstateLearner::look_at(const Board& board, std::span<int32_t> places, std::span<float> gained) {
  for (int m = 0; m < kMoves; ++m) {
    const Slide slide = slid(board, static_cast<Move>(m));
    const bool is_legal = slide.board != board;
    gained[static_cast<size_t>(m)] = is_legal ? static_cast<float>(slide.score) * kScale : kBarred;
    BoardNetwork::look_up(slide.board, places.subspan(static_cast<size_t>(m * kPairs), kPairs));
  }
}

std::vector<Tensor> AfterstateLearner::step(const Tensor& places, const Tensor& numbers) {
  const int64_t games = config_.games;
  const Tensor after = places.slice(0, 0, games * kMoves * kPairs).reshape({games * kMoves, kPairs});
  const Tensor before = places.slice(0, games * kMoves * kPairs).reshape({games, kPairs});
  const Tensor gained = numbers.slice(0, 0, games * kMoves).reshape({games, kMoves});
  const Tensor goes_on = numbers.slice(0, games * 4, games * 5), learns = numbers.slice(0, games * 5);
  Tensor target, chosen;
  {
    const NoGrad fixed;
    const Tensor worth = network_(after).reshape({games, kMoves}) + gained;
    chosen = argmax(worth, 1).to(DType::i32);
    target = amax(worth, 1) * goes_on;
  }
  Tensor loss = (nn::smooth_l1_loss(network_(before), target, 1, nn::Reduction::none) * learns).mean();
  loss.backward();
  adam_->clip_grad_norm(kMostNorm);
  adam_->step();
  adam_->zero_grad();
  return {chosen, loss.detach()};
}

double AfterstateLearner::lr() const {
  const double done = std::min(1.0, static_cast<double>(episodes_) / static_cast<double>(config_.episodes));
  return config_.lr * std::pow(config_.lr_to / config_.lr, done);
}

void AfterstateLearner::move_all(std::vector<Episode>& ended) {
  const size_t games = games_.size();
  const std::span all(places_);
  for (size_t i = 0; i < games; ++i) {
    look_at(games_.board(i), all.subspan(i * kMoves * kPairs, kMoves * kPairs),
            std::span(numbers_).subspan(i * kMoves, kMoves));
    numbers_[games * 4 + i] = games_.is_over(i) ? 0 : 1;
    numbers_[games * 5 + i] = has_before_[i] ? 1 : 0;
  }
  adam_->set_lr(lr());
  const Device device = network_.table.device();
  const std::vector<Tensor> made = step_(sent(places_, {static_cast<int64_t>(places_.size())}, device),
                                         sent(numbers_, {static_cast<int64_t>(numbers_.size())}, device));
  last_ = made[1];
  ++steps_;
  float loss = 0;
  read<float>(last_, {&loss, 1});
  if (!(loss < kMostError)) throw Diverged("[2048] the values of boards grew without end; lower lr");
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
        places_.begin() + static_cast<ptrdiff_t>((i * kMoves + static_cast<size_t>(chosen_[i])) * kPairs);
    std::copy_n(from, kPairs, places_.begin() + static_cast<ptrdiff_t>((games * kMoves + i) * kPairs));
    has_before_[i] = true;
    games_.play(i, static_cast<Move>(chosen_[i]));
  }
}

void AfterstateLearner::play(std::vector<Episode>& ended) {
  const size_t before = ended.size();
  while (ended.size() == before) move_all(ended);
}

double AfterstateLearner::loss() const {
  return last_.defined() ? last_.item<float>() : std::numeric_limits<double>::quiet_NaN();
}

void AfterstateLearner::choose(std::span<const Board> boards, std::span<Move> moves) {
  require_choosable(boards, moves.size());
  std::vector<int32_t> places(kBoards * kMoves * kPairs), at(kBoards);
  std::vector<float> gained(kBoards * kMoves);
  const Device device = network_.table.device();
  for (size_t begin = 0; begin < boards.size(); begin += kBoards) {
    const size_t count = std::min(kBoards, boards.size() - begin);
    for (size_t i = 0; i < count; ++i)
      look_at(boards[begin + i], std::span(places).subspan(i * kMoves * kPairs, kMoves * kPairs),
              std::span(gained).subspan(i * kMoves, kMoves));
    read<int32_t>(
        best_(sent(places, {kBoards * kMoves, kPairs}, device), sent(gained, {kBoards, kMoves}, device)), at);
    for (size_t i = 0; i < count; ++i) {
      moves[begin + i] = static_cast<Move>(at[i]);
      // Numbers that are none make any move the largest.
      if (gained[i * kMoves + static_cast<size_t>(at[i])] == kBarred)
        throw Diverged("[2048] the values of boards are not finite: nothing can be chosen by them");
    }
  }
}

NamedTensors AfterstateLearner::state() const {
  NamedTensors state;
  add_part(state, "network", network_.state_dict());
  add_part(state, "optimizer", adam_->state_dict());
  add_part(state, "games", games_.state());
  const auto last = places_.end() - static_cast<ptrdiff_t>(games_.size() * kPairs);
  state.emplace("before", saved(std::vector<int64_t>(last, places_.end())));
  state.emplace("has_before", saved(std::vector<int64_t>(has_before_.begin(), has_before_.end())));
  state.emplace("counts", saved(std::vector<int64_t>{episodes_, steps_}));
  return state;
}

void AfterstateLearner::load(const NamedTensors& state) {
  const size_t games = games_.size();
  const std::vector<int64_t> before = numbers(state, "before", games * kPairs),
                             has_before = numbers(state, "has_before", games), counts = numbers(state, "counts", 2);
  for (const int64_t place : before) {
    if (place < 0 || place >= kPairs * BoardNetwork::kEntries)
      base::fail("2048", "the saved state looks up {} in a table of {}", place, kPairs * BoardNetwork::kEntries);
  }
  require_counts("counts", counts);
  rl::require_finite(state);
  require_moments(part(state, "optimizer"));
  NamedTensors kept;
  for (const auto& [name, tensor] : this->state()) kept.emplace(name, tensor.clone().eval());
  const auto take = [&](const NamedTensors& from) {
    games_.load(part(from, "games"));
    network_.load_state_dict(part(from, "network"));
    adam_->load_state_dict(part(from, "optimizer"));
  };
  try {
    take(state);
  } catch (...) {
    take(kept);
    throw;
  }
  std::copy(before.begin(), before.end(), places_.end() - static_cast<ptrdiff_t>(games * kPairs));
  std::copy(has_before.begin(), has_before.end(), has_before_.begin());
  episodes_ = counts[0];
  steps_ = counts[1];
}

}  // namespace tenon::rl
