// The numbers of a run of 2048, one JSON object a line, as metrics.jsonl of other runs; and the page that shows them.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tenon/rl/learner.h"

namespace tenon::train {

/// Of the games since the line before.
struct GameMetrics {
  int64_t episode = 0;  // the last of them; the first is 1
  double mean_score = 0, mean_moves = 0;
  int64_t best_score = 0;
  std::vector<int64_t> by_tile;  // games whose largest tile has this exponent
  double epsilon = 0, loss = 0, episodes_per_second = 0;
  double moves_per_second = 0, learning_ms = 0;  // the second: playing and learning, to a step of learning
  int64_t resident_bytes = 0;                    // of this process; 0: not known
  double seconds = 0;  // of playing and learning, since the beginning of the run
  bool resumed = false;
};

/// The line of it, with its line break.
std::string game_metrics_line(const GameMetrics& metrics);
/// All lines of a file; a torn last one is left out. Fails with one line where it cannot be read.
std::vector<GameMetrics> read_game_metrics(const std::filesystem::path& path);

/// RUN/report.html: curves, the tiles of training, and those of the games at the end where there are some.
struct GameReport {
  std::filesystem::path run;
  std::string config;  // as JSON
  std::vector<GameMetrics> metrics;
  std::optional<rl::Summary> evaluation, random;
};
void write_game_report(const GameReport& report);

/// Text for a share: "94.1 %".
std::string share_text(double share);

}  // namespace tenon::train
