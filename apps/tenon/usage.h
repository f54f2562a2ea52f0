// What to say about a wrong command line: one line, with the nearest known word where a word is unknown.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tenon::cli {

/// The line for an error that app.parse threw.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tenon::cli
