// A test in a process of its own, with an environment of its own: what is read once a process, and what outlives one.
//
//   TEST(Children, DISABLED_Work) { std::printf("%s\n", getenv("WHAT")); }
//   TEST(Work, IsDone) { EXPECT_NE(child("Children.DISABLED_Work", {{"WHAT", "this"}}).find("this"), npos); }

#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

namespace tenon {

using Environment = std::map<std::string, std::string>;

/// A disabled test of this binary that is under way.
class Child {
 public:
  Child(const std::string& test, const Environment& environment) {
    std::string command = "env";
    for (const auto& [name, value] : environment) command += " '" + name + "=" + value + "'";
    command += " '" + std::filesystem::read_symlink("/proc/self/exe").string() +
               "' --gtest_also_run_disabled_tests --gtest_brief=1 --gtest_filter=" + test + " 2>&1";
    pipe_ = popen(command.c_str(), "r");
  }
  Child(const Child&) = delete;
  ~Child() {
    if (pipe_) pclose(pipe_);
  }
  /// All that it said; a failure unless it passed.
  std::string finish() {
    std::string said;
    char part[4096];
    while (const size_t bytes = fread(part, 1, sizeof part, pipe_)) said.append(part, bytes);
    const int status = pclose(pipe_);
    pipe_ = nullptr;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << said;
    return said;
  }

 private:
  FILE* pipe_ = nullptr;
};

inline std::string child(const std::string& test, const Environment& environment) {
  return Child(test, environment).finish();
}

}  // namespace tenon
