// One token a word, a run of punctuation or white space, over the most frequent ones of a corpus.
//
//   text::WordCounter counter;
//   counter.add("the cat sat on the mat");
//   text::WordTokenizer tokenizer(counter.model({.vocabulary = 100}));
//   tokenizer.decode(tokenizer.encode("the dog sat"));   // "the <unk> sat"
//
// A text is cut as for BPE (pieces.h), with the blank before a word as a token of its own, so that an unknown word
// leaves the blanks around it in place.

#pragma once

#include <unordered_map>

#include "tenon/text/special_tokens.h"
#include "tenon/text/tokenizer.h"
#include "tenon/text/word_counts.h"

namespace tenon::text {

class JsonView;

/// How large a vocabulary gets.
struct WordOptions {
  int64_t vocabulary = 0;        // at most so many tokens, <unk> and <|endoftext|> among them; 0: no limit
  int64_t min_count = 1;         // words that occur less often are unknown
  bool has_end_of_text = false;  // <|endoftext|> is a token
};

/// The words of a vocabulary.
struct WordModel {
  std::vector<std::string> words;  // tokens 1 and up; 0 is <unk>
  bool has_end_of_text = false;    // the last token
};

/// Counts the words of texts.
class WordCounter {
 public:
  /// Counts the words of a text.
  void add(std::string_view text);
  /// The most frequent words, those that come first as bytes before others of the same count.
  WordModel model(const WordOptions& options = {}) const;

 private:
  WordCounts counts_;
};

/// A tokenizer of whole words.
class WordTokenizer : public Tokenizer {
 public:
  /// The token of words that are not in the vocabulary, and its name.
  static constexpr int32_t kUnknown = 0;
  /// The name of that token.
  static constexpr std::string_view kUnknownName = "<unk>";

  explicit WordTokenizer(WordModel model);
  explicit WordTokenizer(const JsonView& document);
  WordTokenizer(const WordTokenizer&) = delete;
  WordTokenizer& operator=(const WordTokenizer&) = delete;

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const override;
  std::string_view token(int32_t id) const override;
  int64_t vocabulary() const override;
  std::optional<int32_t> end_of_text() const override { return specials_.end_of_text(); }
  size_t cut(std::string_view text, size_t from) const override;
  std::string_view kind() const override { return "word"; }
  std::string json() const override;

 private:
  WordModel model_;
  std::unordered_map<std::string_view, int32_t> ids_;  // views into model_
  SpecialTokens specials_;
};

}  // namespace tenon::text
