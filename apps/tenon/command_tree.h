// The commands and options as a tree to look at, for messages and completions. CLI11 keeps option groups as commands
// without a name; here their options are those of the command around them.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tenon::cli {

std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::vector<const CLI::Option*> options_of(const CLI::App& app);

/// "tenon data prepare": the words that lead to a command.
std::string command_path(const CLI::App& app);
/// "--set", "-h": how an option is written; empty for a positional.
std::vector<std::string> spellings(const CLI::Option& option);

}  // namespace tenon::cli
