// The subcommands of `tenon`: each function adds one, with its options and what it does, to the command line.
//
// A subcommand reports failures by throwing tenon::Error; main turns it into one line and an exit code.

#pragma once

#include <CLI/CLI.hpp>

namespace tenon::cli {

void add_data(CLI::App& app);
void add_tokenize(CLI::App& app);

}  // namespace tenon::cli
