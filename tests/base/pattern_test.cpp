// Patterns of names.

#include "tenon/base/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon::base {
namespace {

TEST(Pattern, MatchesWholeNames) {
  EXPECT_TRUE(matches("head.weight", "head.weight"));
  EXPECT_FALSE(matches("head.weight", "head.weights"));
  EXPECT_FALSE(matches("head", "head.weight"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("", ""));
}

TEST(Pattern, AStarStandsForAnyLettersAndAQuestionMarkForOne) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*.bias", "h.0.fc.bias"));
  EXPECT_TRUE(matches("h.?.fc.*", "h.3.fc.weight"));
  EXPECT_FALSE(matches("h.?.fc.*", "h.13.fc.weight"));
  EXPECT_TRUE(matches("*.0.*ight", "h.0.0.fc.weight"));
  EXPECT_TRUE(matches("a*b*c", "abbxbc"));
  EXPECT_FALSE(matches("a*b*c", "abbxb"));
  EXPECT_TRUE(matches("**", "x"));
}

TEST(Pattern, OfManyStarsEndsSoon) { EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(4000, 'a'))); }

TEST(Pattern, ThatMatchesNothingIsToldWithTheNearestName) {
  const std::vector<std::string> names{"head.weight", "head.bias"};
  EXPECT_EQ(no_match("haed.weight", names), "no parameter is called \"haed.weight\"; did you mean head.weight?");
  EXPECT_EQ(no_match("x.*", names), "no parameter is called \"x.*\"; * stands for any letters");
}

}  // namespace
}  // namespace tenon::base
