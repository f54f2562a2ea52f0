// Runs the built `tenon` as a shell would.

#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/io/support.h"

namespace tenon::cli {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;  // the exit code; -1 when a signal ended it
  std::string out, err;
};

using io::content_of;

/// A folder of its own for each test, in which commands run.
class Cli : public io::InFolder {
 protected:
  /// A line of bash in which `tenon` is the program.
  Outcome bash(const std::string& line) {
    const fs::path script = folder_ / ".line.sh";
    std::ofstream(script) << "tenon() { '" TENON_CLI "' \"$@\"; }\ncd '" << folder_.string() << "'\n" << line << "\n";
    const std::string command = "bash '" + script.string() + "' >'" + (folder_ / ".stdout").string() + "' 2>'" +
                                (folder_ / ".stderr").string() + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(folder_ / ".stdout"),
            content_of(folder_ / ".stderr")};
  }
  Outcome run(const std::string& arguments) { return bash("tenon " + arguments); }

  /// What a command that must fail says, with the code in front: "2 tenon: ...".
  std::string refusal(const std::string& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.ends_with('\n')) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return std::to_string(outcome.code) + " " + outcome.err.substr(0, outcome.err.find('\n'));
  }
};

}  // namespace tenon::cli
