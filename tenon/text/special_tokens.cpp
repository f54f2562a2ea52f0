// Looking names up: there are few, so a table of first bytes and a comparison with each name do.

#include "tenon/text/special_tokens.h"

#include <algorithm>

namespace tenon::text {

SpecialTokens::SpecialTokens(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::stable_sort(tokens_, std::greater(), [](const SpecialToken& token) { return token.name.size(); });
  for (const SpecialToken& token : tokens_) is_first_[static_cast<unsigned char>(token.name[0])] = true;
  if (!tokens_.empty()) longest_ = tokens_.front().name.size();
}

const SpecialToken* SpecialTokens::named_at_start(std::string_view text) const {
  for (const SpecialToken& token : tokens_) {
    if (text.starts_with(token.name)) return &token;
  }
  return nullptr;
}

std::optional<int32_t> SpecialTokens::find(std::string_view name) const {
  for (const SpecialToken& token : tokens_) {
    if (token.name == name) return token.id;
  }
  return std::nullopt;
}

std::optional<int32_t> SpecialTokens::end_of_text() const {
  for (const std::string_view name : {kEndOfText, std::string_view("<|end_of_text|>"), std::string_view("</s>")}) {
    if (const std::optional<int32_t> id = find(name)) return id;
  }
  return std::nullopt;
}

bool SpecialTokens::is_cut(std::string_view text, size_t at) const {
  for (size_t begin = at - std::min(at, longest_ - std::min<size_t>(longest_, 1)); begin < at; ++begin) {
    for (const SpecialToken& token : tokens_) {
      if (begin + token.name.size() > at && text.substr(begin).starts_with(token.name)) return true;
    }
  }
  return false;
}

}  // namespace tenon::text
