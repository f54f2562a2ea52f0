// Texts as a BERT reads them: tokens of several texts side by side, filled up to the longest.
//
//   const auto tokenizer = models::load_wordpiece("bert-base-uncased");
//   Tensor logits = model->logits(models::bert_tokens(*tokenizer, {"Good.", "Not so good."}));

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tenon/models/bert.h"
#include "tenon/text/wordpiece.h"

namespace tenon::models {

/// The tokens of texts, or of pairs of texts where there are `seconds`, between [CLS] and [SEP]: ids, mask and types
/// (texts, tokens), none longer than `longest`, which is the model's positions.
BertTokens bert_tokens(const text::WordPiece& tokenizer, const std::vector<std::string>& texts, int64_t longest = 512,
                       const std::vector<std::string>& seconds = {}, Device device = {});

/// The number that texts are filled up with: [PAD], or 0 where the vocabulary has none.
///   text::WordPieceCounter counter({.vocabulary = 40});
///   counter.add("hello world");
///   models::padding_token(text::WordPiece(counter.model()));  // 0
int32_t padding_token(const text::WordPiece& tokenizer);

/// A tokenizer that was read from a path, as a WordPiece; fails with one line where it is of another kind.
std::shared_ptr<const text::WordPiece> as_wordpiece(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                    const std::filesystem::path& path);
/// text::load_tokenizer() of a vocabulary for a BERT; fails with one line where it is of another kind.
std::shared_ptr<const text::WordPiece> load_wordpiece(const std::filesystem::path& path);
std::shared_ptr<const text::WordPiece> load_wordpiece(const io::OpenFolder& folder);

}  // namespace tenon::models
