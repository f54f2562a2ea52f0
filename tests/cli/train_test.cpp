// `tenon train` from outside: what it prints, its exit codes, and Ctrl-C.

#include <fstream>

#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

class Train : public Cli {
 protected:
  Train() {
    std::ofstream text(folder_ / "text.txt");
    for (int i = 0; i < 500; ++i) text << "The fox sees the owl " << i << " times.\n";
    std::ofstream(folder_ / "tiny.json") << R"({
      "model": {"layers": 1, "heads": 2, "width": 32, "context": 16},
      "data": {"train": "text.txt"},
      "tokenizer": {"kind": "byte"},
      "training": {"steps": 20, "batch_size": 4, "eval_every": 10, "eval_batches": 2, "log_every": 1},
      "checkpoint": {"every": 10}
    })";
  }
  /// Starts a run of very many steps, does something with its $pid once it trains, and tells how it ended.
  Outcome interrupted(const std::string& how) {
    // Job control, because a shell without it lets programs in the background ignore Ctrl-C.
    return bash("set -m\n'" TENON_CLI
                "' train tiny.json --set training.steps=1000000 --set training.eval_every=0 --set "
                "training.eval_batches=0 --out run >out 2>err &\npid=$!\n"
                "for i in {1..200}; do [[ -s run/metrics.jsonl ]] && break; sleep 0.05; done\n" +
                how + "\nwait $pid\ncode=$?\ncat out\ncat err >&2\nexit $code");
  }
};

TEST_F(Train, SaysWhatItDidAndWhereItIs) {
  const Outcome done = run("train tiny.json --out run");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.out.starts_with("trained 20 steps in ")) << done.out;
  EXPECT_NE(done.out.find(", validation loss "), done.out.npos) << done.out;
  EXPECT_NE(done.out.find("\nmodel   run/model\n"), done.out.npos) << done.out;
  EXPECT_NE(done.out.find("/run/report.html\n"), done.out.npos) << done.out;
  EXPECT_NE(done.err.find("20/20"), done.err.npos) << done.err;
  EXPECT_TRUE(fs::exists(folder_ / "run/model/model.safetensors"));
}

TEST_F(Train, QuietIsQuiet) { EXPECT_EQ(run("train tiny.json --out run --quiet").err, ""); }

TEST_F(Train, CtrlCFinishesTheStepAndSaysHowToGoOn) {
  const Outcome stopped = interrupted("kill -INT $pid");
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_TRUE(stopped.out.starts_with("stopped after step ")) << stopped.out;
  EXPECT_NE(stopped.out.find(": tenon train --resume run\n"), stopped.out.npos) << stopped.out;
  const int64_t step = std::stoll(stopped.out.substr(19));
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints" / fmt::format("step_{:08}", step))) << stopped.out;
  const Outcome resumed = run(fmt::format("train --resume run --stop-after {}", step + 3));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(resumed.err.starts_with(fmt::format("goes on from run/checkpoints/step_{:08}\n", step))) << resumed.err;
  EXPECT_TRUE(resumed.out.starts_with(fmt::format("stopped after step {}: ", step + 3))) << resumed.out;
}

TEST_F(Train, SecondCtrlCEndsItAtOnce) {
  // Both are waiting when the process goes on; two of the same kind would be one.
  const Outcome stopped = interrupted("kill -STOP $pid; kill -INT $pid; kill -TERM $pid; kill -CONT $pid");
  EXPECT_EQ(stopped.code, 130);
  EXPECT_NE(stopped.err.find("stopped at once; the last checkpoint stands"), stopped.err.npos) << stopped.err;
}

TEST_F(Train, WhatCannotWorkIsOneLine) {
  EXPECT_EQ(refusal("train tiny.json --set data.train=nothing.txt --out run"),
            "1 tenon: [train] data.train nothing.txt: there is no such file; name a text or token file, or stories for "
            "the built-in corpus");
  EXPECT_EQ(refusal("train --resume nothing"),
            "1 tenon: [train] nothing: holds no run to resume (there is no config.json); start a new one or name the "
            "folder of a run");
  EXPECT_EQ(
      refusal("train tiny.json --set model.heads=5"),
      "1 tenon: [config] config: model.width 32 cannot be divided among 5 heads; make model.width a multiple of 5");
}

TEST_F(Train, FolderWithARunIsKept) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  EXPECT_EQ(refusal("train tiny.json --out run"),
            "1 tenon: [run] run: holds a run already; resume it or choose another folder");
}

TEST_F(Train, LongerByResuming) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const Outcome longer = run("train --resume run --set training.steps=25");
  EXPECT_EQ(longer.code, 0) << longer.err;
  EXPECT_TRUE(longer.out.starts_with("trained 25 steps in ")) << longer.out;
}

}  // namespace
}  // namespace tenon::cli
