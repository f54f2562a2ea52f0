// Words as tokens.

#include "tenon/text/word_tokenizer.h"

#include <algorithm>

#include "tenon/text/byte_letters.h"
#include "tenon/text/file.h"
#include "tenon/text/json_value.h"
#include "tenon/text/pieces.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

template <typename OnWord>
void for_each_word(std::string_view text, OnWord&& on_word) {
  PieceMatcher matcher;
  Pieces pieces(text, matcher);
  for (std::string_view piece; pieces.next(piece);) {
    if (piece.size() > 1 && piece[0] == ' ' && !ends_in_space(piece)) {
      on_word(piece.substr(0, 1));
      piece.remove_prefix(1);
    }
    on_word(piece);
  }
}

WordModel parse_model(const JsonView& document) {
  WordModel model;
  const JsonView words = document.at("words");
  for (size_t i = 0; i < words.list().size(); ++i) {
    const std::optional<std::string> word = from_letters(words.item(i).text());
    if (!word || word->empty()) words.item(i).refuse("is not a word in the letters of GPT-2's files");
    model.words.push_back(*word);
  }
  model.has_end_of_text = document.flag("end_of_text", false);
  std::vector<std::string_view> sorted(model.words.begin(), model.words.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) words.refuse(fmt::format("has {} twice", io::in_quotes(*twice)));
  return model;
}

}  // namespace

void WordCounter::add(std::string_view text) {
  for_each_word(text, [&](std::string_view word) { counts_.add(word); });
}

WordModel WordCounter::model(const WordOptions& options) const {
  const int64_t reserved = 1 + options.has_end_of_text;
  if (options.vocabulary != 0 && options.vocabulary <= reserved) {
    base::fail(kFormat, "a vocabulary of {} has no room for words", options.vocabulary);
  }
  std::vector<std::pair<std::string_view, int64_t>> kept;
  counts_.for_each([&](std::string_view word, int64_t count) {
    if (count >= options.min_count) kept.emplace_back(word, count);
  });
  std::ranges::sort(kept, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (options.vocabulary != 0) kept.resize(std::min(kept.size(), static_cast<size_t>(options.vocabulary - reserved)));
  WordModel model;
  model.has_end_of_text = options.has_end_of_text;
  for (const auto& [word, count] : kept) model.words.emplace_back(word);
  return model;
}

WordTokenizer::WordTokenizer(const JsonView& document) : WordTokenizer(parse_model(document)) {}

WordTokenizer::WordTokenizer(WordModel model) : model_(std::move(model)) {
  for (size_t i = 0; i < model_.words.size(); ++i) ids_.emplace(model_.words[i], static_cast<int32_t>(i + 1));
  if (model_.has_end_of_text) {
    specials_ = SpecialTokens({{std::string(kEndOfText), static_cast<int32_t>(model_.words.size() + 1)}});
  }
}

void WordTokenizer::encode(std::string_view text, std::vector<int32_t>& ids, Special special) const {
  const auto on_word = [&](std::string_view word) {
    const auto found = ids_.find(word);
    ids.push_back(found == ids_.end() ? kUnknown : found->second);
  };
  specials_.split(
      text, special, [&](std::string_view part) { for_each_word(part, on_word); },
      [&](int32_t id) { ids.push_back(id); });
}

std::string_view WordTokenizer::token(int32_t id) const {
  check_id(id, vocabulary());
  if (id == kUnknown) return kUnknownName;
  if (end_of_text() == id) return kEndOfText;
  return model_.words[static_cast<size_t>(id - 1)];
}

int64_t WordTokenizer::vocabulary() const {
  return static_cast<int64_t>(1 + model_.words.size() + (model_.has_end_of_text ? 1 : 0));
}

size_t WordTokenizer::cut(std::string_view text, size_t from) const {
  size_t at = cut_between_pieces(text, from);
  while (at < text.size() && specials_.is_cut(text, at)) at = cut_between_pieces(text, at + 1);
  return at;
}

std::string WordTokenizer::json() const {
  std::vector<std::string> quoted;
  for (const std::string& word : model_.words) quoted.push_back(json_text(to_letters(word)));
  return fmt::format("{{\n  \"tenon_tokenizer\": \"word\",\n  \"end_of_text\": {},\n  \"words\": [{}]\n}}\n",
                     model_.has_end_of_text, fmt::join(quoted, ", "));
}

}  // namespace tenon::text
