// Reading and writing lists of added tokens.

#include "tenon/text/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "tenon/text/json_value.h"

namespace tenon::text {
namespace {

SpecialToken added_token(const JsonView& entry) {
  for (const std::string_view name : {"single_word", "lstrip", "rstrip"}) {
    if (entry.flag(name, false)) entry.at(name).refuse("is not supported");
  }
  SpecialToken token{entry.at("content").text(), entry.at("id").whole(), entry.flag("special", false)};
  if (token.name.empty()) entry.at("content").refuse("is empty");
  return token;
}

}  // namespace

std::vector<SpecialToken> parse_added_tokens(const JsonView& root) {
  std::vector<SpecialToken> tokens;
  if (!root.is_set("added_tokens")) return tokens;
  const JsonView list = root.at("added_tokens");
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < list.list().size(); ++i) {
    tokens.push_back(added_token(list.item(i)));
    if (!names.insert(tokens.back().name).second) list.item(i).refuse("has the content of one before it");
  }
  return tokens;
}

std::string added_tokens_json(std::vector<SpecialToken> tokens) {
  std::ranges::sort(tokens, {}, &SpecialToken::id);
  std::string json = "[";
  for (const SpecialToken& token : tokens) {
    json += fmt::format(
        "{}\n    {{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
        "\"normalized\": false, \"special\": {}}}",
        json.ends_with('[') ? "" : ",", token.id, json_text(token.name), token.is_control ? "true" : "false");
  }
  return json + "\n  ]";
}

}  // namespace tenon::text
