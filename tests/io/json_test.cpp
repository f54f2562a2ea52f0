// One reader of JSON: a document that nests deeper than any file has use for is a refusal, wherever it comes from.

#include "tenon/io/json.h"

#include <gtest/gtest.h>

#include "tenon/io/hugging_face.h"
#include "tenon/io/safetensors_header.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

const std::string kDeepList = std::string(100'000, '[') + std::string(100'000, ']');

std::string deep_object(size_t levels) {
  std::string text;
  for (size_t i = 0; i < levels; ++i) text += "{\"a\":";
  return text + "1" + std::string(levels, '}');
}

std::string refusal(const std::string& text) {
  return text_of([&] { parse_json("test", "a.json", text); });
}

TEST(Json, NestsSixtyFourLevelsAndNoMore) {
  EXPECT_EQ(refusal(deep_object(64)), "nothing was thrown");
  EXPECT_EQ(refusal(deep_object(65)), "[test] a.json: nests deeper than 64 levels (at byte 321 of it)");
  EXPECT_EQ(refusal(kDeepList), "[test] a.json: nests deeper than 64 levels (at byte 65 of it)");
}

TEST(Json, BracketsInTextsDoNotCount) {
  EXPECT_EQ(refusal("[\"" + std::string(1000, '[') + "\\\"[\"]"), "nothing was thrown");
}

TEST(Json, FieldsSayWhatTheyMustBe) {
  const std::string text = R"({"step": -1, "name": "a", "rate": 0.5, "large": 18446744073709551615})";
  const Input input{"test", "a.json", std::as_bytes(std::span(text))};
  const auto json = parse_json(input);
  EXPECT_EQ(json_field<int64_t>(input, json, "step"), -1);
  EXPECT_EQ(json_field<double>(input, json, "rate"), 0.5);
  EXPECT_EQ(json_field<uint64_t>(input, json, "large"), 18446744073709551615U);
  EXPECT_EQ(text_of([&] { json_field<int64_t>(input, json, "large"); }),
            "[test] a.json: large is 18446744073709551615; it must be a whole number");
  EXPECT_EQ(text_of([&] { json_field<uint64_t>(input, json, "step"); }),
            "[test] a.json: step is -1; it must be a whole number, not negative");
  EXPECT_EQ(text_of([&] { json_field<double>(input, json, "name"); }),
            "[test] a.json: name is \"a\"; it must be a number");
  EXPECT_EQ(text_of([&] { json_field<bool>(input, json, "none"); }), "[test] a.json: has no none");
}

TEST(Json, DeepFilesOfEveryKindAreRefused) {
  const auto of = [](const std::string& text) { return Input{"test", "a.json", std::as_bytes(std::span(text))}; };
  const std::string index = "{\"metadata\": {\"a\":" + kDeepList + "}, \"weight_map\": {}}";
  EXPECT_NE(text_of([&] { parse_safetensors_index(of(index)); }).find("nests deeper than 64 levels"),
            std::string::npos);
}

class JsonInFolder : public InFolder {};

TEST_F(JsonInFolder, ADeepConfigIsRefused) {
  write("config.json", "{\"a\":" + kDeepList + "}");
  EXPECT_NE(text_of([&] { load_folder(folder_); }).find("nests deeper than 64 levels"), std::string::npos);
}

TEST(Text, WhatATerminalWouldObeyIsEscaped) {
  EXPECT_EQ(escaped("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
  EXPECT_EQ(escaped("\xC2\x9B"), "\\xc2\\x9b");           // a control of 8 bits
  EXPECT_EQ(escaped("\xE2\x80\xAE"), "\\xe2\\x80\\xae");  // turns the direction around
  EXPECT_EQ(escaped("\xC3\xA9 \xFF"), "\xC3\xA9 \\xff");
  EXPECT_EQ(harmless("a\tb\n\x1b[1m\xC2\x85\xFF\xC3\xA9"), "a\tb\n?[1m??\xC3\xA9");
  EXPECT_EQ(in_quotes(std::string(79, 'a') + "\xC3\xA9"), "\"" + std::string(79, 'a') + "\"...");
}

}  // namespace
}  // namespace tenon::io
