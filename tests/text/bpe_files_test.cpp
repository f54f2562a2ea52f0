// Files of a BPE that are refused, each with one line that says why.

#include "tests/text/support.h"

namespace tenon::text {
namespace {

std::string refusal_of(const std::string& vocabulary, const std::string& merges) {
  const std::string text = text_of([&] {
    parse_bpe_files({"tokenizer", "vocab.json", std::as_bytes(std::span(vocabulary))},
                    {"tokenizer", "merges.txt", std::as_bytes(std::span(merges))});
  });
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}
std::string refusal_of(const TinyFiles& files) { return refusal_of(files.vocabulary_text(), files.merges); }

TEST(BpeFiles, AMergeMustHaveItsPartsAndItsResult) {
  TinyFiles files({"a b"});
  files.merges += "ab c\n";
  EXPECT_EQ(refusal_of(files),
            "[tokenizer] merges.txt: merge 2: \"abc\" is not in the vocabulary; do these files belong together?");
  files.merges = "xx y\n";
  EXPECT_EQ(refusal_of(files),
            "[tokenizer] merges.txt: merge 1: \"xx\" is not in the vocabulary; do these files belong together?");
}

TEST(BpeFiles, ATokenThatNoMergeMakesMustLookSpecial) {
  TinyFiles files({"a b"});
  files.vocabulary["<|endoftext|>"] = 257;
  EXPECT_EQ(files.tokenizer().end_of_text(), 257);
  files.vocabulary["cd"] = 258;
  EXPECT_EQ(refusal_of(files), "[tokenizer] merges.txt: no merge makes token 258 (\"cd\"): is the file cut off?");
}

TEST(BpeFiles, NumbersRunFromZeroWithoutAGap) {
  TinyFiles files;
  files.vocabulary["<x>"] = 255;
  EXPECT_EQ(refusal_of(files), "[tokenizer] vocab.json: token \"<x>\" has number 255, which is taken");
  files.vocabulary["<x>"] = 257;
  EXPECT_EQ(refusal_of(files),
            "[tokenizer] vocab.json: token \"<x>\" has number 257, but there are 257 tokens: numbers must run from 0 "
            "without a gap");
  files.vocabulary["<x>"] = 2147483647;
  EXPECT_NE(refusal_of(files).find("has number 2147483647, but there are 257 tokens"), std::string::npos);
}

TEST(BpeFiles, NumbersAreWholeNumbers) {
  for (const char* number : {"-1", "1.5", "2147483648", "1e300", "99999999999999999999", "\"7\"", "null", "[1]"}) {
    EXPECT_EQ(refusal_of("{\"a\": " + std::string(number) + "}", "a b\n"),
              "[tokenizer] vocab.json: token \"a\" must have a whole number from 0 to 2147483647")
        << number;
  }
}

TEST(BpeFiles, EveryByteHasAToken) {
  TinyFiles files;
  files.vocabulary.erase("Ġ");
  for (int byte = 33; byte < 256; ++byte)
    files.vocabulary[to_letters(std::string(1, static_cast<char>(byte)))] = byte - 1;
  EXPECT_EQ(refusal_of(files),
            "[tokenizer] vocab.json: byte 0x20 has no token (\"Ġ\"): a text with it could not be encoded");
}

TEST(BpeFiles, LettersStandForBytes) {
  TinyFiles files;
  files.vocabulary["日"] = 256;
  EXPECT_EQ(refusal_of(files), "[tokenizer] vocab.json: token \"日\" has a letter that stands for no byte");
  EXPECT_EQ(refusal_of("{\"\": 0}", "a b\n"), "[tokenizer] vocab.json: there is a token without letters");
}

TEST(BpeFiles, TruncatedJsonIsRefusedWithItsPlace) {
  const std::string whole = TinyFiles().vocabulary_text();
  EXPECT_EQ(refusal_of(whole.substr(0, 100), "a b\n"),
            "[tokenizer] vocab.json: is not valid JSON (at byte 101 of 100)");
  EXPECT_EQ(refusal_of(whole + std::string(1, '\0') + "x", "a b\n"),
            "[tokenizer] vocab.json: is not valid JSON (at byte " + std::to_string(whole.size() + 1) + " of " +
                std::to_string(whole.size() + 2) + ")");
}

TEST(BpeFiles, EmptyFilesAreRefused) {
  EXPECT_EQ(refusal_of("", "a b\n"), "[tokenizer] vocab.json: is empty");
  EXPECT_EQ(refusal_of(TinyFiles().vocabulary_text(), ""), "[tokenizer] merges.txt: is empty");
}

TEST(BpeFiles, TheVocabularyIsAnObjectWithEveryKeyOnce) {
  EXPECT_EQ(refusal_of("[1]", "a b\n"), "[tokenizer] vocab.json: must be a JSON object");
  EXPECT_EQ(refusal_of("{\"a\": 0, \"b\": 1, \"a\": 2}", "a b\n"),
            "[tokenizer] vocab.json: the key \"a\" occurs twice in one object");
}

TEST(BpeFiles, AMergeIsTwoTokensAndABlank) {
  TinyFiles files({"a b"});
  for (const char* line : {"abc", "a b c", "a  b", ""}) {
    files.merges = "a b\n" + std::string(line) + "\n";
    EXPECT_EQ(refusal_of(files), "[tokenizer] merges.txt: merge 2 must be two tokens with one blank between, not \"" +
                                     std::string(line) + "\"");
  }
  files.merges = " b\n";
  EXPECT_EQ(refusal_of(files), "[tokenizer] merges.txt: merge 1 has an empty part");
}

TEST(BpeFiles, AMergeOccursOnce) {
  TinyFiles files({"a b"});
  files.merges += "a b\n";
  EXPECT_EQ(refusal_of(files), "[tokenizer] merges.txt: merge 2 (\"a\" \"b\") occurs twice");
}

TEST(BpeFiles, LinesMayEndAsOnWindowsAndTheVersionMayBeMissing) {
  TinyFiles files({"a b"});
  files.merges = "a b\r\n";
  EXPECT_EQ(files.tokenizer().encode("ab"), (Ids{256}));
}

TEST(HuggingFace, MergesMayBeTextsOrPairs) {
  auto json = TinyFiles({"a b"}).hugging_face();
  EXPECT_EQ(from_json(json.dump())->encode("ab"), (Ids{256}));
  json["model"]["merges"] = nlohmann::json::parse(R"([["a", "b"]])");
  EXPECT_EQ(from_json(json.dump())->encode("ab"), (Ids{256}));
  json["model"]["merges"] = nlohmann::json::parse(R"([["a", "b", "c"]])");
  EXPECT_EQ(refusal_of_json(json.dump()), "model.merges[0] must be two tokens");
}

TEST(HuggingFace, WhatIsNotSupportedIsRefusedByName) {
  const auto with = [](const std::function<void(nlohmann::ordered_json&)>& change) {
    auto json = TinyFiles({"a b"}).hugging_face();
    change(json);
    return refusal_of_json(json.dump());
  };
  EXPECT_EQ(with([](auto& j) {
              j["normalizer"] = {{"type", "NFC"}};
            }),
            "normalizer is not supported: texts are encoded as they are");
  EXPECT_EQ(with([](auto& j) { j["model"]["type"] = "Unigram"; }), "model must be of type BPE, not \"Unigram\"");
  EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"] = nullptr; }),
            "pre_tokenizer must be of type ByteLevel, as GPT-2's is; others are not supported");
  EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["use_regex"] = false; }), "pre_tokenizer.use_regex must be true");
  EXPECT_EQ(with([](auto& j) { j["model"]["byte_fallback"] = true; }),
            "model.byte_fallback is not supported: only a plain byte-level BPE is");
  EXPECT_EQ(with([](auto& j) { j["model"]["end_of_word_suffix"] = "</w>"; }),
            "model.end_of_word_suffix is not supported");
  EXPECT_EQ(with([](auto& j) {
              j["added_tokens"] = {{{"id", 257}, {"content", "<m>"}, {"lstrip", true}}};
            }),
            "added_tokens[0].lstrip is not supported");
}

TEST(HuggingFace, AddedTokensHaveNumbersOfTheirOwn) {
  const auto with = [](nlohmann::ordered_json added) {
    auto json = TinyFiles({"a b"}).hugging_face();
    json["added_tokens"] = std::move(added);
    return refusal_of_json(json.dump());
  };
  EXPECT_EQ(with({{{"id", 3}, {"content", "<m>"}}}), "token \"<m>\" has number 3, which is taken");
  EXPECT_EQ(with({{{"id", 256}, {"content", "a"}}}),
            "token \"a\" has number 97 in the vocabulary and 256 in added_tokens");
  EXPECT_EQ(with({{{"id", 257}, {"content", "<m>"}}, {{"id", 258}, {"content", "<m>"}}}),
            "added_tokens[1] has the content of one before it");
  EXPECT_EQ(with({{{"id", 257}, {"content", ""}}}), "added_tokens[0].content is empty");
  EXPECT_EQ(with({{{"id", -5}, {"content", "<m>"}}}), "added_tokens[0].id must be a whole number from 0 to 2147483647");
  EXPECT_EQ(with({{{"content", "<m>"}}}), "added_tokens[0] has no \"id\"");
  EXPECT_EQ(with({7}), "added_tokens[0] must be a JSON object");
}

TEST(HuggingFace, WrongTypesAreRefusedWithTheirPlace) {
  const auto with = [](const char* name, nlohmann::ordered_json value) {
    auto json = TinyFiles({"a b"}).hugging_face();
    json["model"][name] = std::move(value);
    return refusal_of_json(json.dump());
  };
  EXPECT_EQ(with("vocab", 3), "model.vocab must be a JSON object");
  EXPECT_EQ(with("merges", "a b"), "model.merges must be a list");
  EXPECT_EQ(with("merges", {1}), "model.merges[0] must be a list");
  EXPECT_EQ(with("type", 1), "model.type must be a string");
  EXPECT_EQ(with("byte_fallback", "no"), "model.byte_fallback must be true or false");
  EXPECT_EQ(refusal_of_json("{\"model\": []}"), "model must be a JSON object");
  EXPECT_EQ(refusal_of_json(std::string(100, '[')), "nests deeper than 64 levels (at byte 65 of 100)");
}

TEST(HuggingFace, AMergeOfAnAddedTokenIsRefused) {
  auto json = TinyFiles().hugging_face();
  json["model"]["vocab"]["é!"] = 256;  // letters: bytes E9 21
  json["model"]["vocab"]["¡é"] = 257;
  json["added_tokens"] = {{{"id", 257}, {"content", "¡é"}}};  // as it is: bytes C2 A1 C3 A9
  json["model"]["merges"] = {"¡ é"};
  EXPECT_EQ(refusal_of_json(json.dump()), "merge 1 (\"¡\" \"é\") has an added token in it");
}

}  // namespace
}  // namespace tenon::text
