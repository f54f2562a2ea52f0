// A training run from a config: steps, evaluations, samples, checkpoints, and a folder that shows all of it.
//
//   train::Config config = train::load_config("demo");
//   train::TrainResult result = train::train(config, {.folder = "runs/demo"});

#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tenon/train/config.h"
#include "tenon/train/task.h"
#include "tenon/watch/metrics.h"

namespace tenon::train {

/// Steps that are profiled. 0 and 0: the 11th to the 15th that are taken, or the last five where there are fewer.
///   train::TrainOptions options;
///   options.profile = train::ProfiledSteps{11, 15};
struct ProfiledSteps {
  int64_t first = 0, last = 0;  // by their numbers, both are profiled
};

/// Where a run lies, and what is told of it.
struct TrainOptions {
  std::filesystem::path folder;  // of the run
  /// Goes on with the newest good checkpoint of the folder. The config may differ in how long and how closely it is
  /// watched, but not in what is computed.
  bool resume = false;
  std::string config_name = {};               // what messages call the config; empty: the run's own
  std::optional<int64_t> stop_after = {};     // ends with a checkpoint after this step, as Ctrl-C would
  std::optional<ProfiledSteps> profile = {};  // writes profile.json into the folder, and a table with the progress
  std::FILE* out = stderr;                    // progress and notes; null: silence
  std::function<void(const watch::StepMetrics&)> on_metrics = {};  // is given what metrics.jsonl gets
  MakeTask task = {};                                              // where model.architecture is custom
};

/// What a run came to.
struct TrainResult {
  int64_t step = 0;  // the last one
  double loss = 0;   // of the last step
  /// Of the last evaluation.
  std::optional<double> validation_loss = {}, best_validation_loss = {};  // the least of all
  watch::NamedNumbers validation_metrics = {};                            // of the last evaluation, beside its loss
  double seconds = 0;                                                     // all of it
  double step_seconds = 0;       // of the steps: without evaluations, samples and checkpoints
  double items_per_second = 0;   // of the steps
  std::string unit;              // what the items are: "tokens", "images"
  bool stopped = false;          // by a signal or stop_after, before the last step
  std::filesystem::path model;   // the folder of what was trained; empty where the run stopped early
  std::filesystem::path report;  // the page of the run
  std::string last_sample;       // the text of the last sample
};

/// Fails with one line where the run cannot start or go on. Ctrl-C ends the run after its step, with a checkpoint; a
/// second one ends the process.
TrainResult train(const Config& config, const TrainOptions& options);

/// The config of a run's folder; fails with one line where it holds none.
///   train::Config config = train::run_config("runs/demo");
Config run_config(const std::filesystem::path& folder);

}  // namespace tenon::train
