// A WordPiece vocabulary as data: what its files say, checked, before it is made into a tokenizer.

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tenon/io/input.h"
#include "tenon/text/bert_words.h"
#include "tenon/text/special_tokens.h"

namespace tenon::text {

class JsonView;

/// A vocabulary, and how texts are cut by it.
struct WordPieceModel {
  std::vector<std::string> tokens;     // by number
  std::vector<SpecialToken> specials;  // [CLS], [SEP] and their like
  int32_t unknown = 0;                 // the token of words that cannot be pieced together
  std::string prefix = "##";           // of the pieces inside of a word
  int64_t longest_word = 100;          // in characters; a longer one is unknown
  BertSpelling spelling;               // of texts, before they are cut
  bool cleans_up = true;               // decoding leaves out the blank before a full stop and its like
};

/// A list of tokens, one a line, numbered from 0: BERT's vocab.txt or a list of words. A list that has no token for the
/// unknown is given one, <unk>, after its last line. Where `settings`, a tokenizer_config.json, does not say how texts
/// are spelled, they are put into lower case unless a token has capitals.
WordPieceModel parse_vocabulary_lines(const io::Input& vocabulary, const io::Input* settings = nullptr);

/// tokenizer.json of Hugging Face: a model of type WordPiece after BERT's normalizer and pre-tokenizer. What would
/// change the tokens and is not done here is refused by name.
WordPieceModel parse_hugging_face_wordpiece(const JsonView& root);

/// Writes vocab.txt, one token a line, and tokenizer_config.json, by which transformers reads it: the same tokenizer as
/// that of hugging_face_json for programs that know no tokenizer.json.
///   text::WordPieceCounter counter({.vocabulary = 40});
///   counter.add("hello world");
///   text::save_vocabulary_lines(counter.model(), ".");
void save_vocabulary_lines(const WordPieceModel& model, const std::filesystem::path& folder);

/// The model as a tokenizer.json that this room and Hugging Face read.
std::string hugging_face_json(const WordPieceModel& model);

/// The number of the first of these names that is a special token.
std::optional<int32_t> special_named(const std::vector<SpecialToken>& specials,
                                     std::initializer_list<std::string_view> names);
/// What stands before a text ([CLS]) and after it ([SEP]), where the vocabulary has it.
std::optional<int32_t> first_token(const WordPieceModel& model);
std::optional<int32_t> last_token(const WordPieceModel& model);

}  // namespace tenon::text
