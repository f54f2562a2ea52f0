// `tenon train dqn2048`: a run that learns to play 2048.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/device/registry.h"
#include "tenon/io/file.h"
#include "tenon/train/game_metrics.h"
#include "tenon/train/game_run.h"
#include "tenon/watch/report.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

bool is_game_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const auto file = io::MappedFile::open("config", path);
  return train::is_game_config(io::as_text(file->bytes()));
}

// A file of 2048's keys that names no learner would be taken for a config of a language model.
void refuse_without_learner(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;
  const auto file = io::MappedFile::open("config", path);
  const auto keys = nlohmann::json::parse(io::as_text(file->bytes()), nullptr, false);
  if (!keys.is_object()) return;
  for (const auto& [key, value] : keys.items()) {
    if (!rl::is_dqn_key(key)) return;
  }
  for (const std::string_view key : {"episodes", "hidden", "replay", "games", "log_every"}) {
    if (keys.contains(key))
      base::fail("config", "{}: {} is a key of 2048, whose configs name a \"learner\": dqn or tuples", path.string(),
                 key);
  }
}

// A name that is nearly that of a game's preset, and of nothing else.
void refuse_misspelt(const std::string& config) {
  std::error_code ignored;
  if (fs::exists(config, ignored)) return;
  std::vector<std::string> names;
  for (const rl::DqnPreset& preset : rl::dqn_presets()) names.emplace_back(preset.name);
  if (const std::string near = base::nearest(config, names); !near.empty())
    base::fail("config", "{}: there is no such file or preset; did you mean {}?", config, near);
}

std::string games_text(int64_t games) { return games == 1 ? "1 game" : watch::with_separators(games) + " games"; }

}  // namespace

bool is_game(const std::string& config, const std::string& resume) {
  if (!config.empty()) {
    const bool is_one = rl::find_dqn_preset(config) || is_game_file(config);
    if (!is_one) {
      refuse_misspelt(config);
      refuse_without_learner(config);
    }
    return is_one;
  }
  return is_game_file(fs::path(resume) / "config.json");
}

void train_game(const GameTraining& wanted) {
  const bool resumes = !wanted.resume.empty();
  rl::DqnConfig config =
      wanted.config.empty() ? train::game_run_config(wanted.resume) : train::load_game_config(wanted.config);
  rl::set(config, wanted.settings);
  rl::validate(config, wanted.config.empty() ? wanted.resume : wanted.config);
  // What the config names, whatever TENON_DEVICE does.
  if (!config.device.empty()) device::set_default_device(device::find(config.device));
  train::GameOptions options;
  options.folder = resumes ? fs::path(wanted.resume) : fs::path(wanted.out);
  options.resume = resumes;
  if (wanted.stop_after > 0) options.stop_after = wanted.stop_after;
  if (wanted.quiet) options.out = nullptr;
  const train::GameResult result = train::train_game(config, options);
  if (result.stopped) {
    print("stopped after {}: tenon train --resume {}\n", games_text(result.episodes), shown(options.folder));
  } else {
    const double speed = static_cast<double>(result.episodes) / std::max(1e-9, result.seconds);
    print("played {} in {}, {:.0f} games/s\n", games_text(result.episodes), watch::duration_text(result.seconds),
          speed);
  }
  if (result.evaluation_stopped)
    print("the games with the best moves were stopped; tenon train --resume {} plays them\n", shown(options.folder));
  if (result.evaluation) {
    const rl::Summary& sum = *result.evaluation;
    print("best moves: mean score {:.0f} ({:.1f} x random moves), 1024 in {}, 2048 in {}\n", sum.mean_score,
          sum.mean_score / result.random->mean_score, train::share_text(sum.reached(1024)),
          train::share_text(sum.reached(2048)));
  }
  print("report  {}\n", shown(result.report.lexically_normal()));
  if (!result.stopped) print("watch   tenon play2048 --model {}\n", shown(options.folder.lexically_normal()));
}

}  // namespace tenon::cli
