// Characters as tokens.

#include "tenon/text/char_tokenizer.h"

#include <algorithm>

#include "tenon/text/file.h"
#include "tenon/text/json_value.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

constexpr uint32_t kLoneByte = 0x110000;  // behind the last code point
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

uint32_t key_of(const Symbol& symbol) { return symbol.is_valid ? symbol.code : kLoneByte + symbol.code; }

CharModel parse_model(const JsonView& document) {
  CharModel model;
  const JsonView characters = document.at("characters"), bytes = document.at("bytes");
  for (size_t i = 0; i < characters.list().size(); ++i) {
    const std::string& text = characters.item(i).text();
    const Symbol symbol = text.empty() ? Symbol{0, 0, false} : first_symbol(text);
    if (!symbol.is_valid || symbol.length != text.size()) characters.item(i).refuse("must be one character");
    if (!model.characters.empty() && model.characters.back() >= symbol.code) {
      characters.item(i).refuse("must come after the one before it: characters are in the order of their code points");
    }
    model.characters.push_back(symbol.code);
  }
  for (size_t i = 0; i < bytes.list().size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes.item(i).whole(255));
    if (byte < 0x80) bytes.item(i).refuse("must be from 128 to 255: others are characters");
    if (!model.bytes.empty() && model.bytes.back() >= byte) bytes.item(i).refuse("must be above the one before it");
    model.bytes.push_back(byte);
  }
  model.has_unknown = document.flag("unknown", false);
  model.has_end_of_text = document.flag("end_of_text", false);
  return model;
}

}  // namespace

void CharCounter::add(std::string_view text) {
  while (!text.empty()) {
    const Symbol symbol = first_symbol(text);
    if (symbol.is_valid)
      characters_.insert(symbol.code);
    else
      bytes_.insert(static_cast<uint8_t>(symbol.code));
    text.remove_prefix(symbol.length);
  }
}

CharModel CharCounter::model(bool has_unknown, bool has_end_of_text) const {
  return {{characters_.begin(), characters_.end()}, {bytes_.begin(), bytes_.end()}, has_unknown, has_end_of_text};
}

CharTokenizer::CharTokenizer(const JsonView& document) : CharTokenizer(parse_model(document)) {}

CharTokenizer::CharTokenizer(CharModel model) : model_(std::move(model)) {
  const auto add = [&](std::string token) {
    tokens_.push_back(std::move(token));
    return static_cast<int32_t>(tokens_.size() - 1);
  };
  for (const uint32_t code : model_.characters) {
    std::string character;
    append_utf8(character, code);
    ids_.emplace(code, add(std::move(character)));
  }
  for (const uint8_t byte : model_.bytes) ids_.emplace(kLoneByte + byte, add(std::string(1, static_cast<char>(byte))));
  if (model_.has_unknown) unknown_ = add(std::string(kReplacement));
  if (model_.has_end_of_text) {
    const int32_t id = add(std::string(kEndOfText));
    specials_ = SpecialTokens({{std::string(kEndOfText), id}});
  }
}

void CharTokenizer::encode(std::string_view text, std::vector<int32_t>& ids, Special special) const {
  specials_.split(
      text, special, [&](std::string_view part) { encode_part(part, ids); }, [&](int32_t id) { ids.push_back(id); });
}

void CharTokenizer::encode_part(std::string_view text, std::vector<int32_t>& ids) const {
  while (!text.empty()) {
    const Symbol symbol = first_symbol(text);
    const int32_t* id = ids_.find(key_of(symbol));
    if (!id && !unknown_) {
      const std::string shown = io::in_quotes(text.substr(0, symbol.length));
      base::fail(kFormat, "{} ({} {:04X}) is not among the {} characters of this vocabulary, which has no <unk>", shown,
                 symbol.is_valid ? "code point" : "byte", symbol.code, model_.characters.size() + model_.bytes.size());
    }
    ids.push_back(id ? *id : *unknown_);
    text.remove_prefix(symbol.length);
  }
}

std::string_view CharTokenizer::token(int32_t id) const {
  check_id(id, vocabulary());
  return tokens_[static_cast<size_t>(id)];
}

size_t CharTokenizer::cut(std::string_view text, size_t from) const {
  const auto is_inside = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (from < text.size() && (is_inside(from) || specials_.is_cut(text, from))) ++from;
  return std::min(from, text.size());
}

std::string CharTokenizer::json() const {
  std::vector<std::string> quoted;
  for (size_t i = 0; i < model_.characters.size(); ++i) quoted.push_back(json_text(tokens_[i]));
  return fmt::format(
      "{{\n  \"tenon_tokenizer\": \"char\",\n  \"characters\": [{}],\n  \"bytes\": [{}],\n  \"unknown\": {},\n"
      "  \"end_of_text\": {}\n}}\n",
      fmt::join(quoted, ", "), fmt::join(model_.bytes, ", "), model_.has_unknown, model_.has_end_of_text);
}

}  // namespace tenon::text
