// docs/ops.md is generated from the op table.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tenon/ir/print.h"

namespace tenon::ir {
namespace {

TEST(Docs, OpsPageIsTheTable) {
  std::ifstream file(TENON_SOURCE_DIR "/docs/ops.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), table_as_markdown()) << "docs/ops.md is out of date: replace it with the text above";
}

}  // namespace
}  // namespace tenon::ir
