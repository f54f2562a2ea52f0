// A run that learns to play 2048: folder, checkpoints, metrics and report as those of other runs.
//
//   const GameResult result = train_game(rl::parse_dqn_config(json, name), {.folder = "runs/dqn2048"});

#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tenon/rl/dqn_config.h"
#include "tenon/rl/learner.h"

namespace tenon::train {

/// Where a run lies, and what is told of it.
struct GameOptions {
  std::filesystem::path folder;            // of the run
  bool resume = false;                     // goes on with the newest good checkpoint of the folder
  std::optional<int64_t> stop_after = {};  // episodes
  std::FILE* out = stderr;                 // null: silence
};

/// What a run came to.
struct GameResult {
  int64_t episodes = 0;                           // games that were played
  bool stopped = false;                           // before the last game, by a signal or stop_after
  double seconds = 0;                             // of playing and learning
  std::optional<rl::Summary> evaluation, random;  // of games with the best moves, and with random ones
  bool evaluation_stopped = false;                // by a signal: a run that is resumed plays those games again
  std::filesystem::path report;                   // the page of the run
};

/// Plays and learns; goes on bit for bit where a run is resumed, games, replay and random streams included. Fails with
/// one line, the last checkpoint kept, where what is learned leaves the finite numbers.
GameResult train_game(const rl::DqnConfig& config, const GameOptions& options);

/// Whether a JSON text is a config of such a run: it names a learner.
///   train::is_game_config("{\"learner\": \"dqn\"}");  // true
bool is_game_config(std::string_view json);
/// A preset, or the file of a config.
///   rl::DqnConfig config = train::load_game_config("runs/mine.json");
rl::DqnConfig load_game_config(const std::string& path_or_preset);
/// The config of a run's folder. Fails with one line where it is none of 2048.
///   rl::DqnConfig config = train::game_run_config("runs/dqn2048");
rl::DqnConfig game_run_config(const std::filesystem::path& folder);
/// The learner of a run, from its newest good checkpoint, or of one checkpoint. `note` is told of newer ones that are
/// damaged and passed over.
///   std::unique_ptr<rl::Learner> learner = train::load_learner("runs/dqn2048");
std::unique_ptr<rl::Learner> load_learner(const std::filesystem::path& path,
                                          const std::function<void(const std::string&)>& note = {});

}  // namespace tenon::train
