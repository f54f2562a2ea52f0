// What commands print, and what they read from stdin. Results go to stdout, and not being able to write them is a
// failure; what is said meanwhile goes to stderr, where losing it ends nothing.

#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

/// Standard output takes no more; main says so, or ends as quietly as a shell expects where a pipe was closed.
class OutputLost : public std::runtime_error {
 public:
  explicit OutputLost(int reason) : std::runtime_error("standard output is lost"), error_number(reason) {}
  int error_number;
};

/// To stdout, byte for byte.
void write_out(std::string_view bytes);
/// Everything written is handed on.
void flush_out();

/// The lines of a text that are not empty, without their ends.
std::vector<std::string> lines_of(std::string_view text);

/// All of stdin; `command` begins the error's line.
std::string read_stdin(std::string_view command);

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}

/// Text of a file or a model: byte for byte, but on a terminal without what it would obey.
void write_text(std::string_view text);
/// A name as a line shows it: what a terminal would obey, and line breaks, are written as \\x1b.
std::string shown(const std::filesystem::path& path);
/// Whether people read stdout.
bool out_is_terminal();

/// To stderr, if anybody listens.
void tell(std::string_view text);

}  // namespace tenon::cli
