// docs/layers.md: the programs of "Whole modules" are those of this file, and the table shown is what they print.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/tenon.h"

namespace tenon {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(std::string(TENON_SOURCE_DIR "/") + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The blocks of a section that begin with this line of three backticks.
std::vector<std::string> blocks(const std::string& section, const std::string& fence) {
  std::vector<std::string> found;
  const std::string end = "```\n";
  for (size_t at = section.find("```"); at != std::string::npos;) {
    const size_t begin = section.find('\n', at) + 1, stop = section.find(end, begin);
    if (section.substr(at, begin - at) == fence) found.push_back(section.substr(begin, stop - begin));
    at = section.find("```", stop + end.size());
  }
  return found;
}

std::string whole_modules() {
  const std::string page = text_of_file("docs/layers.md");
  const size_t begin = page.find("## Whole modules");
  return page.substr(begin, page.find("\n## ", begin) - begin);
}

// In one function, because later examples use what earlier ones declare.
std::string table_of_examples() {
  // clang-format off
  nn::Sequential digits;
  digits.emplace<nn::Conv2d>(1, 8, 3, nn::Conv2dOptions{.padding = 1});
  digits.emplace<nn::BatchNorm2d>(8);
  digits.emplace<nn::Flatten>();
  digits.emplace<nn::Linear>(8 * 28 * 28, 10);
  std::string table = nn::summary(digits, zeros({1, 1, 28, 28}));

  digits.freeze("0.*");
  digits.unfreeze("0.bias");
  optim::AdamW optimizer(optim::groups_by_name(digits.named_parameters(),
                                               {{.pattern = "3.*", .lr = 1e-2},           // the first rule that matches
                                                {.pattern = "*.bias", .weight_decay = 0}}),
                         {.lr = 1e-3, .amsgrad = true});
  optimizer.keep_average(0.999);  // moved by every step, in its kernel

  models::save_module("digits.safetensors", digits);
  models::load_module("digits.safetensors", digits);
  nn::LoadReport report = models::load_module("digits.safetensors", digits, false);
  // clang-format on
  EXPECT_TRUE(report.missing.empty());
  EXPECT_EQ(digits.count_parameters(true), 62826 - 72);
  EXPECT_EQ(optimizer.groups(), 3u);
  return table;
}

TEST(DocsOfLayers, ExamplesRunAndPrintWhatThePageShows) {
  const auto before = std::filesystem::current_path(),
             folder = std::filesystem::path(::testing::TempDir()) / "tenon_layers_docs";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  const std::string table = table_of_examples();
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(table, blocks(whole_modules(), "```\n").at(0));
}

TEST(DocsOfLayers, ExamplesAreThoseOfThisFile) {
  std::string here;
  std::istringstream lines(text_of_file("tests/models/layers_docs_test.cpp"));
  for (std::string line; std::getline(lines, line);) here += (line.starts_with("  ") ? line.substr(2) : line) + "\n";
  const std::vector<std::string> programs = blocks(whole_modules(), "```cpp\n");
  EXPECT_EQ(programs.size(), 3u);
  for (const std::string& program : programs) EXPECT_NE(here.find(program), std::string::npos) << program;
}

}  // namespace
}  // namespace tenon
