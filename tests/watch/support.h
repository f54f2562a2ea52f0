// What the tests of this folder share: a folder of their own, and programs that check what we wrote.

#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "tests/io/support.h"

namespace tenon::watch {

namespace fs = std::filesystem;
using io::content_of;
using io::InFolder;

/// The status of a command and what it printed.
inline std::pair<int, std::string> output_of(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {-1, "popen failed"};
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace tenon::watch
