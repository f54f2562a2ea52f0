// What a run tells its caller: metrics as they come, a result, and times in which only steps count.

#include "tenon/train/trainer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "tenon/base/parallel.h"
#include "tenon/tensor/stats.h"
#include "tenon/watch/samples.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Trainer : public Runs {};

TEST_F(Trainer, CallerSeesTheMetricsOfTheFile) {
  std::vector<std::string> seen;
  train_in("run", tiny(),
           {.on_metrics = [&](const watch::StepMetrics& metrics) { seen.push_back(watch::metrics_line(metrics)); }});
  std::vector<std::string> written;
  for (const watch::StepMetrics& metrics : watch::read_metrics(path("run") / "metrics.jsonl"))
    written.push_back(watch::metrics_line(metrics));
  EXPECT_EQ(seen, written);
  EXPECT_EQ(seen.size(), 9u);  // steps 1, 3, 6, 9, 10 (evaluated), 12, 15, 18, 20
}

TEST_F(Trainer, TimeBetweenStepsDoesNotCount) {
  using namespace std::chrono_literals;
  watch::StepMetrics last;
  const TrainResult result = train_in("run", tiny(), {.on_metrics = [&](const watch::StepMetrics& metrics) {
                                        last = metrics;
                                        std::this_thread::sleep_for(200ms);
                                      }});
  const double without_sleep = result.seconds - 9 * 0.2 + 0.2;  // the last line was written before the last sleep
  EXPECT_GT(without_sleep, 0);
  EXPECT_LE(last.seconds, without_sleep);
  EXPECT_GE(result.items_per_second, static_cast<double>(last.items) / without_sleep);
}

// As behind `2>&1 | head`: what is shown is lost, and nothing else. SIGPIPE would end this process.
TEST_F(Trainer, APipeThatNobodyReadsEndsNoRun) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::FILE* out = fdopen(ends[1], "w");
  std::setvbuf(out, nullptr, _IONBF, 0);  // as stderr is
  EXPECT_EQ(train(tiny(), {.folder = path("run"), .out = out}).step, 20);
  std::fclose(out);
  EXPECT_EQ(std::signal(SIGPIPE, before), SIG_DFL);  // the program's own choice again
  EXPECT_TRUE(fs::exists(path("run") / "checkpoints/step_00000020"));
}

TEST_F(Trainer, ResultIsThatOfTheLastLine) {
  watch::StepMetrics last;
  const TrainResult result =
      train_in("run", tiny(), {.on_metrics = [&](const watch::StepMetrics& metrics) { last = metrics; }});
  EXPECT_EQ(result.step, 20);
  EXPECT_EQ(result.loss, last.loss);
  EXPECT_EQ(result.validation_loss, last.validation_loss);
  EXPECT_LE(*result.best_validation_loss, *result.validation_loss);
  EXPECT_EQ(last.items, 20 * 4 * 16);
  EXPECT_EQ(result.last_sample, watch::read_samples(path("run")).back().text);
  EXPECT_FALSE(result.stopped);
}

// Once it is captured, a step submits one replay, sends its batch, and asks for no memory.
TEST_F(Trainer, StepIsOneReplay) {
  const auto cost_of = [&](const std::string& name, int64_t steps) {
    const Stats before = stats();
    train_in(name, tiny({fmt::format("training.steps={}", steps), "training.eval_every=0", "training.eval_batches=0",
                         "sample.every=0", "sample.tokens=64", "checkpoint.every=0", "training.log_every=1000",
                         "schedule.kind=constant"}));
    Stats cost = stats();
    cost.replays -= before.replays;
    cost.evaluations -= before.evaluations;
    cost.device_allocations -= before.device_allocations;
    cost.bytes_downloaded -= before.bytes_downloaded;
    return cost;
  };
  cost_of("warm", 20);
  const Stats few = cost_of("few", 20), many = cost_of("many", 60);
  EXPECT_EQ(many.replays - few.replays, 40u);
  EXPECT_EQ(many.evaluations - few.evaluations, 40u);
  EXPECT_EQ(many.bytes_downloaded, few.bytes_downloaded);
  EXPECT_LE(many.device_allocations - few.device_allocations,
            2u * 40 + 2);  // inputs and targets; one replay is checked
}

// Gradient rules of products in bf16 hold on to tensors; a step must be replayed all the same.
TEST_F(Trainer, StepInBf16IsOneReplay) {
  const auto replays_of = [&](const std::string& name, int64_t steps) {
    const size_t before = stats().replays;
    train_in(name, tiny({fmt::format("training.steps={}", steps), "training.precision=bf16", "training.eval_every=0",
                         "training.eval_batches=0", "sample.every=0", "sample.tokens=64", "checkpoint.every=0",
                         "training.log_every=1000", "schedule.kind=constant"}));
    return stats().replays - before;
  };
  EXPECT_EQ(replays_of("more", 30) - replays_of("less", 10), 20u);
}

TEST_F(Trainer, EvaluationMasksTheSameTokensEveryTime) {
  std::vector<double> losses;
  const auto watch = [&](const watch::StepMetrics& m) {
    if (m.validation_loss) losses.push_back(*m.validation_loss);
  };
  train_in("run",
           tiny({"training.method=masked_lm", "sample.every=0", "sample.tokens=64", "optimizer.kind=sgd",
                 "optimizer.lr=1e-20", "training.eval_every=5", "optimizer.weight_decay=0"}),
           {.on_metrics = watch});
  EXPECT_EQ(losses, std::vector<double>(4, losses.at(0)));
}

TEST_F(Trainer, ThreadsAreThoseOfTheProcessAgain) {
  const int before = base::num_threads();
  train_in("run", tiny({fmt::format("device.threads={}", before + 1), "training.steps=1"}));
  EXPECT_EQ(base::num_threads(), before);
}

}  // namespace
}  // namespace tenon::train
