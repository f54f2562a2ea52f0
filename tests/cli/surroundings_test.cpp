// A process survives its surroundings: streams that are closed or full, limits, pipes and devices in the place of
// files.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

class Surroundings : public Cli {
 protected:
  Surroundings() {
    std::ofstream text(folder_ / "text.txt");
    for (int i = 0; i < 500; ++i) text << "The fox sees the owl " << i << " times.\n";
    std::ofstream(folder_ / "tiny.json") << R"({
      "model": {"layers": 1, "heads": 2, "width": 32, "context": 16},
      "data": {"train": "text.txt"},
      "tokenizer": {"kind": "char"},
      "training": {"steps": 20, "batch_size": 4, "eval_every": 10, "eval_batches": 2, "log_every": 1},
      "checkpoint": {"every": 10},
      "sample": {"every": 10, "prompt": "The", "tokens": 10}
    })";
  }
  /// Whether every line of the run's metrics is JSON and all of its files are there.
  void expect_whole_run(const std::string& run) {
    std::ifstream metrics(folder_ / run / "metrics.jsonl");
    int lines = 0;
    for (std::string line; std::getline(metrics, line); ++lines) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    EXPECT_EQ(lines, 20);
    EXPECT_TRUE(nlohmann::json::accept(content_of(folder_ / run / "config.json")));
    EXPECT_TRUE(fs::exists(folder_ / run / "model/model.safetensors"));
  }
};

TEST_F(Surroundings, LosingStderrEndsNoRun) {
  EXPECT_EQ(bash("tenon train tiny.json --out closed 2>&-").code, 0);
  expect_whole_run("closed");
  EXPECT_EQ(bash("tenon train tiny.json --out full 2>/dev/full").code, 0);
  expect_whole_run("full");
  EXPECT_EQ(bash("exec 3>&1; { tenon train tiny.json --out piped; echo $? >code; } 2>&1 >/dev/null | true; sleep 1\n"
                 "for i in {1..100}; do [[ -s code ]] && break; sleep 0.1; done; exit $(<code)")
                .code,
            0);
  expect_whole_run("piped");
  EXPECT_EQ(bash("tenon train tiny.json --out all <&- >&- 2>&-").code, 1);  // the result could not be printed
  expect_whole_run("all");
}

TEST_F(Surroundings, AClosedPipeEndsQuietly) {
  // The reader has closed the pipe before anything is written.
  const std::string closed =
      "{ until [ -e gone ]; do sleep 0.02; done; tenon config --schema; } | { exec <&-; touch gone; }";
  const Outcome outcome = bash("set -o pipefail; " + closed);
  EXPECT_EQ(outcome.code, 141);
  EXPECT_EQ(outcome.err, "");
  const Outcome ignored = bash("trap '' PIPE; set -o pipefail; " + closed);
  EXPECT_EQ(ignored.code, 1);
  EXPECT_EQ(ignored.err, "tenon: standard output cannot be written: Broken pipe\n");
}

constexpr const char* kMissingThread =
    "[tenon] a thread could not be started: Resource temporarily unavailable; going on with fewer (lower "
    "TENON_THREADS, or raise the limits: ulimit -u, ulimit -v)\n";

// A stack that is larger than all memory: the same refusal as of a limit on processes, which root does not have.
TEST_F(Surroundings, ARunGoesOnWithoutThreads) {
  const Outcome outcome = bash("ulimit -s 16000000 -v 8000000\nTENON_THREADS=4 timeout 60 '" TENON_CLI
                               "' train tiny.json --out run --quiet");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, kMissingThread);
  expect_whole_run("run");
  ASSERT_EQ(run("train tiny.json --out with_threads --quiet").code, 0);
  EXPECT_EQ(content_of(folder_ / "run/model/model.safetensors"),
            content_of(folder_ / "with_threads/model/model.safetensors"));
}

// At some of these limits the first threads start, and those that a later step needs do not.
TEST_F(Surroundings, ARunGoesOnWithTheThreadsThatStart) {
  if (geteuid() != 0 || bash("setpriv --reuid 65533 --clear-groups true").code != 0)
    GTEST_SKIP() << "only root can become somebody whose threads are limited";
  fs::permissions(folder_, fs::perms::all);
  for (int limit = 1; limit <= 8; ++limit) {
    const Outcome outcome =
        bash("setpriv --reuid 65533 --clear-groups bash -c 'ulimit -u " + std::to_string(limit) +
             "; TENON_THREADS=4 TENON_CACHE_DIR= exec \"" TENON_CLI "\" train tiny.json --out run --quiet'");
    EXPECT_EQ(outcome.code, 0) << limit;
    EXPECT_TRUE(outcome.err.empty() || outcome.err == kMissingThread) << limit << " " << outcome.err;
    EXPECT_FALSE(limit == 1 && outcome.err.empty());
    expect_whole_run("run");
    fs::remove_all(folder_ / "run");
  }
}

// Root may list every folder.
TEST_F(Surroundings, CheckpointsThatCannotBeListedDoNotBeginARunAnew) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 12").code, 0);
  const bool is_root = geteuid() == 0;
  if (is_root && bash("chown -R 65533 . && setpriv --reuid 65533 --clear-groups true").code != 0)
    GTEST_SKIP() << "only somebody who is not root can be kept from listing a folder";
  const std::string everything = "find run -type f | sort | grep -v lock | xargs md5sum";
  ASSERT_EQ(bash("chmod 311 run/checkpoints").code, 0);
  const std::string before = bash("chmod 755 run/checkpoints; " + everything + "; chmod 311 run/checkpoints").out;
  const Outcome outcome = bash((is_root ? "setpriv --reuid 65533 --clear-groups '" TENON_CLI "'" : "tenon") +
                               std::string(" train --resume run --quiet --set training.steps=30"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "tenon: [run] run/checkpoints: cannot be listed: Permission denied\n");
  const Outcome generated =
      bash("chmod 000 run/checkpoints; " +
           std::string(is_root ? "setpriv --reuid 65533 --clear-groups '" TENON_CLI "'" : "tenon") + " generate run");
  EXPECT_EQ(generated.err, "tenon: [checkpoint] run/checkpoints: cannot be listed: Permission denied\n");
  EXPECT_EQ(bash("chmod 755 run/checkpoints; " + everything).out, before);
}

TEST_F(Surroundings, CheckpointsThatAreGoneDoNotBeginARunAnew) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const std::string metrics = content_of(folder_ / "run/metrics.jsonl");
  fs::rename(folder_ / "run/checkpoints", folder_ / "elsewhere");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [run] run: its metrics.jsonl has steps, and its folder checkpoints is missing; put it back, or "
            "begin a new run in another folder");
  EXPECT_FALSE(fs::exists(folder_ / "run/checkpoints"));
  fs::create_directory(folder_ / "run/checkpoints");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [train] run: has done 20 steps, and its checkpoints are gone; put them back, or begin a new run "
            "elsewhere");
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), metrics);
  // Without metrics as well its model tells of checkpoints, and without that a damaged one does.
  const std::string model = content_of(folder_ / "run/model/model.safetensors");
  fs::remove(folder_ / "run/metrics.jsonl");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [train] run: has saved its model, and its checkpoints are gone; put them back, or begin a new run "
            "elsewhere");
  EXPECT_EQ(content_of(folder_ / "run/model/model.safetensors"), model);
  fs::rename(folder_ / "run/model", folder_ / "model");
  fs::create_directory(folder_ / "run/checkpoints/damaged_step_00000010");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [train] run: has saved damaged_step_00000010, and its checkpoints are gone; put them back, or begin "
            "a new run elsewhere");
  // And at last its report, whether the metrics are gone, empty or cut within their first line.
  fs::remove(folder_ / "run/checkpoints/damaged_step_00000010");
  const std::string report = content_of(folder_ / "run/report.html");
  for (const std::string& left : {std::string(), metrics.substr(0, 100)}) {
    EXPECT_EQ(refusal("train --resume run --quiet"),
              "1 tenon: [train] run: has written a report, but metrics.jsonl has no line, and its checkpoints are gone; "
              "put them back, or begin a new run elsewhere");
    EXPECT_EQ(content_of(folder_ / "run/report.html"), report);
    std::ofstream(folder_ / "run/metrics.jsonl") << left;
  }
  EXPECT_EQ(refusal("train tiny.json --out run --quiet"),
            "1 tenon: [run] run: holds a run already; resume it or choose another folder");
}

TEST_F(Surroundings, OutputsTakeThePlaceOfNothingButFiles) {
  ASSERT_EQ(bash("mkfifo pipe").code, 0);
  EXPECT_EQ(refusal("data stories --megabytes 0.01 --out /dev/stdout"),
            "1 tenon: [stories] /dev/stdout: cannot be written: it is no place for files; name a file elsewhere");
  EXPECT_EQ(refusal("data stories --megabytes 0.01 --out pipe"),
            "1 tenon: [stories] pipe: cannot be written: it is a pipe; name a file");
  ASSERT_EQ(run("tokenize --train text.txt --kind char --out chars").code, 0);
  EXPECT_EQ(refusal("data prepare text.txt --tokenizer chars --out text.txt"),
            "1 tenon: [prepare] text.txt: is what is read; write to another name");
  EXPECT_EQ(refusal("data prepare text.txt --tokenizer chars --out pipe"),
            "1 tenon: [tokens] pipe: cannot be written: it is a pipe; name a file");
  EXPECT_EQ(refusal("data prepare text.txt --tokenizer chars --out a --validation-out ./a --validation-fraction 0.1"),
            "1 tenon: [prepare] a: is named for both parts; name two files");
  EXPECT_EQ(refusal("data prepare text.txt --tokenizer chars --out chars/tokenizer.json"),
            "1 tenon: [prepare] chars/tokenizer.json: lies in chars, which is read; write elsewhere");
  EXPECT_EQ(refusal("tokenize --tokenizer chars --out ./chars"),
            "1 tenon: [tokenize] chars/tokenizer.json: is what is read; write to another folder");
  EXPECT_EQ(
      refusal("train tiny.json --set tokenizer.kind=file --set tokenizer.path=chars --out chars"),
      "1 tenon: [run] chars: is not empty and no run of tenon: tokenizer.json lies in it; choose a folder that is "
      "new or empty");
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
}

TEST_F(Surroundings, PipesAreNoData) {
  ASSERT_EQ(bash("mkfifo pipe").code, 0);
  const Outcome outcome = bash("timeout 20 '" TENON_CLI "' train tiny.json --set data.train=pipe --out run");
  EXPECT_EQ(outcome.err,
            "tenon: [data] pipe: is a pipe or a device, which cannot be read twice; write it to a file first\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Surroundings, AFolderThatNobodyMayLookIntoIsOneLine) {
  if (geteuid() != 0 || bash("setpriv --reuid 65533 --clear-groups true").code != 0)
    GTEST_SKIP() << "root may look everywhere";
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
  fs::permissions(folder_, fs::perms::all);
  const std::string rows[][2] = {{"generate closed --prompt a", "[model] closed"},
                                 {"eval closed text.txt", "[model] closed"},
                                 {"convert closed a.npz", "[convert] closed"},
                                 {"tokenize --tokenizer closed a", "[tokenizer] closed"},
                                 {"data prepare closed --tokenizer closed --out a", "[tokenizer] closed"}};
  for (const auto& [arguments, who] : rows)
    EXPECT_EQ(bash("setpriv --reuid 65533 --clear-groups '" TENON_CLI "' " + arguments).err,
              "tenon: " + who + ": cannot be read: Permission denied\n");
}

TEST_F(Surroundings, LinksInARunAreNotFollowed) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  std::ofstream(folder_ / "victim") << "mine";
  fs::remove(folder_ / "run/report.html");
  fs::create_symlink("../victim", folder_ / "run/report.html");
  ASSERT_EQ(run("train --resume run --set training.steps=21 --quiet").code, 0);
  EXPECT_EQ(content_of(folder_ / "victim"), "mine");
  EXPECT_FALSE(fs::is_symlink(folder_ / "run/report.html"));
  fs::remove(folder_ / "run/.lock");
  fs::create_symlink("../victim", folder_ / "run/.lock");
  EXPECT_EQ(refusal("train --resume run --set training.steps=22 --quiet"),
            "1 tenon: [run] run: its .lock is a link, which is not followed; remove it");
  EXPECT_EQ(content_of(folder_ / "victim"), "mine");
}

TEST_F(Surroundings, NamesFromFilesAreEscaped) {
  const std::string header = R"({"a\u001b[2J\u009b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  std::ofstream(folder_ / "a.safetensors", std::ios::binary) << file << header << 'x';
  EXPECT_TRUE(run("convert --list a.safetensors").out.starts_with("a\\x1b[2J\\xc2\\x9b  u8"))
      << run("convert --list a.safetensors").out;
  fs::create_directories(folder_ / "m");
  std::ofstream(folder_ / "m/config.json") << R"({"model_type": "x\u001b[2J"})";
  EXPECT_EQ(refusal("generate m --prompt a"),
            "1 tenon: [model] m: its config.json is of a model of type x\\x1b[2J; gpt2 and llama are supported");
}

}  // namespace
}  // namespace tenon::cli
