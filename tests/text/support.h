// What the tests of text share: small vocabularies, text at random, and what a refusal says.

#pragma once

#include <nlohmann/json.hpp>
#include <random>

#include "tenon/text/bpe.h"
#include "tenon/text/byte_letters.h"
#include "tenon/text/load.h"
#include "tests/io/support.h"

namespace tenon::text {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;
using Lines = std::vector<std::string>;

/// A vocabulary of all bytes (token b is byte b) and what the merges make, as vocab.json and merges.txt would have it.
struct TinyFiles {
  nlohmann::ordered_json vocabulary = nlohmann::ordered_json::object();
  std::string merges = "#version: 0.2\n";

  /// Merges such as "a b", without blanks inside a part.
  explicit TinyFiles(const Lines& pairs = {}) {
    for (int byte = 0; byte < 256; ++byte) vocabulary[to_letters(std::string(1, static_cast<char>(byte)))] = byte;
    for (const std::string& pair : pairs) {
      const size_t blank = pair.find(' ');
      const std::string token = pair.substr(0, blank) + pair.substr(blank + 1);
      if (!vocabulary.contains(token)) vocabulary[token] = vocabulary.size();
      merges += pair + "\n";
    }
  }
  std::string vocabulary_text() const { return vocabulary.dump(); }
  Bpe tokenizer() const {
    const std::string text = vocabulary_text();
    return Bpe(parse_bpe_files({"tokenizer", "vocab.json", std::as_bytes(std::span(text))},
                               {"tokenizer", "merges.txt", std::as_bytes(std::span(merges))}));
  }
  /// The same as Hugging Face's tokenizer.json.
  nlohmann::ordered_json hugging_face() const {
    nlohmann::ordered_json json{{"version", "1.0"},
                                {"added_tokens", nlohmann::ordered_json::array()},
                                {"normalizer", nullptr},
                                {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                                {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Lines()}}}};
    std::istringstream lines(merges);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) json["model"]["merges"].push_back(line);
    return json;
  }
};

inline std::unique_ptr<Tokenizer> from_json(const std::string& text) {
  return parse_tokenizer_json({"tokenizer", "tokenizer.json", std::as_bytes(std::span(text))});
}
/// What a tokenizer.json is refused with, less its name; must be one line.
inline std::string refusal_of_json(const std::string& text) {
  return io::refusal_by("tokenizer", "tokenizer.json", [&] { from_json(text); });
}

/// Text of the parts that decide where pieces end, valid UTF-8 or not.
inline std::string random_text(std::mt19937& random, size_t parts) {
  static const Lines kParts = {" ",        " ",
                               "  ",       "\n",
                               "\t",       "a",
                               "B",        "xyz",
                               "'",        "'s",
                               "'l",       "ll",
                               "'",        "re",
                               "1",        "23",
                               ".",        "!?",
                               "-",        "\r\n",
                               "é",        "ß",
                               "日",       "\u00A0",
                               "\u2003",   "\u3000",
                               "\u180E",   "٣",
                               "Ⅷ",        "👍",
                               "̈",         "€",
                               "\v",       "\xC2\x85",
                               "\x1C",     "_",
                               "\xFF",     "\xE2\x82",
                               "\xC0",     "\x80",
                               "日本",     "ж",
                               "²",        "¿",
                               "\u2028",   "\u200B",
                               "\xF0\x9F", "\xED\xA0\x80",
                               "\u1680",   std::string(1, '\0')};
  std::string text;
  for (size_t i = 0; i < parts; ++i) text += kParts[random() % kParts.size()];
  return text;
}
inline std::string random_bytes(std::mt19937& random, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(random() & 0xFF);
  return bytes;
}

}  // namespace tenon::text
