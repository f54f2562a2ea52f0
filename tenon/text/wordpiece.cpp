// Piecing words together, and making vocabularies of words.

#include "tenon/text/wordpiece.h"

#include <algorithm>
#include <set>

#include "tenon/base/error.h"
#include "tenon/text/file.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

constexpr std::string_view kBertSpecials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

int64_t characters_of(std::string_view word) {
  return std::ranges::count_if(word, [](char byte) { return !continues_character(byte); });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// As Hugging Face's decoder does it, to one token at a time.
void clean_up(std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kSpellings) replace_all(word, from, to);
}

}  // namespace

WordPiece::WordPiece(WordPieceModel model)
    : model_(std::move(model)), specials_(model_.specials), first_(first_token(model_)), last_(last_token(model_)) {
  for (size_t id = 0; id < model_.tokens.size(); ++id) {
    const std::string_view token = model_.tokens[id];
    whole_.emplace(token, static_cast<int32_t>(id));
    if (token.starts_with(model_.prefix)) inside_.emplace(token.substr(model_.prefix.size()), static_cast<int32_t>(id));
    longest_token_ = std::max(longest_token_, token.size());
  }
}

std::pair<size_t, int32_t> WordPiece::longest_at(std::string_view word, size_t begin) const {
  const Ids& ids = begin == 0 ? whole_ : inside_;
  for (size_t end = std::min(word.size(), begin + longest_token_); end > begin; --end) {
    if (end < word.size() && continues_character(word[end])) continue;
    const auto found = ids.find(word.substr(begin, end - begin));
    if (found != ids.end()) return {end, found->second};
  }
  return {begin, model_.unknown};
}

void WordPiece::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  const bool is_long = static_cast<int64_t>(word.size()) > model_.longest_word;
  bool is_known = !is_long || characters_of(word) <= model_.longest_word;
  for (size_t at = 0; is_known && at < word.size();) {
    const auto [end, id] = longest_at(word, at);
    is_known = end > at;
    ids.push_back(id);
    at = end;
  }
  if (is_known) return;
  ids.resize(before);
  ids.push_back(model_.unknown);
}

void WordPiece::encode(std::string_view text, std::vector<int32_t>& ids, Special special) const {
  BertWords words(model_.spelling);
  specials_.split(
      text, special,
      [&](std::string_view part) { words.for_each(part, [&](std::string_view word) { encode_word(word, ids); }); },
      [&](int32_t id) { ids.push_back(id); });
}

std::string_view WordPiece::token(int32_t id) const {
  check_id(id, vocabulary());
  return model_.tokens[static_cast<size_t>(id)];
}

size_t WordPiece::cut(std::string_view text, size_t from) const {
  for (size_t at = std::max<size_t>(from, 1); at < text.size(); ++at) {
    if ((text[at] == ' ' || text[at] == '\n') && !specials_.is_cut(text, at)) return at;
  }
  return text.size();
}

std::string WordPiece::json() const { return hugging_face_json(model_); }

std::string WordPiece::decode(std::span<const int32_t> ids) const {
  std::string text, word;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view token = this->token(ids[i]);
    if (i == 0)
      word = token;
    else if (!model_.prefix.empty() && token.starts_with(model_.prefix))
      word = token.substr(model_.prefix.size());
    else
      word = " " + std::string(token);
    if (model_.cleans_up) clean_up(word);
    text += word;
  }
  return text;
}

BertInput WordPiece::encode_for_bert(std::string_view text, std::optional<std::string_view> second,
                                     int64_t longest) const {
  if (!first_ || !last_) base::fail(kFormat, "this vocabulary has no [CLS] and [SEP], which BERT reads around a text");
  const int64_t around = second ? 3 : 2;
  if (longest < around) base::fail(kFormat, "{} tokens have no room for [CLS] and [SEP]", longest);
  std::vector<int32_t> parts[2];
  encode(text, parts[0]);
  if (second) encode(*second, parts[1]);
  while (std::ssize(parts[0]) + std::ssize(parts[1]) > longest - around) {
    std::vector<int32_t>& longer = parts[0].size() > parts[1].size() ? parts[0] : parts[1];
    longer.pop_back();
  }
  BertInput input;
  input.ids.push_back(*first_);
  for (int32_t part = 0; part < (second ? 2 : 1); ++part) {
    input.ids.insert(input.ids.end(), parts[part].begin(), parts[part].end());
    input.ids.push_back(*last_);
    input.types.resize(input.ids.size(), part);
  }
  return input;
}

void WordPieceCounter::add(std::string_view text) {
  words_.for_each(text, [&](std::string_view word) { counts_.add(word); });
}

WordPieceModel WordPieceCounter::model() const {
  std::set<std::string> letters;
  std::vector<std::pair<std::string_view, int64_t>> kept;
  counts_.for_each([&](std::string_view word, int64_t count) {
    if (count >= options_.min_count && characters_of(word) > 1) kept.emplace_back(word, count);
    for (size_t at = 0; at < word.size();) {
      const Symbol symbol = first_symbol(word.substr(at));
      letters.emplace(word.substr(at, symbol.length));
      at += symbol.length;
    }
  });
  WordPieceModel model;
  model.spelling = options_.spelling;
  for (const std::string_view name : kBertSpecials) {
    model.specials.push_back({std::string(name), static_cast<int32_t>(model.tokens.size())});
    model.tokens.emplace_back(name);
  }
  model.unknown = 1;
  for (const std::string& letter : letters) model.tokens.push_back(letter);
  for (const std::string& letter : letters) model.tokens.push_back(model.prefix + letter);
  const int64_t room = options_.vocabulary - std::ssize(model.tokens);
  if (room < 0) {
    base::fail(kFormat, "a vocabulary of {} has no room for the {} letters of the texts, alone and inside of words",
               options_.vocabulary, letters.size());
  }
  std::ranges::sort(kept, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  kept.resize(std::min(kept.size(), static_cast<size_t>(room)));
  for (const auto& [word, count] : kept) model.tokens.emplace_back(word);
  return model;
}

}  // namespace tenon::text
