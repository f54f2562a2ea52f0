// What to say about a wrong command line: one line, with the nearest known word where a word is unknown.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tenon::cli {

/// The line for an error that app.parse threw.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// The line for a word in the place of a command that is none; empty where there is no such word. Whoever asks for help
/// on it would otherwise get the help of something else.
std::string unknown_command(const CLI::App& app);

}  // namespace tenon::cli
