// WordPiece, as BERT has it: texts are spelled and cut into words (bert_words.h), and each word is pieced together from
// the longest tokens of the vocabulary. A list of words is the same without pieces.
//
//   auto tokenizer = text::load_tokenizer("bert-base-uncased/vocab.txt");
//   tokenizer->encode("Hello world!");   // 7592 2088 999
//
// Tokens are not the text: capitals, accents and the blanks between words are lost.

#pragma once

#include <unordered_map>

#include "tenon/text/tokenizer.h"
#include "tenon/text/word_counts.h"
#include "tenon/text/wordpiece_model.h"

namespace tenon::text {

/// What BERT reads: tokens with [CLS] before and [SEP] after, and for each which of two texts it belongs to.
struct BertInput {
  std::vector<int32_t> ids, types;  // the tokens, and 0 or 1 for each
};

/// A WordPiece tokenizer.
///   text::WordPieceCounter counter({.vocabulary = 40});
///   counter.add("hello world hello");
///   text::WordPiece tokenizer(counter.model());
///   tokenizer.decode(tokenizer.encode("Hello world"));  // hello world
class WordPiece : public Tokenizer {
 public:
  explicit WordPiece(WordPieceModel model);
  WordPiece(const WordPiece&) = delete;
  WordPiece& operator=(const WordPiece&) = delete;

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const override;
  std::string_view token(int32_t id) const override;
  int64_t vocabulary() const override { return static_cast<int64_t>(model_.tokens.size()); }
  /// [SEP]
  std::optional<int32_t> end_of_text() const override { return last_; }
  /// [CLS]
  std::optional<int32_t> begin_of_text() const override { return first_; }
  size_t cut(std::string_view text, size_t from) const override;
  std::string_view kind() const override { return "wordpiece"; }
  std::string json() const override;
  /// Words with blanks between, but before a full stop and its like.
  std::string decode(std::span<const int32_t> ids) const override;

  /// A text, or two, between [CLS] and [SEP], cut down to `longest` tokens in all, from the end of the longer text.
  BertInput encode_for_bert(std::string_view text, std::optional<std::string_view> second = std::nullopt,
                            int64_t longest = 512) const;

  /// What it was made of.
  const WordPieceModel& model() const { return model_; }

 private:
  using Ids = std::unordered_map<std::string_view, int32_t>;  // views into model_
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;
  /// The end of the longest token that stands at a place of a word, and its number; the place itself where none does.
  std::pair<size_t, int32_t> longest_at(std::string_view word, size_t begin) const;

  WordPieceModel model_;
  Ids whole_, inside_;  // by their letters: tokens, and those that continue a word
  size_t longest_token_ = 0;
  SpecialTokens specials_;
  std::optional<int32_t> first_, last_;
};

/// How large a vocabulary gets, and how texts are spelled.
struct WordPieceOptions {
  int64_t vocabulary = 8000;   // at most so many tokens, the special ones among them
  int64_t min_count = 2;       // words that occur less often are pieced together from letters
  BertSpelling spelling = {};  // before words are counted
};

/// Makes a vocabulary of texts: [PAD] [UNK] [CLS] [SEP] [MASK], all letters, and the most frequent words.
///   text::WordPieceCounter counter({.vocabulary = 40});
///   counter.add("hello world");
///   counter.model().prefix;  // ##
class WordPieceCounter {
 public:
  explicit WordPieceCounter(const WordPieceOptions& options = {}) : options_(options), words_(options.spelling) {}
  /// Counts the words of a text; makes the vocabulary.
  void add(std::string_view text);
  WordPieceModel model() const;

 private:
  WordPieceOptions options_;
  BertWords words_;
  WordCounts counts_;
};

}  // namespace tenon::text
