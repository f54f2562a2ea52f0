// Looking names up: a tree of their bytes, so that a text is compared with all of them at once. Tokenizers with tens of
// thousands of added tokens exist, and comparing each of them at every place took minutes for a page.

#include "tenon/text/special_tokens.h"

#include <algorithm>

namespace tenon::text {

SpecialTokens::SpecialTokens(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  std::ranges::stable_sort(tokens_, std::greater(), [](const SpecialToken& token) { return token.name.size(); });
  if (!tokens_.empty()) longest_ = tokens_.front().name.size();
  for (size_t i = 0; i < tokens_.size(); ++i) {
    uint32_t at = kNone;
    for (const char byte : tokens_[i].name) {
      uint32_t found = next(at, byte);
      if (found == kNone) {
        found = static_cast<uint32_t>(nodes_.size());
        uint32_t& list = at == kNone ? first_[static_cast<unsigned char>(byte)] : nodes_[at].first_next;
        const uint32_t sibling = at == kNone ? kNone : list;
        list = found;
        nodes_.push_back({byte, kNone, sibling, -1});
      }
      at = found;
    }
    if (at != kNone && nodes_[at].token < 0) nodes_[at].token = static_cast<int64_t>(i);  // the first of equal names
  }
}

/// The node behind another one, or the first of a name.
uint32_t SpecialTokens::next(uint32_t node, char byte) const {
  if (node == kNone) return first_[static_cast<unsigned char>(byte)];
  uint32_t found = nodes_[node].first_next;
  while (found != kNone && nodes_[found].byte != byte) found = nodes_[found].sibling;
  return found;
}

template <typename F>
void SpecialTokens::for_each_at_start(std::string_view text, F&& f) const {
  uint32_t at = kNone;
  for (size_t length = 1; length <= std::min(longest_, text.size()); ++length) {
    at = next(at, text[length - 1]);
    if (at == kNone) return;
    const int64_t token = nodes_[at].token;
    if (token >= 0 && !f(tokens_[static_cast<size_t>(token)], length)) return;
  }
}

const SpecialToken* SpecialTokens::named_at_start(std::string_view text) const {
  const SpecialToken* longest = nullptr;
  for_each_at_start(text, [&](const SpecialToken& token, size_t) { return (longest = &token) != nullptr; });
  return longest;
}

std::optional<int32_t> SpecialTokens::find(std::string_view name) const {
  const SpecialToken* found = name.empty() ? nullptr : named_at_start(name);
  return found && found->name == name ? std::optional(found->id) : std::nullopt;
}

std::optional<int32_t> SpecialTokens::end_of_text() const {
  for (const std::string_view name : {kEndOfText, std::string_view("<|end_of_text|>"), std::string_view("</s>")}) {
    if (const std::optional<int32_t> id = find(name)) return id;
  }
  return std::nullopt;
}

bool SpecialTokens::is_cut(std::string_view text, size_t at) const {
  bool is_inside = false;
  for (size_t begin = at - std::min(at, longest_ - std::min<size_t>(longest_, 1)); begin < at && !is_inside; ++begin) {
    for_each_at_start(text.substr(begin), [&](const SpecialToken&, size_t length) {
      is_inside = begin + length > at;
      return !is_inside;
    });
  }
  return is_inside;
}

}  // namespace tenon::text
