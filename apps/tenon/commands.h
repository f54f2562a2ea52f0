// The subcommands of `tenon`: each function adds one, with its options and what it does, to the command line.
//
// A subcommand has an example in its footer. It reports a failure by throwing tenon::Error, which main turns into one
// line and exit code 1, and a wrong use by throwing CLI::ValidationError: exit code 2.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace tenon::cli {

/// A whole number of an option, with bounds that a person can read.
CLI::Validator whole_number(int64_t least, int64_t most);

void add_completion(CLI::App& app);
void add_config(CLI::App& app);
void add_convert(CLI::App& app);
void add_data(CLI::App& app);
void add_eval(CLI::App& app);
void add_generate(CLI::App& app);
void add_system_info(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_train(CLI::App& app);

}  // namespace tenon::cli
