#include "tenon/rl/dqn_learner.h"

namespace tenon::rl {
namespace {

constexpr uint64_t kOfLearner = 0x4C4541524E;  // a stream apart from those of games

Encoding encoding_named(const std::string& name) {
  if (name == "one_hot") return Encoding::one_hot;
  return name == "exponents" ? Encoding::exponents : Encoding::tiles;
}

DqnOptions options_of(const DqnConfig& config) {
  manual_seed(static_cast<uint64_t>(config.seed));  // of the first weights
  return {.encoding = encoding_named(config.encoding),
          .hidden = config.hidden,
          .lr = config.lr,
          .batch = config.batch,
          .renew_target_every = config.target_every,
          .double_q = config.double_q,
          .legal_targets = config.legal_targets,
          .device = device_of(config)};
}

}  // namespace

DqnLearner::DqnLearner(const DqnConfig& config)
    : config_(checked(config, "dqn")),
      games_(1, static_cast<uint64_t>(config.seed)),
      random_(static_cast<uint64_t>(config.seed), kOfLearner),
      replay_({.capacity = static_cast<size_t>(config.replay),
               .priority_exponent = config.priority_exponent,
               .correction_exponent = config.correction_exponent}),
      n_step_(static_cast<size_t>(config.n_step), config.discount),
      exploration_{.from = config.epsilon_from, .to = config.epsilon_to, .factor = config.epsilon_factor},
      dqn_(options_of(config)) {}

void DqnLearner::learn() {
  if (replay_.size() >= static_cast<size_t>(config_.batch)) dqn_.learn(replay_, random_);
}

void DqnLearner::play(std::vector<Episode>& ended) {
  const double epsilon = this->epsilon();
  games_.restart(0);
  while (!games_.is_over(0)) {
    const Board board = games_.board(0);
    const bool explores = random_.uniform() < epsilon;
    const Move move = explores ? any_of(games_.legal(0), random_) : dqn_.best(board, games_.legal(0));
    const int score = games_.play(0, move);
    n_step_.add(board, move, score, games_.board(0), games_.is_over(0), replay_);
    if (config_.learn_every > 0 && ++moves_ % config_.learn_every == 0) learn();
  }
  if (config_.learn_every == 0) learn();
  ++episodes_;
  ended.push_back({games_.score(0), games_.moves(0), games_.board(0).largest_exponent()});
}

void DqnLearner::choose(std::span<const Board> boards, std::span<Move> moves) {
  require_choosable(boards, moves.size());
  const std::vector<float> values = dqn_.values(boards);
  for (size_t i = 0; i < boards.size(); ++i) {
    const std::span<const float, kMoves> row(values.data() + i * kMoves, kMoves);
    moves[i] = best_of(row, legal_moves(boards[i]));
  }
}

void DqnLearner::set_episodes(int64_t episodes) {
  if (episodes < 0) base::fail("2048", "0 episodes or more were played, not {}", episodes);
  episodes_ = episodes;
}

NamedTensors DqnLearner::state() const {
  NamedTensors state = dqn_.state();
  add_part(state, "games", games_.state());
  add_part(state, "replay", replay_.state());
  state.emplace("random", saved(std::vector<uint64_t>{random_.state()}));
  state.emplace("counts", saved(std::vector<int64_t>{episodes_, moves_}));
  return state;
}

void DqnLearner::load(const NamedTensors& state) {
  const std::vector<int64_t> counts = numbers(state, "counts", 2), random = numbers(state, "random", 1);
  require_counts("counts", counts);
  const NamedTensors games = games_.state(), replay = replay_.state();
  try {
    games_.load(part(state, "games"));
    replay_.load(part(state, "replay"));
    dqn_.load(state);  // the last: it changes all or nothing
  } catch (...) {
    games_.load(games);
    replay_.load(replay);
    throw;
  }
  random_.set_state(static_cast<uint64_t>(random[0]));
  episodes_ = counts[0];
  moves_ = counts[1];
}

}  // namespace tenon::rl
