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
  const std::string page = content_of(folder_ / "run/report.html");
  EXPECT_NE(page.find("Largest tiles of the games of training"), page.npos);
  for (const char* part : {"Score", "Random moves (epsilon)", "id=\"even\" checked", "id=\"log\""})
    EXPECT_NE(page.find(part), page.npos) << part;
  const Outcome played = run("play2048 --model run --games 5 --seed 2");
  EXPECT_TRUE(played.out.starts_with("5 games with the best moves: mean score ")) << played.out << played.err;
  EXPECT_EQ(played.out, run("play2048 --model run/checkpoints/step_00000012 --games 5 --seed 2").out);
  EXPECT_TRUE(run("play2048 --random --games 5").out.starts_with("5 games with random moves: mean score "));
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
  EXPECT_EQ(refusal("play2048 --board 2,x"), "1 tenon: [play2048] --board: 'x' is no number; name 16 tiles: 0,2,4,...");
  EXPECT_EQ(refusal("play2048 --board ''"), "1 tenon: [play2048] --board: '' is no number; name 16 tiles: 0,2,4,...");
  EXPECT_EQ(refusal("play2048 --board 2,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"),
            "1 tenon: [play2048] --board: '' is no number; name 16 tiles: 0,2,4,...");
}

TEST_F(Game, AModelOfAnotherShapeIsRefused) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  Json config = Json::parse(content_of(folder_ / "run/config.json"));
  config["hidden"] = {9};
  std::ofstream(folder_ / "run/config.json") << config;
  const std::string error = refusal("play2048 --model run --games 1");
  EXPECT_TRUE(error.starts_with("1 tenon: [train] run: its checkpoint does not fit its config: ")) << error;
  EXPECT_NE(error.find("(9, 16)"), error.npos) << error;
}

TEST_F(Game, ADamagedCheckpointIsToldAndPassedOver) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  fs::resize_file(folder_ / "run/checkpoints/step_00000012/state.safetensors", 500);
  const std::string error = refusal("play2048 --model run --games 1");
  EXPECT_TRUE(error.starts_with("1 tenon: [train] run: there is no good checkpoint: ")) << error;
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

TEST_F(Game, ALearnerPlaysUntilThePersonTakesOver) {
  ASSERT_EQ(run("train tiny.json --out run --quiet").code, 0);
  const std::string seen = in_terminal({"play2048", "--model", "run", "--delay", "60000"}, {"n", "n", "\x1b[A", "q"});
  EXPECT_NE(seen.find("2048 - run plays"), seen.npos) << seen;
  EXPECT_NE(seen.find("you play, run waits"), seen.npos) << seen;
  EXPECT_NE(seen.find("score "), seen.npos) << seen;
}

}  // namespace
}  // namespace tenon::cli
