// A process may fork while work is under way: both sides read what was asked for, and neither waits for ever.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

/// Runs an action in a child for at most so many seconds; whether it ended well.
bool in_child(const auto& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    bool good = false;
    try {
      good = action();
    } catch (const Error&) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Fork, AChildReadsWhatWasUnderWay) {
  Tensor x = full({512, 512}, 0.001);
  for (int i = 0; i < 20; ++i) x = matmul(x, x) + 0.001;
  x.eval();  // returns before it is done
  const auto value = [&] { return x.sum().item<float>(); };
  float of_child[1] = {};
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_TRUE(in_child([&] {
    const float seen = value();
    return write(pipe_ends[1], &seen, sizeof seen) == sizeof seen;
  }));
  ASSERT_EQ(read(pipe_ends[0], of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  EXPECT_EQ(of_child[0], value());
}

TEST(Fork, AChildComputesOnItsOwn) {
  const Tensor x = ones({1024, 1024});
  EXPECT_EQ(matmul(x, x).sum().item<float>(), 1073741824.0F);  // threads have been at work
  EXPECT_TRUE(in_child([&] {
    Tensor y = matmul(x, x);
    y.eval();
    return y.sum().item<float>() == 1073741824.0F;
  }));
  EXPECT_EQ(matmul(x, x).sum().item<float>(), 1073741824.0F);
}

// The driver's threads stay with the parent.
TEST(Fork, AChildIsToldThatAGpuStaysWithItsParent) {
  const std::vector<std::string> names = device::names();
  if (std::ranges::find(names, "opencl") == names.end()) GTEST_SKIP() << "no opencl";
  const Tensor x = full({8}, 2, Device("opencl")).clone().eval();
  EXPECT_EQ(x.sum().item<float>(), 16.0F);
  EXPECT_TRUE(in_child([&] {
    const std::string text = text_of([&] { (x * 1).sum().item<float>(); });
    return text.find("this process was forked from the one that opened it") != std::string::npos &&
           ones({4}).sum().item<float>() == 4;
  }));
  EXPECT_EQ((x * 2).sum().item<float>(), 32.0F);
}

}  // namespace
}  // namespace tenon
