// What a checkpoint says besides its tensors: where the run stands in its data, its random numbers, its schedule and
// its clock. checkpoint.json holds it as JSON.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tenon/train/config.h"

namespace tenon::train {

struct RunState {
  std::string loader;               // where in the data: JSON of Task::position
  uint64_t seed = 0, position = 0;  // of the random numbers
  std::map<std::string, double> rate;
  int64_t items = 0;  // tokens, images: what the task counts
  double seconds = 0, step_seconds = 0;
  std::optional<double> best_loss = {};
  std::optional<int64_t> best_step = {};
  std::string config;  // the run's, as JSON; empty in what other programs wrote
  std::string corpus;  // the fingerprint of the data; empty in runs from before there was one
};

/// The text of a state, with the config given here.
std::string to_json(const RunState& state, const Config& config);
/// Fails with one line where the text is no state.
RunState parse_run_state(const std::string& text);

}  // namespace tenon::train
