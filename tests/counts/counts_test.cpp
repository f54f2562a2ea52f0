// What a captured step costs, counted on a device that computes nothing, and compared with counts.txt: a change that
// alters a count alters the table with it, knowingly.
//
// Steps are those of training programs: forward, backward, update. Replays are counted that are neither traced nor
// checked, so the counts are of the steady state, and the same on every machine and with any number of threads.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/backends/null/null_device.h"
#include "tenon/base/allocations.h"
#include "tenon/device/registry.h"
#include "tenon/exec/inspect.h"
#include "tenon/exec/stats.h"
#include "tenon/kernels/kernels.h"
#include "tenon/rl/dqn.h"
#include "tenon/tenon.h"
#include "tests/plan_counts.h"

namespace tenon {
namespace {

// The calls, epilogues and orders of images of a GPU with CUDA's libraries.
Device gpu_like() {
  static const ir::DeviceId id = device::add({"null_cuda", [] {
                                                ir::Limits limits;
                                                limits.missing_calls = kernels::missing_calls();
                                                limits.gathers_inside = true;
                                                limits.gelu_epilogue = limits.slope_epilogue = true;
                                                limits.channels_last = true;
                                                return backends::null::open_with(limits);
                                              }});
  static_cast<void>(id);
  return Device("null_cuda");
}

// --- The steps ---

using Step = std::function<void()>;

// A captured function cannot be copied, a Step can.
template <typename F>
auto captured(F f) {
  return std::make_shared<decltype(compile(f))>(compile(f));
}

Tensor made(const Tensor& x) { return x.clone().eval(); }

// Optimizer and loss of everybody; the function is captured, and what it holds lives as long as the step.
template <typename Model, typename Loss>
Step training(std::shared_ptr<Model> model, const Tensor& x, const Tensor& y, bool bf16, Loss loss_of) {
  eval(model->parameters());
  eval(model->buffers());
  auto optimizer = std::make_shared<optim::AdamW>(optim::decay_matrices_only(model->parameters()));
  if (bf16) optimizer->keep_shadow();
  auto step = captured([=](const Tensor& in, const Tensor& wanted) {
    const Autocast lower(DType::bf16, bf16);
    Tensor loss = loss_of(*model, in, wanted);
    loss.backward();
    optimizer->step();
    optimizer->zero_grad();
    return loss.detach();
  });
  return [step, x, y] { (*step)(x, y); };
}

template <typename Model, typename Forward>
Step inference(std::shared_ptr<Model> model, const Tensor& x, Forward forward) {
  model->eval();
  eval(model->parameters());
  eval(model->buffers());
  auto step = captured([=](const Tensor& in) {
    const NoGrad reading;
    return forward(*model, in);
  });
  return [step, x] { (*step)(x); };
}

struct Language {
  int64_t batch, time, chunk = 0;
  bool bf16 = false;
};

template <typename Model, typename Config>
Step language_model(const Config& config, const Language& work, Device device) {
  auto model = std::make_shared<Model>(config, Options(DType::f32, device));
  const Tensor ids = made(zeros({work.batch, work.time}, Options(DType::i64, device)));
  return training(model, ids, ids, work.bf16, [chunk = work.chunk](const Model& m, const Tensor& x, const Tensor& y) {
    return m.loss(x, y, {.chunk = chunk});
  });
}

models::Gpt2Config gpt2_without_dropout(models::Gpt2Config config) {
  config.set_dropout(0);
  return config;
}

template <typename Model, typename Config>
Step next_logits(const Config& config, Device device) {
  auto model = std::make_shared<Model>(config, Options(DType::f32, device));
  const Tensor ids = made(zeros({4, 128}, Options(DType::i64, device)));
  return inference(model, ids, [](const Model& m, const Tensor& x) { return m.next_logits(x); });
}

std::shared_ptr<models::ResNet> resnet50(Device device) {
  return std::make_shared<models::ResNet>(models::ResNetConfig::resnet(50), Options(DType::f32, device));
}

Tensor pictures(int64_t batch, Device device) { return made(zeros({batch, 3, 224, 224}, Options(DType::f32, device))); }

Step resnet50_step(int64_t batch, bool bf16, Device device) {
  return training(resnet50(device), pictures(batch, device), made(zeros({batch}, Options(DType::i64, device))), bf16,
                  [](const models::ResNet& m, const Tensor& x, const Tensor& y) { return nn::cross_entropy(m(x), y); });
}

Step resnet50_forward(Device device) {
  return inference(resnet50(device), pictures(8, device),
                   [](const models::ResNet& m, const Tensor& x) { return m(x); });
}

// A model of characters: 128 numbers each, 256 units, 96 characters.
class CharacterLstm : public nn::Module {
 public:
  CharacterLstm() : table_(96, 128), lstm_(128, 256, {.batch_first = true}), out_(256, 96) {
    register_module("table", table_);
    register_module("lstm", lstm_);
    register_module("out", out_);
  }
  Tensor operator()(const Tensor& x) const { return out_(lstm_(table_(x)).y); }

 private:
  nn::Embedding table_;
  nn::LSTM lstm_;
  nn::Linear out_;
};

std::shared_ptr<CharacterLstm> lstm(Device device) {
  auto model = std::make_shared<CharacterLstm>();
  model->to(device);
  return model;
}

Step lstm_step(bool bf16, Device device, int64_t time = 64) {
  const Tensor ids = made(zeros({32, time}, Options(DType::i64, device)));
  return training(lstm(device), ids, ids, bf16, [](const CharacterLstm& m, const Tensor& x, const Tensor& y) {
    return nn::cross_entropy(m(x).reshape({-1, 96}), y.reshape({-1}));
  });
}

Step lstm_forward(Device device) {
  const Tensor ids = made(zeros({32, 64}, Options(DType::i64, device)));
  return inference(lstm(device), ids, [](const CharacterLstm& m, const Tensor& x) { return m(x); });
}

// As the learner of 2048 does them: with the batch drawn and sent; with the board sent and the values read.
struct Player {
  explicit Player(Device device) : dqn({.device = device}), replay({.capacity = 100}), random(1) {
    rl::Games games(1, 1);
    while (replay.size() < 100) {
      if (games.is_over(0)) games.restart(0);
      const rl::Board board = games.board(0);
      const rl::Move move = rl::any_of(games.legal(0), random);
      const int score = games.play(0, move);
      replay.add({board, move, static_cast<float>(score), games.is_over(0) ? 0.0F : 0.99F, games.board(0)});
    }
  }
  rl::Dqn dqn;
  rl::Replay replay;
  rl::Random random;
};

Step dqn_step(Device device) {
  auto player = std::make_shared<Player>(device);
  return [player] { player->dqn.learn(player->replay, player->random); };
}

Step dqn_move(Device device) {
  auto player = std::make_shared<Player>(device);
  return [player] { player->dqn.best(player->replay[0].board, rl::legal_moves(player->replay[0].board)); };
}

struct Case {
  std::string name;
  std::function<Step()> make;
  friend void PrintTo(const Case& work, std::ostream* out) { *out << work.name; }
};

std::vector<Case> cases() {
  using models::Gpt2, models::Llama;
  const auto distil = gpt2_without_dropout(models::Gpt2Config::distilgpt2());
  const auto gpt2 = gpt2_without_dropout(models::Gpt2Config::gpt2());
  const auto llama = models::LlamaConfig::tiny_llama();
  const auto null = [] { return Device("null"); };
  return {
      {"distilgpt2.step",
       [=] {
         return language_model<Gpt2>(distil, {4, 128}, null());
       }},
      {"distilgpt2.step.bf16.gpu",
       [=] {
         return language_model<Gpt2>(distil, {8, 1024, 2048, true}, gpu_like());
       }},
      {"distilgpt2.forward", [=] { return next_logits<Gpt2>(distil, null()); }},
      {"gpt2_124m.step.bf16.gpu",
       [=] {
         return language_model<Gpt2>(gpt2, {32, 1024, 8192, true}, gpu_like());
       }},
      {"tinyllama.step",
       [=] {
         return language_model<Llama>(llama, {1, 512}, null());
       }},
      {"tinyllama.step.bf16.gpu",
       [=] {
         return language_model<Llama>(llama, {4, 2048, 2048, true}, gpu_like());
       }},
      {"tinyllama.forward", [=] { return next_logits<Llama>(llama, null()); }},
      {"resnet50.step", [=] { return resnet50_step(8, false, null()); }},
      {"resnet50.step.bf16.gpu", [=] { return resnet50_step(128, true, gpu_like()); }},
      {"resnet50.forward", [=] { return resnet50_forward(null()); }},
      {"lstm.step", [=] { return lstm_step(false, null()); }},
      {"lstm.step.bf16.gpu", [=] { return lstm_step(true, gpu_like()); }},
      {"lstm.forward", [=] { return lstm_forward(null()); }},
      {"dqn.step", [=] { return dqn_step(null()); }},
      {"dqn.step.gpu", [=] { return dqn_step(gpu_like()); }},
      {"dqn.move", [=] { return dqn_move(null()); }},
  };
}

// --- Counting ---

// The columns of the table.
struct Counts {
  uint64_t launches = 0, submits = 0, buffers = 0, uploaded = 0, downloaded = 0;
  std::string news;  // calls of operator new; "?" where a sanitizer brings its own
  uint64_t kernels = 0, moved = 0, peak = 0;

  std::string row(const std::string& name) const {
    return fmt::format(kRow, name, launches, submits, buffers, news, uploaded, downloaded, kernels, moved, peak);
  }
  static std::string header() {
    return fmt::format(kRow, "# step", "launches", "submits", "buffers", "new", "uploaded", "downloaded", "kernels",
                       "moved", "peak");
  }

 private:
  static constexpr const char* kRow = "{:<27}{:>9}{:>9}{:>9}{:>5}{:>10}{:>12}{:>9}{:>14}{:>13}";
};

// Of a call that is replayed and no more: the first two are traced, replays 1, 2, 4 and 8 are compared with the
// function.
Counts counted(const Case& work) {
  base::count_allocations();
  manual_seed(0);
  plan::Plan largest;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    if (plan.launches.size() >= largest.launches.size()) largest = plan;
  });
  const Step step = work.make();
  largest = {};  // of the step alone, not of what made the weights
  for (int i = 0; i < 6; ++i) step();
  const exec::Stats before = exec::stats();
  const size_t news = base::allocations().value_or(0);
  step();
  Counts counts;
  counts.news = base::allocations() ? std::to_string(*base::allocations() - news) : "?";
  const exec::Stats after = exec::stats();
  EXPECT_EQ(after.replays - before.replays, 1u) << "a step is one replay";
  EXPECT_EQ(after.plan_misses - before.plan_misses, 0u) << "nothing is planned in the steady state";
  EXPECT_EQ(after.programs_compiled - before.programs_compiled, 0u);
  counts.launches = after.launches - before.launches;
  counts.submits = after.submits - before.submits;
  counts.buffers = after.device_allocations - before.device_allocations;
  counts.uploaded = after.bytes_uploaded - before.bytes_uploaded;
  counts.downloaded = after.bytes_downloaded - before.bytes_downloaded;
  counts.kernels = largest.kernels.size();
  counts.moved = test::bytes_moved(largest);
  counts.peak = test::planned_peak(largest);
  return counts;
}

// What the planner keeps by the address of a node must not decide: a plan, and so its kernels and its memory, would
// differ from run to run. Each device has limits of its own, which no plan reaches, so that no plan is found in the
// cache.
TEST(Plans, AreTheSameWhereverNodesLie) {
  std::vector<std::unique_ptr<char[]>> between;
  std::string first;
  for (size_t i = 0; i < 12; ++i) {
    const std::string name = fmt::format("null_{}", i);
    device::add({name, [i] {
                   ir::Limits limits;
                   limits.max_binding -= i + 1;
                   return backends::null::open_with(limits);
                 }});
    plan::Plan largest;
    const exec::WatchPlans watch([&](const plan::Plan& plan) {
      if (plan.launches.size() >= largest.launches.size()) largest = plan;
    });
    for (size_t k = 0; k < 200; ++k) between.push_back(std::make_unique<char[]>(32 + (i * 7919 + k * 104729) % 480));
    const Step step = lstm_step(false, Device(name), 4);
    largest = {};
    step();
    ASSERT_FALSE(largest.launches.empty());
    if (i == 0) first = largest.print();
    ASSERT_EQ(largest.print(), first) << name;
  }
}

// --- The table ---

const std::string kPath = TENON_SOURCE_DIR "/tests/counts/counts.txt";
const char* const kUpdate = "TENON_UPDATE_COUNTS=1 build/release/bin/counts_test";

bool updates() {
  const char* given = std::getenv("TENON_UPDATE_COUNTS");
  return given && std::string(given) == "1";
}

using Row = std::vector<std::string>;

Row words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

std::map<std::string, std::string> read_table() {
  std::map<std::string, std::string> rows;
  std::ifstream file(kPath);
  for (std::string line; std::getline(file, line);) {
    if (const Row words = words_of(line); !words.empty() && words[0] != "#") rows[words[0]] = line;
  }
  return rows;
}

void write_table(const std::map<std::string, std::string>& rows) {
  std::ofstream file(kPath);
  file << "# What one replay of a captured step costs on the `null` device, and on one like it with the limits of CUDA "
          "(.gpu).\n"
          "# launches, submits, buffers asked for, calls of operator new, bytes sent and read; of its plan: distinct "
          "kernels,\n"
          "# bytes moved by its launches, bytes of all memory that it needs. Written by "
       << kUpdate << "\n"
       << Counts::header() << "\n";
  for (const Case& work : cases()) {
    if (const auto row = rows.find(work.name); row != rows.end()) file << row->second << "\n";
  }
}

class StepCounts : public testing::TestWithParam<Case> {};

TEST_P(StepCounts, AreThoseOfTheTable) {
  const std::string& name = GetParam().name;
  const std::string measured = counted(GetParam()).row(name);
  auto rows = read_table();
  if (updates()) {
    rows[name] = measured;
    write_table(rows);
    return;
  }
  ASSERT_TRUE(rows.contains(name)) << "tests/counts/counts.txt has no row for " << name << "; to add it: " << kUpdate;
  Row expected = words_of(rows[name]), found = words_of(measured);
  if (found.size() > 4 && found[4] == "?" && expected.size() > 4) expected[4] = "?";
  EXPECT_TRUE(expected == found) << "           " << Counts::header() << "\nin the table " << rows[name]
                                 << "\nmeasured     " << measured
                                 << "\nIf this is meant, update tests/counts/counts.txt and commit it: " << kUpdate;
}

INSTANTIATE_TEST_SUITE_P(, StepCounts, testing::ValuesIn(cases()), [](const auto& row) {
  std::string name = row.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(CountsTable, HasNoRowThatNobodyMeasures) {
  for (const auto& [name, row] : read_table()) {
    const auto all = cases();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& work) { return work.name == name; }))
        << name << " in tests/counts/counts.txt is no case of counts_test.cpp";
  }
}

}  // namespace
}  // namespace tenon
