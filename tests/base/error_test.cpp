// The form of error texts and the path of modules in them.

#include "tenon/base/error.h"
#include "tests/error_text.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

namespace tenon::base {
namespace {

TEST(Errors, NameTheOpAndTheReason) {
  EXPECT_EQ(text_of([] { fail("matmul", "inner dimensions {} and {} differ", 768, 512); }),
            "[matmul] inner dimensions 768 and 512 differ");
}

TEST(Errors, AreRuntimeErrors) { EXPECT_THROW(fail("op", "no"), std::runtime_error); }

TEST(Errors, KeepBracesOfArguments) {
  EXPECT_EQ(text_of([] { fail("config", "unknown key {}", "{lr}"); }), "[config] unknown key {lr}");
  EXPECT_EQ(text_of([] { throw_error("config", "raw {} text"); }), "[config] raw {} text");
}

TEST(Scopes, AreEmptyOutsideOfAnyModule) { EXPECT_EQ(scope_path(), ""); }

TEST(Scopes, NestToADottedPath) {
  const Scope outer("gpt");
  {
    const Scope layer("h.3");
    const Scope attention("attn");
    EXPECT_EQ(scope_path(), "gpt.h.3.attn");
    EXPECT_EQ(text_of([] { fail("matmul", "no"); }), "[matmul] no (in gpt.h.3.attn)");
  }
  EXPECT_EQ(scope_path(), "gpt");
}

TEST(Scopes, OutliveTheTextTheyWereNamedBy) {
  std::optional<Scope> scope;
  {
    const std::string name = "a module with a name too long for the small string";
    scope.emplace(name);
  }
  EXPECT_EQ(scope_path(), "a module with a name too long for the small string");
}

TEST(Scopes, EndWhenAnErrorPassesThrough) {
  const auto forward = [] {
    const Scope model("model");
    const Scope layer("layer");
    fail("add", "no");
  };
  EXPECT_EQ(text_of(forward), "[add] no (in model.layer)");
  EXPECT_EQ(scope_path(), "");
  EXPECT_EQ(text_of(forward), "[add] no (in model.layer)");
}

TEST(Scopes, BelongToTheirThread) {
  const Scope here("here");
  std::string there_before, there_inside;
  std::thread other([&] {
    there_before = scope_path();
    const Scope there("there");
    there_inside = scope_path();
  });
  other.join();
  EXPECT_EQ(there_before, "");
  EXPECT_EQ(there_inside, "there");
  EXPECT_EQ(scope_path(), "here");
}

}  // namespace
}  // namespace tenon::base
