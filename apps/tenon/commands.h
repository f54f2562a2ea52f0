// The subcommands of `tenon`: each function adds one, with its options and what it does, to the command line.
//
// A subcommand has an example in its footer. It reports a failure by throwing tenon::Error, which main turns into one
// line and exit code 1, and a wrong use by throwing CLI::ValidationError: exit code 2.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/train/config.h"

namespace tenon::cli {

/// A whole number of an option, with bounds that a person can read.
CLI::Validator whole_number(int64_t least, int64_t most);
/// A number of an option between bounds; the least itself may be left out.
CLI::Validator number(double least, double most, bool above_least = false);
/// A name of a file or folder, which an empty text is not: what a script forgot to fill in is no choice.
CLI::Validator path_name();
/// Fails where a device computes nothing: it serves checks of programs, and its results mean nothing.
void require_computing(const std::string& device);
/// "schedule.warmup_steps is 3 instead of the 50 of demo, to fit what was asked for".
std::string fit_text(const train::Difference& fit, const std::string& config);
/// Fails where a file would become part of a training run, or take the place of one.
void require_no_run(std::string_view command, const std::filesystem::path& out);

/// `tenon train` of a learner of 2048: what was asked for.
struct GameTraining {
  std::string config, resume;
  std::filesystem::path out;
  std::vector<std::string> settings;
  int64_t stop_after = 0;
  bool quiet = false;
};
/// Whether a preset, a file, or else the run to resume is one of 2048.
bool is_game(const std::string& config, const std::string& resume);
void train_game(const GameTraining& wanted);

void add_classify(CLI::App& app);
void add_completion(CLI::App& app);
void add_config(CLI::App& app);
void add_convert(CLI::App& app);
void add_data(CLI::App& app);
void add_doctor(CLI::App& app);
void add_eval(CLI::App& app);
void add_generate(CLI::App& app);
void add_play2048(CLI::App& app);
void add_system_info(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_train(CLI::App& app);
void add_tune(CLI::App& app);

}  // namespace tenon::cli
