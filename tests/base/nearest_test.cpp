// Suggestions for misspelt names.

#include "tenon/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::base {
namespace {

TEST(EditDistance, CountsSingleLetterEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("cuda", "cuda"), 0u);
  EXPECT_EQ(edit_distance("", "cuda"), 4u);
  EXPECT_EQ(edit_distance("cuda", ""), 4u);
  EXPECT_EQ(edit_distance("cuda", "cda"), 1u);
  EXPECT_EQ(edit_distance("cuda", "cudda"), 1u);
  EXPECT_EQ(edit_distance("cuda", "cuba"), 1u);
  EXPECT_EQ(edit_distance("cuda", "ucda"), 2u);  // an exchange is two edits
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(EditDistance, IsAMetric) {
  const std::vector<std::string> words{"", "a", "ab", "ba", "abc", "xyz", "abcabc", "cbacba"};
  for (const auto& a : words) {
    for (const auto& b : words) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
      EXPECT_EQ(edit_distance(a, b) == 0, a == b);
      for (const auto& c : words) EXPECT_LE(edit_distance(a, c), edit_distance(a, b) + edit_distance(b, c));
    }
  }
}

const std::vector<std::string> kNames{"reference", "null", "opencl", "vulkan"};

TEST(Nearest, FindsTheMisspeltName) {
  EXPECT_EQ(nearest("referense", kNames), "reference");
  EXPECT_EQ(nearest("nul", kNames), "null");
  EXPECT_EQ(nearest("openCL", kNames), "opencl");
  EXPECT_EQ(nearest("vulkan", kNames), "vulkan");
}

TEST(Nearest, SaysNothingWhenMoreThanHalfTheLettersDiffer) {
  EXPECT_EQ(nearest("zzzz", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("nxyz", kNames), "");
  EXPECT_EQ(nearest("nuxy", kNames), "null");  // exactly half is still near
}

TEST(Nearest, TakesTheFirstOfEquallyNearNames) {
  const std::vector<std::string> names{"f16", "f32", "f64"};
  EXPECT_EQ(nearest("f12", names), "f16");
  EXPECT_EQ(nearest("f62", names), "f32");
}

TEST(Nearest, KnowsNothingWithoutNames) { EXPECT_EQ(nearest("cuda", {}), ""); }

// "b" is two edits away and does not come near; "bf1xyz" is three edits away and does.
TEST(Nearest, AShortNameThatIsNotNearHidesNoLongOneThatIs) {
  const std::vector<std::string> names{"b", "bf1xyz"};
  EXPECT_EQ(nearest("bf1", names), "bf1xyz");
}

}  // namespace
}  // namespace tenon::base
