// Checkpoints never lie: what is damaged is found and passed over with a line that says so, what is kept is what the
// config asks for, and what killed writers left behind goes away.

#include "tenon/train/checkpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tenon/io/safetensors.h"
#include "tenon/tensor/creation.h"
#include "tenon/watch/metrics.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Checkpoints : public Runs {
 protected:
  fs::path folder() const { return path("checkpoints"); }
  void save(int64_t step) {
    save_checkpoint(
        folder(),
        {step, R"({"who": "test"})", {{"weights", full({3}, static_cast<double>(step))}}, "which algorithms\n"});
  }
  std::vector<std::string> names_in(const fs::path& where) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(where)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// The step of the newest good one, and what is said of those passed over.
  std::pair<int64_t, std::vector<std::string>> newest() {
    std::vector<std::string> refused;
    const auto found = newest_checkpoint(folder(), [&](const std::string& why) { refused.push_back(why); });
    return {found ? found->step : -1, refused};
  }
  static void flip_bit(const fs::path& file, int64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(at);
    stream.put(byte);
  }
};

using Names = std::vector<std::string>;

TEST_F(Checkpoints, ComesBackAsItWas) {
  save(7);
  const Checkpoint found = read_checkpoint(checkpoint_path(folder(), 7));
  EXPECT_EQ(found.step, 7);
  EXPECT_EQ(found.state, R"({"who":"test"})");
  EXPECT_EQ(found.tensors.at("weights").to_vector<float>(), (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(found.products, "which algorithms\n");
  EXPECT_EQ(names_in(folder()), Names{"step_00000007"});
}

TEST_F(Checkpoints, EveryFlippedBitIsFound) {
  save(1);
  save(2);
  for (const char* name : {"checkpoint.json", "state.safetensors", "products.tuned"}) {
    const fs::path file = checkpoint_path(folder(), 2) / name;
    const auto bytes = static_cast<int64_t>(fs::file_size(file));
    for (int64_t at = 0; at < bytes; ++at) {
      flip_bit(file, at);
      const auto [step, refused] = newest();
      EXPECT_EQ(step, 1) << name << " at " << at;
      ASSERT_EQ(refused.size(), 1u) << name << " at " << at;
      EXPECT_TRUE(refused[0].starts_with("[checkpoint] " + file.string() + ": is damaged")) << refused[0];
      flip_bit(file, at);
    }
  }
  EXPECT_EQ(newest().first, 2);
}

TEST_F(Checkpoints, EveryTruncationIsFound) {
  for (const char* name : {"checkpoint.json", "state.safetensors", "products.tuned"}) {
    save(1);
    save(2);
    const fs::path file = checkpoint_path(folder(), 2) / name;
    for (auto bytes = static_cast<int64_t>(fs::file_size(file)); bytes-- > 0;) {
      fs::resize_file(file, static_cast<uintmax_t>(bytes));
      EXPECT_EQ(newest().first, 1) << name << " of " << bytes;
    }
    fs::remove(file);
    EXPECT_EQ(newest().first, 1) << "without " << name;
  }
}

TEST_F(Checkpoints, RenamedFolderIsFound) {
  save(1);
  fs::rename(checkpoint_path(folder(), 1), checkpoint_path(folder(), 9));
  const auto [step, refused] = newest();
  EXPECT_EQ(step, -1);
  EXPECT_TRUE(refused.at(0).ends_with("is of step 1, not of the one that its folder is named after")) << refused.at(0);
}

TEST_F(Checkpoints, SameStepAgainReplacesTheOldOne) {
  save(1);
  save(1);
  EXPECT_EQ(newest().first, 1);
  EXPECT_EQ(names_in(folder()), Names{"step_00000001"});
}

TEST_F(Checkpoints, PruningKeepsTheLastAndTheSpared) {
  for (const int64_t step : {10, 20, 30, 40, 50}) save(step);
  prune_checkpoints(folder(), 2, 20);
  EXPECT_EQ(checkpoint_steps(folder()), (std::vector<int64_t>{20, 40, 50}));
}

TEST_F(Checkpoints, LeftoversOfKilledWritersGo) {
  save(10);
  fs::create_directories(folder() / ".unfinished_step_00000020");
  fs::create_directories(folder() / ".dropped_step_00000005");
  std::ofstream(folder() / ".unfinished_step_00000020" / "state.safetensors") << "half";
  EXPECT_EQ(newest().first, 10);  // nor are they taken for checkpoints
  prune_checkpoints(folder(), 3, {});
  EXPECT_EQ(names_in(folder()), Names{"step_00000010"});
}

TEST_F(Checkpoints, WhatIsNoCheckpointIsNeverRemoved) {
  fs::create_directories(folder() / "step_00000003");
  std::ofstream(folder() / "step_00000003/notes.txt") << "mine";
  std::ofstream(folder() / "step_00000007") << "mine";
  std::ofstream(folder() / ".dropped_mine") << "mine";
  for (const int64_t step : {10, 20, 30}) save(step);
  prune_checkpoints(folder(), 2, {});
  EXPECT_EQ(names_in(folder()),
            (Names{".dropped_mine", "step_00000003", "step_00000007", "step_00000020", "step_00000030"}));
  save(7);  // where something lies in the way
  save(3);
  EXPECT_EQ(io::content_of(folder() / "damaged_step_00000007"), "mine");
  EXPECT_EQ(io::content_of(folder() / "damaged_step_00000003/notes.txt"), "mine");
  EXPECT_EQ(checkpoint_steps(folder()), (std::vector<int64_t>{3, 7, 20, 30}));
}

TEST_F(Checkpoints, OneThatCannotBeReadIsNotCalledDamaged) {
  save(1);
  save(2);
  const fs::path file = checkpoint_path(folder(), 2) / "state.safetensors";
  fs::rename(file, folder() / "kept");
  fs::create_symlink("state.safetensors", file);  // leads to itself
  EXPECT_EQ(text_of([&] { newest(); }),
            "[checkpoint] " + file.string() + ": cannot be read: Too many levels of symbolic links");
  EXPECT_EQ(checkpoint_steps(folder()), (std::vector<int64_t>{1, 2}));
}

TEST_F(Checkpoints, LeftoversGoWhenARunGoesOn) {
  train_in("run", tiny(), {.stop_after = 2});
  fs::create_directories(path("run") / "checkpoints/.dropped_step_00000001");
  train_in("run", tiny(), {.resume = true, .stop_after = 2});
  EXPECT_FALSE(fs::exists(path("run") / "checkpoints/.dropped_step_00000001"));
}

TEST_F(Checkpoints, WhatAKillBeforePruningLeftGoesWithTheNextProcess) {
  const Config config = tiny({"checkpoint.every=5", "checkpoint.keep_last=1", "checkpoint.keep_best=false"});
  train_in("run", config);
  const fs::path checkpoints = path("run") / "checkpoints";
  fs::create_directory_symlink("step_00000020", checkpoints / ".best");  // killed while the best was named
  save_checkpoint(checkpoints, {15, "{}", {}});                          // killed before this one was removed
  train_in("run", config, {.resume = true});                             // has nothing to save
  EXPECT_EQ(names_in(checkpoints), Names{"step_00000020"});
}

TEST_F(Checkpoints, BestIsANameThatCanMove) {
  save(10);
  save(20);
  EXPECT_FALSE(best_step(folder()));
  name_best(folder(), 10);
  EXPECT_EQ(best_step(folder()), 10);
  name_best(folder(), 20);
  EXPECT_EQ(best_step(folder()), 20);
  EXPECT_EQ(read_checkpoint(fs::canonical(folder() / "best")).step, 20);
  EXPECT_EQ(read_checkpoint(folder() / "best").step, 20);
}

TEST_F(Checkpoints, FailedWriteKeepsTheOthers) {
  save(10);
  std::string why;
  {
    const io::FileSizeLimit full(100);
    why = text_of([&] { save(20); });
  }
  EXPECT_TRUE(why.starts_with("[checkpoint] " + checkpoint_path(folder(), 20).string() +
                              ": could not be written, earlier ones are kept: "))
      << why;
  EXPECT_EQ(names_in(folder()), Names{"step_00000010"});
  EXPECT_EQ(newest().first, 10);
}

// ---- runs ----

TEST_F(Checkpoints, RunKeepsTheLastFewAndTheBest) {
  // The rate is so high that the last evaluation is not the best one.
  train_in("run", tiny({"training.steps=12", "checkpoint.every=2", "checkpoint.keep_last=2", "training.eval_every=4",
                        "optimizer.lr=2", "schedule.kind=constant"}));
  watch::StepMetrics best;
  for (const watch::StepMetrics& line : watch::read_metrics(path("run") / "metrics.jsonl")) {
    if (line.validation_loss && *line.validation_loss < best.validation_loss.value_or(1e30)) best = line;
  }
  ASSERT_TRUE(best.step == 4 || best.step == 8) << best.step;
  EXPECT_EQ(names_in(path("run") / "checkpoints"),
            (Names{"best", checkpoint_path("", best.step).filename().string(), "step_00000010", "step_00000012"}));
  EXPECT_EQ(best_step(path("run") / "checkpoints"), best.step);
}

TEST_F(Checkpoints, RunGoesOnFromTheNewestGoodOneAndSaysSo) {
  const Config config = tiny({"checkpoint.every=5", "training.eval_every=0", "training.eval_batches=0"});
  const Traces whole = trained("whole", config);
  train_in("run", config, {.stop_after = 17});
  const fs::path checkpoints = path("run") / "checkpoints";
  flip_bit(checkpoint_path(checkpoints, 17) / "state.safetensors", 1000);
  fs::resize_file(checkpoint_path(checkpoints, 15) / "checkpoint.json", 50);
  const std::string text = said("run", config, {.resume = true});
  EXPECT_NE(text.find("passed over: [checkpoint] " + (checkpoint_path(checkpoints, 17) / "state.safetensors").string() +
                      ": is damaged: its checksum does not fit\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("passed over: [checkpoint] " + (checkpoint_path(checkpoints, 15) / "checkpoint.json").string()),
            text.npos)
      << text;
  EXPECT_NE(text.find("goes on from " + checkpoint_path(checkpoints, 10).string() + "\n"), text.npos) << text;
  EXPECT_EQ(difference(whole, traces_of(path("run"))), "");
  // They are out of the way, and do not count among the last ones.
  EXPECT_EQ(names_in(checkpoints), (Names{"damaged_step_00000015", "damaged_step_00000017", "step_00000010",
                                          "step_00000015", "step_00000020"}));
}

TEST_F(Checkpoints, DamagedOneDoesNotPushOutGoodOnes) {
  const Config config =
      tiny({"checkpoint.every=2", "checkpoint.keep_last=1", "training.eval_every=0", "training.eval_batches=0"});
  train_in("run", config, {.stop_after = 10});
  const fs::path checkpoints = path("run") / "checkpoints";
  fs::copy(checkpoint_path(checkpoints, 10), checkpoint_path(checkpoints, 19), fs::copy_options::recursive);
  train_in("run", config, {.resume = true, .stop_after = 13});
  EXPECT_EQ(checkpoint_steps(checkpoints), std::vector<int64_t>{13});
  EXPECT_EQ(read_checkpoint(checkpoint_path(checkpoints, 13)).step, 13);
}

TEST_F(Checkpoints, NoGoodOneAtAllIsAnErrorThatChangesNothing) {
  train_in("run", tiny(), {.stop_after = 2});
  const fs::path checkpoints = path("run") / "checkpoints";
  fs::resize_file(checkpoint_path(checkpoints, 2) / "checkpoint.json", 50);
  const std::string metrics = io::content_of(path("run") / "metrics.jsonl");
  EXPECT_EQ(refusal("run", tiny(), {.resume = true}),
            "[train] " + path("run").string() + ": none of its checkpoints is good; begin a new run in another folder");
  EXPECT_EQ(checkpoint_steps(checkpoints), std::vector<int64_t>{2});
  EXPECT_EQ(io::content_of(path("run") / "metrics.jsonl"), metrics);
}

TEST_F(Checkpoints, RunThatWasStoppedBeforeTheFirstOneBeginsAnew) {
  const Traces whole = trained("whole", tiny());
  train_in("run", tiny(), {.stop_after = 1});
  fs::remove_all(path("run") / "checkpoints" / "step_00000001");
  const std::string text = said("run", tiny(), {.resume = true});
  EXPECT_NE(text.find("was stopped before its first checkpoint; begins anew"), text.npos) << text;
  EXPECT_EQ(difference(whole, traces_of(path("run"))), "");
}

TEST_F(Checkpoints, NameOfTheBestIsMendedAfterAKill) {
  const Config config = tiny();
  train_in("run", config, {.stop_after = 12});
  const fs::path checkpoints = path("run") / "checkpoints";
  ASSERT_EQ(best_step(checkpoints), 10);
  fs::remove(checkpoints / "best");  // as if killed between the checkpoint and its name
  train_in("run", config, {.resume = true, .stop_after = 13});
  EXPECT_EQ(best_step(checkpoints), 10);
}

TEST_F(Checkpoints, SamplesOfStepsThatAreLostGo) {
  train_in("run", tiny({"sample.every=2"}), {.stop_after = 12});
  fs::remove_all(path("run") / "checkpoints" / "step_00000012");
  train_in("run", tiny({"sample.every=0", "sample.tokens=64"}), {.resume = true});
  const Traces traces = traces_of(path("run"));
  EXPECT_EQ(traces.samples.size(), 5u);
  EXPECT_EQ(traces.samples.rbegin()->first, 10);
}

TEST_F(Checkpoints, HalfWrittenFilesOfAKilledRunGo) {
  train_in("run", tiny(), {.stop_after = 2});
  for (const char* name : {"report.html.4711-0.tmp", "samples/step_00000002.txt.12-3.tmp", "notes.tmp"})
    std::ofstream(path("run") / name) << "half";
  train_in("run", tiny(), {.resume = true, .stop_after = 3});
  EXPECT_FALSE(fs::exists(path("run") / "report.html.4711-0.tmp"));
  EXPECT_FALSE(fs::exists(path("run") / "samples/step_00000002.txt.12-3.tmp"));
  EXPECT_TRUE(fs::exists(path("run") / "notes.tmp"));
}

TEST_F(Checkpoints, ResumingAFinishedRunOnlyWritesTheModelAgain) {
  const TrainResult first = train_in("run", tiny());
  fs::remove_all(first.model);
  const TrainResult again = train_in("run", tiny(), {.resume = true});
  EXPECT_EQ(again.step, 20);
  EXPECT_EQ(again.loss, first.loss);
  EXPECT_EQ(again.validation_loss, first.validation_loss);
  EXPECT_EQ(again.last_sample, first.last_sample);
  EXPECT_TRUE(fs::exists(again.model / "model.safetensors"));
}

TEST_F(Checkpoints, LongerRunGoesOn) {
  const Config constant = tiny({"schedule.kind=constant", "training.steps=10"});
  train_in("run", constant);
  const TrainResult longer = train_in("run", tiny({"schedule.kind=constant", "training.steps=15"}), {.resume = true});
  EXPECT_EQ(longer.step, 15);
  EXPECT_EQ(run_config(path("run")).training.steps, 15);
}

}  // namespace
}  // namespace tenon::train
