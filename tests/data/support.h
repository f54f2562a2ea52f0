// What the tests of data share: a tokenizer of bytes, and short ways to make token files.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "tenon/data/corpus.h"
#include "tenon/data/token_file.h"
#include "tenon/data/tokens.h"
#include "tenon/text/tokenizer.h"
#include "tests/error_text.h"
#include "tests/io/support.h"

namespace tenon::data {

namespace fs = std::filesystem;
using io::content_of;
using io::FileSizeLimit;
using io::InFolder;

/// A token for each byte, and 256 for the end of a text; unlike that of text/, with any vocabulary.
class ByteTokenizer : public text::Tokenizer {
 public:
  explicit ByteTokenizer(int64_t vocabulary = 257, bool ends = true) : vocabulary_(vocabulary), ends_(ends) {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i);
  }
  void encode(std::string_view text, std::vector<int32_t>& ids, text::Special) const override {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  std::string_view token(int32_t id) const override {
    if (id < 256) return {&bytes_.at(static_cast<size_t>(id)), 1};
    return id == 256 ? "<|endoftext|>" : "unused";
  }
  int64_t vocabulary() const override { return vocabulary_; }
  std::optional<int32_t> end_of_text() const override { return ends_ ? std::optional(256) : std::nullopt; }
  std::string_view kind() const override { return "byte"; }
  std::string json() const override { return "{}"; }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) text += token(id);
    return text;
  }

 private:
  int64_t vocabulary_;
  bool ends_;
  std::array<char, 256> bytes_{};
};

/// While alive, this process may do only what anyone may. Root alone can change so; others are no more than that.
class AsNobody {
 public:
  AsNobody() : before_(geteuid()) {
    if (before_ == 0 && seteuid(65534) != 0) throw std::runtime_error("root could not step down");
  }
  ~AsNobody() {
    if (before_ == 0 && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t before_;
};

inline std::vector<int32_t> counting(int64_t count, int32_t below = 50000) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) tokens[static_cast<size_t>(i)] = static_cast<int32_t>(i % below);
  return tokens;
}

inline std::vector<int32_t> all_of(const Tokens& tokens) {
  std::vector<int32_t> all(static_cast<size_t>(tokens.size()));
  tokens.copy(0, all);
  return all;
}
inline std::vector<int32_t> tokens_in(const fs::path& file) { return all_of(Tokens(TokenFile::open(file))); }

/// The documents a reader gives, pieces of one joined.
inline std::vector<std::string> documents_of(DocumentReader& reader) {
  std::vector<std::string> documents;
  Piece piece;
  while (reader.next(piece)) {
    if (piece.begins_document) documents.emplace_back();
    documents.back() += shown_text(piece);
  }
  return documents;
}

inline void write_tokens(const fs::path& file, std::span<const int32_t> tokens, int64_t vocabulary) {
  TokenFileWriter writer(file, {.vocabulary = vocabulary});
  writer.append(tokens);
  writer.end_document();
  writer.commit();
}

}  // namespace tenon::data
