// `tenon train dqn2048` and `tenon play2048` as a shell and a terminal see them.

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

class Game : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    std::ofstream(folder_ / "tiny.json") << R"({"learner": "dqn", "hidden": [8], "batch": 8, "replay": 50,
      "priority_exponent": 0.5, "n_step": 2, "target_every": 5, "double_q": true, "learn_every": 10,
      "episodes": 12, "log_every": 4, "checkpoint_every": 8, "evaluation_games": 5})";
  }

  std::vector<Json> metrics(const std::string& run) {
    std::istringstream lines(content_of(folder_ / run / "metrics.jsonl"));
    std::vector<Json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
    return all;
  }

  // What happens in a terminal when these keys are pressed, one by one.
  std::string in_terminal(const std::vector<std::string>& arguments, const std::vector<std::string>& keys,
                          winsize size = {40, 100, 0, 0}, const std::string& first = "quit") {
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      std::vector<char*> argv{const_cast<char*>("tenon")};
      for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
      argv.push_back(nullptr);
      if (chdir(folder_.c_str()) == 0) execv(TENON_CLI, argv.data());
      _exit(127);
    }
    std::string seen;
    char bytes[4096];
    const auto read_until = [&](const std::string& text) {
      while (seen.find(text) == seen.npos) {
        const ssize_t got = read(terminal, bytes, sizeof bytes);
        if (got <= 0) return;
        seen.append(bytes, static_cast<size_t>(got));
      }
    };
    read_until(first);
    for (const std::string& key : keys) EXPECT_EQ(::write(terminal, key.data(), key.size()), std::ssize(key));
    for (ssize_t got = 1; got > 0;) {
      got = read(terminal, bytes, sizeof bytes);
      if (got > 0) seen.append(bytes, static_cast<size_t>(got));
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0) << seen;
    close(terminal);
    return seen;
  }
};

TEST_F(Game, TrainsReportsAndPlays) {
  const Outcome trained = run("train tiny.json --out run");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(trained.out.starts_with("played 12 games in ")) << trained.out;
  EXPECT_NE(trained.out.find("best moves: mean score "), trained.out.npos) << trained.out;
  EXPECT_NE(trained.out.find("watch   tenon play2048 --model run\n"), trained.out.npos) << trained.out;
  EXPECT_NE(trained.err.find("12/12 games"), trained.err.npos) << trained.err;
  const std::vector<Json> lines = metrics("run");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines.back()["episode"], 12);
  EXPECT_GT(lines[0]["mean_score"], 100);
  for (const Json& line : lines) {
    for (const char* key : {"moves_per_second", "learning_ms", "resident_bytes"}) EXPECT_GT(line[key], 0) << key;
  }
  EXPECT_NE(trained.err.find(" moves/s"), trained.err.npos) << trained.err;
  const std::string page = content_of(folder_ / "run/report.html");
  EXPECT_NE(page.find("Largest tiles of the games of training"), page.npos);
  for (const char* part : {"Score", "Random moves (epsilon)", "id=\"even\" checked", "id=\"log\""})
    EXPECT_NE(page.find(part), page.npos) << part;
  const Outcome played = run("play2048 --model run --games 5 --seed 2");
  EXPECT_TRUE(played.out.starts_with("5 games with the best moves: mean score ")) << played.out << played.err;
  EXPECT_EQ(played.out, run("play2048 --model run/checkpoints/step_00000012 --games 5 --seed 2").out);
  EXPECT_TRUE(run("play2048 --random --games 5").out.starts_with("5 games with random moves: mean score "));
}

TEST_F(Game, RunsOnTheDeviceOfItsConfig) {
  ASSERT_EQ(run("train tiny.json --out here --quiet").code, 0);
  const Outcome there = bash("TENON_DEVICE=nonsense tenon train tiny.json --out there --set device.name=remote");
  ASSERT_EQ(there.code, 0) << there.err;
  EXPECT_NE(there.err.find(", on remote"), there.err.npos) << there.err;
  ASSERT_EQ(metrics("here").size(), metrics("there").size());
  for (size_t i = 0; i < metrics("here").size(); ++i)
    EXPECT_EQ(metrics("here")[i]["mean_score"], metrics("there")[i]["mean_score"]);
  ASSERT_EQ(bash("sed -i 's/\"remote\"/\"abacus\"/' there/config.json && grep -q abacus there/config.json").code, 0);
  const Outcome played = run("play2048 --model there --games 2");  // wherever it was trained
  EXPECT_EQ(played.code, 0) << played.err;
  const Outcome none = run("train tiny.json --out none --set device.name=abacus");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("unknown device 'abacus'"), none.err.npos) << none.err;
}

TEST_F(Game, AResumedRunIsTheRunThatWasNeverStopped) {
  ASSERT_EQ(run("train tiny.json --out whole --quiet").code, 0);
  ASSERT_EQ(run("train tiny.json --out parts --quiet --stop-after 8").code, 0);
  EXPECT_EQ(run("train --resume parts --quiet").code, 0);
  const fs::path end = "checkpoints/step_00000012/state.safetensors";
  EXPECT_EQ(content_of(folder_ / "whole" / end), content_of(folder_ / "parts" / end));
  std::vector<Json> whole = metrics("whole"), parts = metrics("parts");
  ASSERT_EQ(whole.size(), parts.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char* key : {"episode", "mean_score", "best_score", "by_tile", "epsilon", "loss"})
      EXPECT_EQ(whole[i][key], parts[i][key]) << key;
  }
}

TEST_F(Game, WhatCannotWorkIsOneLine) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  std::ofstream(folder_ / "wrong.json") << R"({"learner": "dqn", "hiden": [8]})";
  EXPECT_EQ(refusal("train wrong.json --out other"),
            "1 tenon: [config] wrong.json: there is no key hiden; did you mean hidden?");
  EXPECT_EQ(refusal("train dqn2047 --out other"),
            "1 tenon: [config] dqn2047: there is no such file or preset; did you mean dqn2048?");
  EXPECT_EQ(
      refusal("train --resume run --set seed=2"),
      "1 tenon: [train] run: was begun with other settings: seed (1, now 2); take the old ones, or begin a new run "
      "in another folder");
  EXPECT_EQ(refusal("play2048 --model nothing --games 1"),
            "1 tenon: [train] nothing: there is no such run; tenon train dqn2048 makes one");
  fs::create_directories(folder_ / "gpt");
  std::ofstream(folder_ / "gpt/config.json") << R"({"model_type": "gpt2"})";
  EXPECT_EQ(refusal("play2048 --model gpt --games 1"),
            "1 tenon: [train] gpt/config.json: is no config of 2048, which names a learner; name a run of tenon train "
            "dqn2048");
  EXPECT_EQ(refusal("play2048 </dev/null"),
            "1 tenon: [play2048] the board is drawn on a terminal, and this is none; --games N plays without one");
  EXPECT_EQ(refusal("play2048 --board 2,3"), "1 tenon: [2048] a board has 16 cells, not 2");
  EXPECT_EQ(refusal("play2048 --board 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2"),
            "1 tenon: [2048] a board has two tiles or more; this one has 1");
  EXPECT_EQ(refusal("play2048 --board 2,x"), "1 tenon: [play2048] --board: 'x' is no tile; name 16 tiles: 0,2,4,...");
  EXPECT_EQ(refusal("play2048 --board 99999999999999999999"),
            "1 tenon: [play2048] --board: '99999999999999999999' is no tile; name 16 tiles: 0,2,4,...");
  EXPECT_EQ(refusal("play2048 --board ''"), "1 tenon: [play2048] --board: '' is no tile; name 16 tiles: 0,2,4,...");
  EXPECT_EQ(refusal("play2048 --board 2,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"),
            "1 tenon: [play2048] --board: '' is no tile; name 16 tiles: 0,2,4,...");
}

TEST_F(Game, AModelOfAnotherShapeIsRefused) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  Json config = Json::parse(content_of(folder_ / "run/config.json"));
  config["hidden"] = {9};
  std::ofstream(folder_ / "run/config.json") << config;
  EXPECT_EQ(
      refusal("play2048 --model run --games 1"),
      "1 tenon: [train] run/checkpoints/step_00000012: was made with hidden [8], config.json says [9]; put the old "
      "value back, or begin a new run in another folder");
}

TEST_F(Game, AnEditedConfigIsNamedByItsKey) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  const std::string before = content_of(folder_ / "run/config.json");
  const std::pair<const char*, Json> edits[] = {{"seed", 2}, {"lr", 0.5}, {"encoding", "exponents"}, {"hidden", {9}}};
  for (const auto& [key, value] : edits) {
    Json config = Json::parse(before);
    const std::string expected = "1 tenon: [train] run/checkpoints/step_00000008: was made with " + std::string(key) +
                                 " " + config[key].dump() + ", config.json says " + value.dump() +
                                 "; put the old value back, or begin a new run in another folder";
    config[key] = value;
    std::ofstream(folder_ / "run/config.json") << config;
    EXPECT_EQ(refusal("train --resume run --quiet"), expected);
    EXPECT_EQ(refusal("play2048 --model run --games 1"), expected);
  }
  Json config = Json::parse(before);
  config["episodes"] = 10;  // may change
  std::ofstream(folder_ / "run/config.json") << config;
  EXPECT_TRUE(run("train --resume run --quiet").out.starts_with("played 10 games in "));
}

TEST_F(Game, ADamagedCheckpointIsToldAndPassedOver) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  fs::copy(folder_ / "run/checkpoints/step_00000012", folder_ / "run/checkpoints/step_00000013");
  const Outcome played = run("play2048 --model run --games 1");
  EXPECT_EQ(played.code, 0);
  EXPECT_EQ(played.err,
            "passed over: [checkpoint] run/checkpoints/step_00000013/checkpoint.json: is of step 12, not of the one "
            "that its folder is named after\n");
  fs::remove_all(folder_ / "run/checkpoints/step_00000013");
  fs::resize_file(folder_ / "run/checkpoints/step_00000012/state.safetensors", 500);
  const std::string error = refusal("play2048 --model run --games 1");
  EXPECT_TRUE(error.starts_with("1 tenon: [train] run: there is no good checkpoint: ")) << error;
}

TEST_F(Game, ARunWithoutAGoodCheckpointDoesNotBeginAnew) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  const std::string metrics = content_of(folder_ / "run/metrics.jsonl");
  const fs::path checkpoint = folder_ / "run/checkpoints/step_00000008";
  fs::rename(checkpoint / "state.safetensors", folder_ / "state");
  EXPECT_EQ(
      refusal("train --resume run --quiet"),
      "1 tenon: [train] run: none of its checkpoints is good: run/checkpoints/step_00000008/state.safetensors: is "
      "damaged: it is missing; begin a new run in another folder");
  fs::rename(folder_ / "state", checkpoint / "state.safetensors");
  fs::remove(checkpoint / "checkpoint.json");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [train] run: none of its checkpoints is good: run/checkpoints/step_00000008/checkpoint.json: is "
            "damaged: it is missing; begin a new run in another folder");
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), metrics);
}

TEST_F(Game, LostMetricsAreToldAndDamagedOnesRefused) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  const fs::path metrics = folder_ / "run/metrics.jsonl";
  const std::string before = content_of(metrics);
  Json line = Json::parse(before.substr(0, before.find('\n')));
  line["by_tile"] = Json(std::vector<int>(40, 1));
  std::ofstream(metrics) << line << "\n";
  EXPECT_EQ(
      refusal("train --resume run --quiet"),
      "1 tenon: [metrics] run/metrics.jsonl: line 1: by_tile is no list of at most 16 counts; take that line out, or "
      "the file away: curves then go without those games");
  fs::remove(metrics);
  const Outcome resumed = run("train --resume run --quiet");
  EXPECT_EQ(resumed.code, 0);
  EXPECT_EQ(resumed.err, "run/metrics.jsonl: is missing; curves begin with the games from now on\n");
}

TEST_F(Game, LinesThatAreMissingAreTold) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  const fs::path metrics = folder_ / "run/metrics.jsonl";
  const std::string before = content_of(metrics), second = before.substr(before.find('\n') + 1);
  std::ofstream(metrics) << second;
  const Outcome resumed = run("train --resume run --quiet");
  EXPECT_EQ(resumed.code, 0);
  EXPECT_EQ(resumed.err,
            "run/metrics.jsonl: its lines tell of 4 of the 8 games; curves and counts go without the others\n");
}

TEST_F(Game, LinesThatAreNotThoseOfTheGamesAreTold) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  const fs::path metrics = folder_ / "run/metrics.jsonl";
  const std::string before = content_of(metrics);
  std::ofstream(metrics) << before << before;
  EXPECT_EQ(run("train --resume run --quiet --stop-after 8").err,
            "run/metrics.jsonl: its lines are not those of the games so far in their order; curves and counts are "
            "wrong\n");
  std::ofstream(metrics) << "";
  EXPECT_EQ(run("train --resume run --quiet").err,
            "run/metrics.jsonl: its lines tell of 0 of the 8 games; curves and counts go without the others\n");
}

TEST_F(Game, ABeginningAnewIsTold) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  fs::remove_all(folder_ / "run/checkpoints");
  fs::create_directory(folder_ / "run/checkpoints");
  fs::remove(folder_ / "run/metrics.jsonl");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [train] run: has written a report, but metrics.jsonl has no line, and its checkpoints are gone; put "
            "them back, or begin a new run elsewhere");
  // Killed before it wrote one.
  fs::remove(folder_ / "run/report.html");
  fs::remove_all(folder_ / "run/model");
  std::ofstream(folder_ / "run/metrics.jsonl") << "{";
  const Outcome resumed = run("train --resume run --quiet");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("begins anew\n"), resumed.err.npos) << resumed.err;
}

TEST_F(Game, AConfigWithoutALearnerIsToldApart) {
  std::ofstream(folder_ / "short.json") << R"({"episodes": 5})";
  EXPECT_EQ(refusal("train short.json --out run"),
            "1 tenon: [config] short.json: episodes is a key of 2048, whose configs name a \"learner\": dqn or tuples");
  EXPECT_EQ(run("config --validate tiny.json").out, "tiny.json: valid; 12 keys differ from their defaults\n");
  EXPECT_EQ(refusal("tune tiny.json"),
            "1 tenon: [tune] tiny.json: is of a game; the products of gpt2 and llama can be tuned");
}

TEST_F(Game, FewerGamesThanWerePlayedAreRefused) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const std::string before = content_of(folder_ / "run/config.json");
  EXPECT_EQ(refusal("train --resume run --quiet --set episodes=5"),
            "1 tenon: [train] run: has played 12 games, and episodes is 5; set it to as many or more");
  EXPECT_EQ(content_of(folder_ / "run/config.json"), before);
}

TEST_F(Game, ARunWhoseCheckpointsAreGoneDoesNotBeginAnew) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const std::string metrics = content_of(folder_ / "run/metrics.jsonl");
  fs::remove_all(folder_ / "run/checkpoints");
  fs::create_directory(folder_ / "run/checkpoints");
  EXPECT_EQ(
      refusal("train --resume run --quiet"),
      "1 tenon: [train] run: has played 12 games, and its checkpoints are gone; put them back, or begin a new run "
      "elsewhere");
  fs::remove(folder_ / "run/checkpoints");
  EXPECT_EQ(refusal("train --resume run --quiet"),
            "1 tenon: [run] run: its metrics.jsonl has steps, and its folder checkpoints is missing; put it back, or "
            "begin a new run in another folder");
  EXPECT_EQ(content_of(folder_ / "run/metrics.jsonl"), metrics);
}

TEST_F(Game, ARunOf2048IsNoLanguageModel) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const std::string expected =
      "1 tenon: [model] run: is a run of 2048, which is no language model; tenon play2048 --model run shows it play";
  std::ofstream(folder_ / "text") << "a text";
  EXPECT_EQ(refusal("generate run"), expected);
  EXPECT_EQ(refusal("eval run text"), expected);
  EXPECT_EQ(refusal("convert run out.safetensors"), expected);
}

// A copy may lose its hidden files.
TEST_F(Game, ACopyOfARunGoesOn) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  EXPECT_EQ(bash("mkdir copy && cp -r run/* copy && tenon train --resume copy --quiet").code, 0);
}

// At so high a rate the values of moves leave the finite numbers within a few steps.
TEST_F(Game, WhatDivergesEndsWithOneLineAndKeepsTheGoodCheckpoint) {
  ASSERT_EQ(run("train tiny.json --out run --quiet --stop-after 8").code, 0);
  const fs::path good = folder_ / "run/checkpoints/step_00000008/checkpoint.json";
  const std::string before = content_of(good);
  std::ofstream(folder_ / "wild.json") << R"({"learner": "dqn", "hidden": [64, 64, 64, 64, 64, 64, 64, 64], "lr": 1.0,
      "batch": 8, "replay": 50, "learn_every": 1, "episodes": 40, "log_every": 4, "evaluation_games": 0})";
  for (const char* more : {"", " --set priority_exponent=0.5", " --set log_every=1000"}) {
    const std::string error = refusal(std::string("train wild.json --quiet --out wild") + more);
    EXPECT_TRUE(error.starts_with("1 tenon: [train] after ")) << error;
    EXPECT_TRUE(error.ends_with("; there is no checkpoint yet; begin a new run with a lower lr")) << error;
    fs::remove_all(folder_ / "wild");
  }
  EXPECT_EQ(content_of(good), before);
}

TEST_F(Game, ADamagedConfigIsNamedWithItsPlace) {
  std::ofstream(folder_ / "broken.json") << R"({"learner": "dqn", "episodes": 20,})";
  EXPECT_EQ(refusal("train broken.json --out run"),
            "1 tenon: [config] broken.json: is not valid JSON (at byte 35 of it)");
}

TEST_F(Game, KeysOfThePresetYieldToAnotherLearner) {
  const Outcome shown = run("config --show dqn2048 --set learner=dqn --set episodes=5");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(refusal("config --show dqn2048 --set learner=dqn --set rate=0.7"),
            "1 tenon: [config] --set: rate has no effect where learner is dqn; leave it away");
  EXPECT_EQ(refusal("config --show dqn2048_reference --set rate=0.1"),  // also the value that it would have
            "1 tenon: [config] --set: rate has no effect where learner is dqn; leave it away");
}

TEST_F(Game, AReportIsWrittenOfNoGameAndOfOne) {
  ASSERT_EQ(run("train tiny.json --out one --quiet --set episodes=1 --set evaluation_games=1").code, 0);
  const std::string one = content_of(folder_ / "one/report.html");
  for (const char* part : {"Score", "Largest tiles of the games of training", "Largest tiles of games with the best"})
    EXPECT_NE(one.find(part), one.npos) << part;
  EXPECT_EQ(one.find("nan"), one.npos);
  ASSERT_EQ(run("train tiny.json --out none --quiet --set episodes=1 --set evaluation_games=0").code, 0);
  const std::string none = content_of(folder_ / "none/report.html");
  EXPECT_NE(none.find("Score"), none.npos);
  EXPECT_EQ(none.find("best moves"), none.npos);
}

TEST_F(Game, CtrlCEndsTheGamesAtTheEnd) {
  const Outcome outcome = bash("'" TENON_CLI
                               "' train tiny.json --out run --set evaluation_games=100000 2>notes & pid=$!\n"
                               "for i in $(seq 600); do grep -q 'plays 100000 games' notes && break; sleep 0.1; done\n"
                               "kill -TERM $pid; wait $pid");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("the games with the best moves were stopped; tenon train --resume run plays them\n"),
            outcome.out.npos)
      << outcome.out;
  EXPECT_TRUE(fs::exists(folder_ / "run/report.html"));
}

TEST_F(Game, SettingsOutOfRangeAreOneLine) {
  EXPECT_EQ(refusal("train tiny.json --out run --set lr=0"),
            "1 tenon: [config] tiny.json: lr is 0, with which nothing is learned; set it above 0");
  EXPECT_EQ(refusal("train tiny.json --out run --set description=$'\\xff'"),
            "1 tenon: [config] --set: description is \"\\xff\"; it must be a text in UTF-8");
  const std::string error = refusal("train tiny.json --out run --set hidden=65536,65536,65536,65536,65536,65536,65536");
  EXPECT_TRUE(error.starts_with("1 tenon: [2048] a network of 25771573252 weights takes 515784 MB to learn and "))
      << error;
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Game, APersonPlaysWithArrowKeys) {
  const std::string seen =
      in_terminal({"play2048", "--board", "2,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0"}, {"\x1b[A", "\x1b[D", "\x1bOC", "q"});
  EXPECT_NE(seen.find("2048 - you play"), seen.npos) << seen;
  EXPECT_NE(seen.find("up moves nothing; what moves: right, down, left"), seen.npos) << seen;
  EXPECT_NE(seen.find("left, 4 points"), seen.npos) << seen;
  EXPECT_NE(seen.find("score 4 after 2 moves"), seen.npos) << seen;
  EXPECT_NE(seen.find("\x1b[?1049l"), seen.npos) << "the screen from before";
}

// A signal that the terminal does not send, as the keys that would are keys here.
TEST_F(Game, ASignalGivesTheTerminalBack) {
  const std::string seen = in_terminal({"play2048"}, {"\x1b[A", "\x03"});
  EXPECT_NE(seen.find("\x1b[?1049l"), seen.npos) << seen;
  const Outcome outcome = bash(
      "python3 - <<'END'\n"
      "import os, pty, select, signal, termios\n"
      "for i in range(20):  # the signal may come just before it waits for a key\n"
      "  child, terminal = pty.fork()\n"
      "  if child == 0:\n"
      "    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell may have left it ignored\n"
      "    os.execv('" TENON_CLI
      "', ['tenon', 'play2048'])\n"
      "  seen = b''\n"
      "  while b'q quit' not in seen: seen += os.read(terminal, 4096)\n"
      "  raw = termios.tcgetattr(terminal)[3]\n"
      "  os.kill(child, signal.SIGINT)\n"
      "  while select.select([terminal], [], [], 60)[0]:\n"
      "    try: seen += os.read(terminal, 4096)\n"
      "    except OSError: break  # it has ended\n"
      "  os.close(terminal)\n"
      "  os.waitpid(child, 0)\n"
      "  if b'\\x1b[?1049l' not in seen or b'score 0 after 0 moves' not in seen or raw & termios.ICANON: print(i, "
      "seen)\n"
      "END");
  EXPECT_EQ(outcome.out + outcome.err, "");
}

// A job-control shell as its own session: Ctrl-Z stops the program with the terminal as it was, fg draws the board
// anew.
TEST_F(Game, CtrlZSleepsAndGivesTheTerminalBackMeanwhile) {
  const Outcome outcome = bash(
      "python3 - <<'END'\n"
      "import os, pty, termios, time\n"
      "shell, terminal = pty.fork()\n"
      "if shell == 0: os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])\n"
      "seen = b''\n"
      "def until(text):\n"
      "  global seen\n"
      "  while text not in seen: seen += os.read(terminal, 4096)\n"
      "  seen = seen[seen.index(text) + len(text):]\n"
      "os.write(terminal, b\"'" TENON_CLI
      "' play2048\\n\")\n"
      "until(b'q quit')\n"
      "os.write(terminal, b'\\x1a')\n"
      "until(b'\\x1b[?1049l')\n"
      "until(b'Stopped')\n"
      "os.write(terminal, b'fg\\n')\n"
      "until(b'\\x1b[?1049h')\n"
      "until(b'q quit')\n"
      "os.write(terminal, b'q')\n"
      "until(b'score 0 after 0 moves')\n"
      "os.write(terminal, b'exit\\n')\n"
      "print('slept and woke')\n"
      "END");
  EXPECT_EQ(outcome.out, "slept and woke\n") << outcome.err;
}

// What it draws first, without colours and orders to the terminal.
std::vector<std::string> first_screen(const std::string& seen) {
  const size_t begin = seen.find("\x1b[H") + 3, end = seen.find("\x1b[J", begin);
  std::vector<std::string> lines(1);
  for (size_t at = begin; at < end; ++at) {
    if (seen[at] == '\x1b')
      at = seen.find_first_of("mK", at);
    else if (seen[at] == '\n')
      lines.emplace_back();
    else if (seen[at] != '\r')
      lines.back() += seen[at];
  }
  return lines;
}

TEST_F(Game, ASmallTerminalShowsWhatFits) {
  const std::vector<std::string> arguments{"play2048", "--board", "2,2,0,0,0,0,0,0,0,0,0,0,0,0,0,32768"};
  struct Size {
    uint16_t rows, columns;
    size_t lines;
  };
  for (const auto& [rows, columns, lines] :
       {Size{24, 80, 24}, Size{23, 80, 16}, Size{16, 39, 16}, Size{15, 60, 7}, Size{16, 38, 7}, Size{6, 24, 6}}) {
    const std::string seen = in_terminal(arguments, {"\x1b[D", "q"}, {rows, columns, 0, 0}, "score");
    const std::vector<std::string> screen = first_screen(seen);
    EXPECT_EQ(screen.size(), lines) << rows << " x " << columns;
    std::string all;
    for (const std::string& line : screen) {
      EXPECT_LE(line.size(), columns) << line;
      all += line;
    }
    EXPECT_NE(all.find("32768"), all.npos) << all;
    EXPECT_NE(seen.find("score 4 after 1 move\r\n"), seen.npos) << seen;
  }
  const std::string seen = in_terminal(arguments, {"q"}, {5, 20, 0, 0}, "needs");
  EXPECT_EQ(first_screen(seen), std::vector<std::string>{"needs 24 x 6; q quit"}) << seen;
}

// Keys would move tiles that nobody sees.
TEST_F(Game, AWindowWithoutRoomTakesNoMoves) {
  const std::string seen =
      in_terminal({"play2048", "--board", "2,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0"}, {"\x1b[D", "q"}, {5, 20, 0, 0}, "needs");
  EXPECT_NE(seen.find("score 0 after 0 moves"), seen.npos) << seen;
}

TEST_F(Game, ALearnerPlaysUntilThePersonTakesOver) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const std::string seen = in_terminal({"play2048", "--model", "run", "--delay", "60000"}, {"n", "n", "\x1b[A", "q"});
  EXPECT_NE(seen.find("2048 - run plays"), seen.npos) << seen;
  EXPECT_NE(seen.find("you play, run waits"), seen.npos) << seen;
  EXPECT_NE(seen.find("score "), seen.npos) << seen;
}

}  // namespace
}  // namespace tenon::cli
