// TENON_CHECK_NAN names the op that makes the first NaN. The flag is read once, so a program of its own shows it.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/base/error.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// Runs in a child process; its text is compared.
[[noreturn]] void make_nan() {
  setenv("TENON_CHECK_NAN", "1", 1);
  Tensor w = tensor<float>({1, 2}).eval();
  try {
    const base::Scope model("gpt"), layer("mlp");
    w.add_(1);
    const Tensor x = w - 4;
    const Tensor y = sqrt(x) * 2 + 1;  // the root of -2
    eval({w, sum(y)});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s; w is %g\n", error.what(), static_cast<double>(w.slice(0, 0, 1).item<float>()));
  }
  std::exit(3);
}

TEST(CheckNanDeathTest, TheFirstNanIsNamedAndNothingChanges) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(make_nan(), testing::ExitedWithCode(3),
              R"(\[sqrt\] made the first NaN: element 0 of f32\(2,\) \(in gpt.mlp\); w is 1)");
}

}  // namespace
}  // namespace tenon
