// The DQN of 2048 and its game: one JSON object a line, under the names of the PyTorch side that bench/compare_dqn runs
// beside it.
//
// Times are of the processor (`CLOCK_PROCESS_CPUTIME_ID`, all threads together), which others on the machine disturb
// less than they disturb the clock; `clock_us` is that of the clock. Both are medians.
//
// usage: TENON_THREADS=1 dqn_bench [FILTER]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "tenon/base/resident.h"
#include "tenon/rl/dqn_learner.h"
#include "tenon/tenon.h"

namespace tenon::rl {
namespace {

std::string filter;

double processor_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Taken {
  double processor_us, clock_us;
};

// Of one call, from so many rounds of so many calls.
Taken measure(int rounds, int calls, const std::function<void()>& call) {
  std::vector<double> processor, clock;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double before = processor_us();
    for (int k = 0; k < calls; ++k) call();
    processor.push_back((processor_us() - before) / calls);
    clock.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
                    calls);
  }
  return {median(processor), median(clock)};
}

bool is_wanted(const std::string& name) { return name.find(filter) != std::string::npos; }

void print(const std::string& name, const Taken& taken, const std::string& more = "") {
  fmt::print("{{\"work\": \"{}\", \"ms\": {:.6f}, \"processor_us\": {:.3f}, \"clock_us\": {:.3f}{}}}\n", name,
             taken.processor_us * 1e-3, taken.processor_us, taken.clock_us, more);
  std::fflush(stdout);
}

// Random play: a move is drawn, made, and a tile appears, in many games in turn.
void environment() {
  const std::string name = "2048, one random move";
  if (!is_wanted(name)) return;
  constexpr size_t kGames = 64;
  Games games(kGames, 1);
  Random random(2);
  constexpr size_t kMovesAtOnce = kGames * 2000;
  Taken taken = measure(21, 1, [&] {
    for (size_t i = 0; i < kMovesAtOnce; ++i) {
      const size_t game = i % kGames;
      if (games.is_over(game)) games.restart(game);
      games.play(game, any_of(games.legal(game), random));
    }
  });
  taken.processor_us /= kMovesAtOnce;
  taken.clock_us /= kMovesAtOnce;
  print(name, taken, fmt::format(", \"moves_per_second\": {:.0f}", 1e6 / taken.processor_us));
}

// A hundred games of the earlier library's schedule; the run is made anew each time, which is not counted.
void episodes(const std::string& name, int64_t begin) {
  if (!is_wanted(name)) return;
  const DqnConfig config = parse_dqn_config(find_dqn_preset("dqn2048_reference")->json, "dqn2048_reference");
  constexpr int kRuns = 51;
  std::vector<double> processor, clock;
  for (int run = 0; run < kRuns; ++run) {
    DqnConfig own = config;
    own.seed = run + 1;
    DqnLearner learner(own);
    std::vector<Episode> ended;
    for (int i = 0; i < 3; ++i) learner.play(ended);  // the first calls trace and record
    learner.set_episodes(begin);
    const auto start = std::chrono::steady_clock::now();
    const double before = processor_us();
    for (int i = 0; i < 100; ++i) learner.play(ended);
    processor.push_back((processor_us() - before) / 100);
    clock.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 100);
  }
  const Taken taken{median(processor), median(clock)};
  print(name, taken, fmt::format(", \"episodes_per_second\": {:.0f}", 1e6 / taken.processor_us));
}

void network() {
  manual_seed(0);
  nn::Sequential net;
  net.emplace<nn::Linear>(16, 64);
  net.emplace<nn::ReLU>();
  net.emplace<nn::Linear>(64, 64);
  net.emplace<nn::ReLU>();
  net.emplace<nn::Linear>(64, 4);
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  const Tensor x = randn({32, 16}).eval(), y = randn({32, 4}).eval(), row = randn({1, 16}).eval();
  auto step = compile([&](const Tensor& in, const Tensor& wanted) {
    Tensor loss = nn::mse_loss(net(in), wanted);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss.detach();
  });
  auto forward = compile([&](const Tensor& in) {
    const NoGrad playing;
    return net(in);
  });
  const std::string of_step = "DQN network 16-64-64-4, batch 32, Adam step", of_row = "DQN network, one row";
  if (is_wanted(of_step)) {
    for (int i = 0; i < 4; ++i) wait({step(x, y)});
    print(of_step, measure(21, 200, [&] { wait({step(x, y)}); }));
  }
  if (is_wanted(of_row)) {
    for (int i = 0; i < 4; ++i) wait({forward(row)});
    print(of_row, measure(21, 2000, [&] { wait({forward(row)}); }));
  }
}

// As the learner does them: with the batch drawn and sent, with the board sent and the best move read.
void agent() {
  const std::string of_step = "DQN, a batch drawn and learned", of_move = "DQN, one move";
  if (!is_wanted(of_step) && !is_wanted(of_move)) return;
  Dqn dqn({});
  Replay replay({.capacity = 1000});
  Random random(1);
  Games games(1, 1);
  while (replay.size() < 1000) {
    if (games.is_over(0)) games.restart(0);
    const Board board = games.board(0);
    const Move move = any_of(games.legal(0), random);
    const int score = games.play(0, move);
    replay.add({board, move, static_cast<float>(score), games.is_over(0) ? 0.0F : 0.99F, games.board(0)});
  }
  for (int i = 0; i < 4; ++i) dqn.learn(replay, random);
  if (is_wanted(of_step)) print(of_step, measure(21, 200, [&] { dqn.learn(replay, random); }));
  const Board board = replay[0].board;
  const MoveSet legal = legal_moves(board);
  for (int i = 0; i < 4; ++i) dqn.best(board, legal);
  if (is_wanted(of_move)) print(of_move, measure(21, 2000, [&] { dqn.best(board, legal); }));
}

void run() {
  const auto resident = base::resident_bytes();
  environment();
  network();
  agent();
  episodes("dqn2048_reference, one episode of the first 100", 0);
  episodes("dqn2048_reference, one episode at epsilon 0.1", 100000);
  fmt::print("{{\"work\": \"resident memory above the empty program\", \"megabytes\": {:.1f}}}\n",
             static_cast<double>(base::resident_bytes() - resident) * 1e-6);
}

}  // namespace
}  // namespace tenon::rl

int main(int argc, char** argv) {
  if (argc > 1) tenon::rl::filter = argv[1];
  tenon::rl::run();
}
