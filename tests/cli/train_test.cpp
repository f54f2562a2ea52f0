// `tenon train` from outside: what it prints, its exit codes, and Ctrl-C.

#include <fstream>
#include <nlohmann/json.hpp>

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
  EXPECT_NE(done.out.find("\nmodel   run/model\nreport  run/report.html\n"), done.out.npos) << done.out;
  EXPECT_NE(run("train tiny.json --quiet --out ./two/").out.find("report  two/report.html\n"), done.out.npos)
      << done.out;
  EXPECT_NE(done.err.find("20/20"), done.err.npos) << done.err;
  EXPECT_TRUE(fs::exists(folder_ / "run/model/model.safetensors"));
}

TEST_F(Train, TuningTriesTilesAndWritesThemDown) {
  const Outcome done = run("tune tiny.json --device simulated --out found.tuned");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("contract f32("), done.out.npos) << done.out;
  EXPECT_TRUE(fs::exists(folder_ / "found.tuned"));
  EXPECT_EQ(
      bash("TENON_TUNED=found.tuned tenon train tiny.json --set device.name=simulated --quiet --stop-after 1").code, 0);
  std::ofstream(folder_ / "bad.tuned") << "none\n";
  EXPECT_EQ(bash("TENON_TUNED=bad.tuned tenon train tiny.json --quiet").err,
            "tenon: [tune] bad.tuned: is not a file that tenon tune has written\n");
  EXPECT_EQ(bash("head -c -5 found.tuned > cut.tuned; TENON_TUNED=cut.tuned tenon train tiny.json --quiet").err,
            "tenon: [tune] cut.tuned: is cut in the middle of its last line\n");
  EXPECT_EQ(bash("mkdir tuned; TENON_TUNED=tuned tenon train tiny.json --quiet").err,
            "tenon: [tune] tuned: is a folder, not a file (TENON_TUNED)\n");
  EXPECT_NE(done.out.find(" products tried; products of a step: "), done.out.npos) << done.out;
  EXPECT_EQ(bash("TENON_CACHE_DIR= tenon tune tiny.json --device simulated").err,
            "nothing is kept (TENON_CACHE_DIR is empty); name a file with --out\n");
  EXPECT_EQ(run("tune tiny.json").out, "cpu\ncpu does every call of a step in one way: there is nothing to tune\n");
}

TEST_F(Train, ImagesThatAreNotThereAreOneLine) {
  const std::string text = refusal("train mnist_cnn");
  EXPECT_TRUE(text.starts_with("1 tenon: [train] data.path data/mnist: there is no such folder; put train-images-idx3"))
      << text;
  EXPECT_EQ(refusal("tune mnist_cnn"),
            "1 tenon: [tune] mnist_cnn: is of a cnn; the products of gpt2 and llama can be tuned");
}

TEST_F(Train, ARunGoesOnFromInsideItsFolder) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 5").code, 0);
  const Outcome resumed = bash("cd run; tenon train --resume . --quiet --set data.train=../text.txt");
  EXPECT_EQ(resumed.err, "");
  EXPECT_TRUE(resumed.out.starts_with("trained 20 steps in ")) << resumed.out;
}

TEST_F(Train, DamageIsSaidInAQuietRunToo) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 15").code, 0);
  fs::resize_file(folder_ / "run/checkpoints/step_00000015/checkpoint.json", 50);
  EXPECT_EQ(
      run("train --resume run --quiet").err,
      "passed over: [checkpoint] run/checkpoints/step_00000015/checkpoint.json: is damaged: its checksum does not "
      "fit\n");
}

TEST_F(Train, ATokenFileLiesOutsideOfItsTokenizer) {
  ASSERT_EQ(run("tokenize --train text.txt --kind char --out chars").code, 0);
  EXPECT_EQ(refusal("data prepare text.txt --tokenizer chars --out chars/n.tokens"),
            "1 tenon: [prepare] chars/n.tokens: lies in chars, which is read; write elsewhere");
}

TEST_F(Train, AVocabularyIsAListOfTokens) {
  std::ofstream(folder_ / "vocab.txt") << "<unk>\nthe\nof\nand\na\n";
  ASSERT_EQ(run("train tiny.json --vocab vocab.txt --out run --quiet --stop-after 2").code, 0);
  EXPECT_EQ(run("tokenize -t run/tokenizer.json \"The end of\"").out, "1 0 2\n");
}

TEST_F(Train, ProfilesTheStepsThatItIsGiven) {
  const Outcome done = run("train tiny.json --out run --profile=4-6");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("profile of steps 4 to 6, written to run/profile.json\n"), done.err.npos) << done.err;
  EXPECT_NE(done.err.find("by pass, on cpu"), done.err.npos) << done.err;
  const auto trace = nlohmann::json::parse(content_of(folder_ / "run/profile.json"));
  int steps = 0;
  bool has_module = false;
  for (const auto& event : trace.at("traceEvents")) {
    steps += event.at("name") == "step" ? 1 : 0;
    has_module = has_module || (event.contains("args") && event["args"].contains("module") &&
                                event["args"]["module"].get<std::string>().find("attn") != std::string::npos);
  }
  EXPECT_EQ(steps, 3);
  EXPECT_TRUE(has_module);
  const Outcome advice = run("doctor run");
  EXPECT_EQ(advice.code, 0) << advice.err;
  EXPECT_NE(advice.out.find("ms were profiled; cpu was busy for"), advice.out.npos) << advice.out;
  EXPECT_TRUE(nlohmann::json::parse(run("doctor run/profile.json --json").out).at("advice").is_array());
  EXPECT_NE(content_of(folder_ / "run/report.html").find("<section class=\"profile\">"), std::string::npos);
}

TEST_F(Train, ProfilesFiveEarlyStepsUnlessTold) {
  const Outcome done = run("train --out run --stop-after 3 --profile tiny.json");
  EXPECT_NE(done.err.find("profile of steps 1 to 3, "), done.err.npos) << done.err;
  EXPECT_NE(run("train --resume run --profile").err.find("profile of steps 14 to 18, "), std::string::npos);
}

TEST_F(Train, RefusesToProfileStepsThatAreNotTaken) {
  EXPECT_EQ(refusal("train tiny.json --profile=30-40"),
            "1 tenon: [train] steps 30 to 40 are to be profiled, but this run takes steps 1 to 20");
  EXPECT_EQ(refusal("train tiny.json --profile=6-4"),
            "2 tenon train: --profile: \"6-4\" names no steps; take the first and the last, as in --profile=11-15; see "
            "tenon train --help");
}

TEST_F(Train, QuietIsQuiet) { EXPECT_EQ(run("train tiny.json --out run --quiet").err, ""); }

TEST_F(Train, CtrlCFinishesTheStepAndSaysHowToGoOn) {
  const Outcome stopped = interrupted("kill -INT $pid");
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_TRUE(stopped.out.starts_with("stopped after step ")) << stopped.out;
  EXPECT_NE(stopped.out.find(": tenon train --resume run\n"), stopped.out.npos) << stopped.out;
  EXPECT_EQ(stopped.err.find("stopped after"), stopped.err.npos) << stopped.err;
  const int64_t step = std::stoll(stopped.out.substr(19));
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints" / fmt::format("step_{:08}", step))) << stopped.out;
  const Outcome resumed = run(fmt::format("train --resume run --stop-after {}", step + 3));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(resumed.err.starts_with(fmt::format("goes on from run/checkpoints/step_{:08}\n", step))) << resumed.err;
  EXPECT_TRUE(resumed.out.starts_with(fmt::format("stopped after step {}: ", step + 3))) << resumed.out;
}

TEST_F(Train, SignalsThatComeTogetherAreOne) {
  // Both are waiting when the process goes on; two of the same kind would be one anyway.
  const Outcome stopped = interrupted("kill -STOP $pid; kill -INT $pid; kill -TERM $pid; kill -CONT $pid");
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_TRUE(stopped.out.starts_with("stopped after step ")) << stopped.out;
}

TEST_F(Train, WhatCannotWorkIsOneLine) {
  EXPECT_EQ(refusal("train tiny.json --set data.train=nothing.txt --out run"),
            "1 tenon: [train] data.train nothing.txt: there is no such file; name a text or token file, or stories for "
            "the built-in corpus");
  EXPECT_EQ(refusal("train --resume nothing"),
            "1 tenon: [train] nothing: there is no such folder to resume; start a new run or name the folder of one");
  EXPECT_EQ(
      refusal("train tiny.json --set model.heads=5"),
      "1 tenon: [config] tiny.json: model.width 32 cannot be divided among 5 heads; make model.width a multiple of 5");
}

TEST_F(Train, FolderWithARunIsKept) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  EXPECT_EQ(refusal("train tiny.json --out run"),
            "1 tenon: [run] run: holds a run already; resume it or choose another folder");
}

TEST_F(Train, WithoutAFolderItIsThatOfItsName) {
  ASSERT_EQ(run("train tiny.json --quiet").code, 0);
  EXPECT_TRUE(run("train --resume runs/tiny --set training.steps=21 --quiet").out.starts_with("trained 21 steps in "));
  ASSERT_EQ(run("train tiny.json --quiet").code, 0);  // beside the first
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "runs"), fs::directory_iterator()), 2);
}

TEST_F(Train, ReportAndTerminalAgreeOnTimes) {
  const std::string out = run("train tiny.json --out run --quiet").out;
  const std::string page = content_of(folder_ / "run/report.html");
  const size_t from = out.find(" in ") + 4, open = out.find(" (", from), close = out.find(" in all)");
  ASSERT_NE(close, out.npos) << out;
  EXPECT_NE(page.find("<dt>Training time</dt><dd>" + out.substr(from, open - from) + " "), page.npos) << out;
  EXPECT_NE(page.find("<dt>Time in all</dt><dd>" + out.substr(open + 2, close - open - 2) + "<"), page.npos) << out;
}

TEST_F(Train, AFailureLeavesNoFolder) {
  refusal("train tiny.json --set data.train=nothing.txt");
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
}

TEST_F(Train, BoundsAreReadable) {
  EXPECT_EQ(refusal("train tiny.json --stop-after -1"),
            "2 tenon train: --stop-after: \"-1\" is no whole number from 1 to 1000000000; see tenon train --help");
  EXPECT_EQ(refusal("eval run text.txt --batch 0"),
            "2 tenon eval: --batch: \"0\" is no whole number from 1 to 4096; see tenon eval --help");
}

TEST_F(Train, EvalTellsEveryTokenOfShortFilesToo) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  std::ofstream(folder_ / "short.txt") << "The fox";
  std::ofstream(folder_ / "longer.txt") << "The fox sees the owl 100 times.";
  std::ofstream(folder_ / "one.txt") << "T";
  EXPECT_NE(run("eval run short.txt").out.find("\n6 tokens of short.txt"), std::string::npos);
  EXPECT_NE(run("eval run longer.txt").out.find("\n30 tokens of longer.txt"), std::string::npos);
  EXPECT_EQ(refusal("eval run one.txt"),
            "1 tenon: [eval] one.txt: has fewer than two tokens; there is nothing to tell");
}

TEST_F(Train, EvalTakesDocumentsApartAsTrainingDoes) {
  ASSERT_EQ(run("train tiny.json --set tokenizer.kind=char --out run --quiet").code, 0);
  std::ofstream(folder_ / "two.txt") << "The fox\n<|endoftext|>\nThe owl\n";
  const Outcome seen = run("eval run two.txt");
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_NE(seen.out.find(" tokens of two.txt"), seen.out.npos) << seen.out;
}

TEST_F(Train, EvalRefusesTokensOfAnotherTokenizer) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  ASSERT_EQ(run("tokenize --train text.txt --kind char --out chars").code, 0);
  ASSERT_EQ(run("data prepare text.txt --tokenizer chars --out text.tokens").code, 0);
  EXPECT_EQ(
      refusal("eval run text.tokens"),
      "1 tenon: [eval] text.tokens: is a token file that was made with another tokenizer than the model's; prepare "
      "it again");
}

TEST_F(Train, ARunIsConverted) {
  ASSERT_EQ(run("train tiny.json --set tokenizer.kind=char --out run --quiet").code, 0);
  ASSERT_EQ(run("convert run folder").code, 0) << run("convert run folder").err;
  EXPECT_TRUE(fs::exists(folder_ / "folder/tokenizer.json"));
  EXPECT_NE(content_of(folder_ / "folder/config.json").find("\"eos_token_id\": null"), std::string::npos);
  EXPECT_EQ(run("generate folder --prompt The -n 20 --seed 1").out,
            run("generate run --prompt The -n 20 --seed 1").out);
  ASSERT_EQ(run("convert run/checkpoints/step_00000010 a.safetensors").code, 0);
  EXPECT_NE(run("convert --list a.safetensors").out.find("transformer.wte.weight"), std::string::npos);
  EXPECT_EQ(refusal("convert run a.bin"),
            "1 tenon: [convert] a.bin: a .bin file is made of a Llama, and the model of run is none");
  EXPECT_EQ(refusal("convert a.safetensors a.safetensors"),
            "1 tenon: [convert] a.safetensors: is what is read; write to another name");
}

TEST_F(Train, NothingWritesIntoARun) {
  ASSERT_EQ(run("train tiny.json --set tokenizer.kind=char --out run --quiet").code, 0);
  const std::string run_folder = fs::canonical(folder_ / "run").string();
  const auto before = content_of(folder_ / "run/checkpoints/step_00000020/state.safetensors");
  const auto lies = [](const std::string& out) {
    return "1 tenon: [convert] " + out + ": lies in run, which is read; write elsewhere";
  };
  for (const std::string out :
       {"run/checkpoints/step_00000020/state.safetensors", "run/checkpoints", "run/model", "run/new"})
    EXPECT_EQ(refusal("convert run " + out), lies(out));
  EXPECT_EQ(refusal("convert run/checkpoints/best run/hf"),
            "1 tenon: [convert] run/hf: lies in " + run_folder + ", which is read; write elsewhere");
  ASSERT_EQ(run("convert run folder").code, 0);
  const auto belongs = [&](const std::string& command, const std::string& out) {
    return "1 tenon: [" + command + "] " + out + ": belongs to a run of tenon train, " + run_folder +
           "; write elsewhere";
  };
  for (const std::string out : {"run", "run/model", "run/checkpoints/step_00000020/state.safetensors"})
    EXPECT_EQ(refusal("convert folder " + out), belongs("convert", out));
  EXPECT_EQ(refusal("data stories --megabytes 0.01 --out run/report.html"), belongs("stories", "run/report.html"));
  EXPECT_EQ(refusal("data prepare text.txt --tokenizer folder --out run/metrics.jsonl"),
            belongs("prepare", "run/metrics.jsonl"));
  EXPECT_EQ(refusal("tokenize --train text.txt --kind char --out run"), belongs("tokenize", "run/tokenizer.json"));
  EXPECT_TRUE(content_of(folder_ / "run/checkpoints/step_00000020/state.safetensors") == before);
  EXPECT_EQ(run("data stories --megabytes 0.01 --out run/notes.txt").code, 0);  // no part of the run
}

TEST_F(Train, AFolderWithOtherThingsStaysAsItIs) {
  fs::create_directories(folder_ / "source/model");
  std::ofstream(folder_ / "source/model/config.json") << "mine";
  EXPECT_EQ(refusal("train tiny.json --out source"),
            "1 tenon: [run] source: is not empty and no run of tenon: model lies in it; choose a folder that is new or "
            "empty");
  EXPECT_TRUE(refusal("train tiny.json --out .").starts_with("1 tenon: [run] .: is not empty and no run of tenon: "));
  EXPECT_TRUE(refusal("train tiny.json --out /").starts_with("1 tenon: [run] /: is not empty and no run of tenon: "));
  EXPECT_EQ(content_of(folder_ / "source/model/config.json"), "mine");
  EXPECT_FALSE(fs::exists(folder_ / "source/.lock"));
}

TEST_F(Train, TheModelItStartsFromIsNotItsOwn) {
  ASSERT_EQ(run("train tiny.json --set tokenizer.kind=char --out first --quiet").code, 0);
  const std::string weights = content_of(folder_ / "first/model/model.safetensors");
  // As somebody may copy it: the model alone, where the run would put its own.
  fs::create_directories(folder_ / "second");
  fs::copy(folder_ / "first/model", folder_ / "second/model");
  std::ofstream(folder_ / "plain.json")
      << R"({"data": {"train": "text.txt"}, "training": {"steps": 3, "eval_every": 0, "mode":
      "finetune"}, "tokenizer": {"kind": "file", "path": "first/tokenizer.json"}, "model": {"init_from": "second/model"}})";
  EXPECT_EQ(refusal("train plain.json --out second"),
            "1 tenon: [run] second: is not empty and no run of tenon: model lies in it; choose a folder that is new or "
            "empty");
  ASSERT_EQ(run("train plain.json --set model.init_from=second/model --out third --quiet --stop-after 1").code, 0);
  fs::create_directory_symlink("../second/model", folder_ / "third/model");
  EXPECT_EQ(
      refusal("train --resume third --quiet"),
      "1 tenon: [train] third/model/config.json: is read by this run, which would replace it; choose another folder "
      "for the run");
  EXPECT_TRUE(content_of(folder_ / "second/model/model.safetensors") == weights);
}

TEST_F(Train, HangingUpSavesAndStops) {
  const Outcome stopped = interrupted("kill -HUP $pid");
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_TRUE(stopped.out.starts_with("stopped after step ")) << stopped.out;
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints" / fmt::format("step_{:08}", std::stoll(stopped.out.substr(19)))));
}

TEST_F(Train, APresetYieldsToWhatIsAskedFor) {
  const Outcome done =
      run("train demo --set training.steps=5 --set data.train=text.txt --set training.eval_every=0 --out run");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.err.starts_with("schedule.warmup_steps is 0 instead of the 50 of demo, to fit what was asked for\n"))
      << done.err;
  EXPECT_TRUE(done.out.starts_with("trained 5 steps in ")) << done.out;
  EXPECT_EQ(run("config --validate wiki_base --set training.steps=200").code, 0);
  EXPECT_EQ(run("config --show shakespeare_char_cpu --set training.steps=20").err,
            "schedule.warmup_steps is 1 instead of the 100 of shakespeare_char_cpu, to fit what was asked for\n");
}

TEST_F(Train, ResumingByTheNameOfTheConfigSaysWhatToLeaveOut) {
  ASSERT_EQ(run("train tiny.json --set model.width=64 --out run --quiet").code, 0);
  EXPECT_EQ(
      refusal("train tiny.json --resume run"),
      "1 tenon: [train] run: was begun with model.width 64, tiny.json says 32; leave out tiny.json to go on as it "
      "was, or begin a new run in another folder");
  EXPECT_EQ(
      refusal("train --resume run --set model.width=32"),
      "1 tenon: [train] run: was begun with model.width 64, the config now says 32; take the old value, or begin a "
      "new run in another folder");
}

TEST_F(Train, AModelIsNoRun) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  EXPECT_EQ(
      refusal("train --resume run/model"),
      "1 tenon: [train] run/model: holds no run to resume (its config.json is not of a run); start a new one or name "
      "the folder of a run");
  EXPECT_EQ(
      refusal("train tiny.json --resume run/model"),
      "1 tenon: [train] run/model: holds no run to resume (its config.json is not of a run); start a new one or name "
      "the folder of a run");
  EXPECT_FALSE(fs::exists(folder_ / "run/model/.lock"));
}

TEST_F(Train, OneConfigIsNamed) {
  EXPECT_EQ(refusal("train tiny.json --config demo"),
            "2 tenon train: tiny.json and --config demo both name a config; name one; see tenon train --help");
}

TEST_F(Train, EmptyNamesAreNoChoice) {
  EXPECT_EQ(refusal("train tiny.json --out ''"),
            "2 tenon train: --out: is empty; name a file or folder; see tenon train --help");
  EXPECT_EQ(refusal("train --resume ''"),
            "2 tenon train: --resume: is empty; name a file or folder; see tenon train --help");
  EXPECT_EQ(refusal("convert '' a.npz"),
            "2 tenon convert: in: is empty; name a file or folder; see tenon convert --help");
  EXPECT_EQ(refusal("data stories --out ''"),
            "2 tenon data stories: --out: is empty; name a file or folder; see tenon data stories --help");
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
}

TEST_F(Train, EvalNamesTheModel) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  EXPECT_EQ(refusal("eval run text.txt --length 17"),
            "1 tenon: [eval] run: --length 17 is longer than the model's context 16; lower it");
  EXPECT_EQ(refusal("eval run text.txt --device null"),
            "2 tenon eval: --device: null computes nothing; take cpu; see tenon eval --help");
}

TEST_F(Train, LongerByResuming) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const Outcome longer = run("train --resume run --set training.steps=25");
  EXPECT_EQ(longer.code, 0) << longer.err;
  EXPECT_TRUE(longer.out.starts_with("trained 25 steps in ")) << longer.out;
}

}  // namespace
}  // namespace tenon::cli
