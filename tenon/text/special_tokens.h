// Special tokens: names such as <|endoftext|> that stand for one token each wherever a caller allows them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/text/tokenizer.h"

namespace tenon::text {

/// What separates documents, where nothing else is said.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// A token that stands for a name.
struct SpecialToken {
  std::string name;  // as texts have it
  int32_t id = 0;    // its number
  /// What Hugging Face calls special: left out of a text that is decoded for reading. Others are just never split.
  bool is_control = true;
};

/// Finds special tokens in a text: the first one, and of several that start at the same place the longest.
class SpecialTokens {
 public:
  SpecialTokens() = default;
  explicit SpecialTokens(std::vector<SpecialToken> tokens);

  const std::vector<SpecialToken>& all() const { return tokens_; }
  std::optional<int32_t> find(std::string_view name) const;
  /// What separates documents, by the names that are in use for it.
  std::optional<int32_t> end_of_text() const;

  /// Whether a cut at this place would go through a name.
  bool is_cut(std::string_view text, size_t at) const;

  /// Calls on_text(part) and on_token(id) for everything in a text, in order; no part is empty.
  template <typename OnText, typename OnToken>
  void split(std::string_view text, Special special, OnText&& on_text, OnToken&& on_token) const {
    size_t begin = 0;
    for (size_t at = 0; special == Special::kAllowed && !tokens_.empty() && at < text.size();) {
      const SpecialToken* found = at_start(text.substr(at));
      if (!found) {
        ++at;
        continue;
      }
      if (at > begin) on_text(text.substr(begin, at - begin));
      on_token(found->id);
      begin = at = at + found->name.size();
    }
    if (begin < text.size()) on_text(text.substr(begin));
  }

 private:
  static constexpr uint32_t kNone = 0;

  /// A byte of a name, behind those that lead to it.
  struct TrieNode {
    char byte = 0;
    uint32_t first_next = kNone, sibling = kNone;  // nodes
    int64_t token = -1;                            // whose name ends here
  };

  const SpecialToken* at_start(std::string_view text) const {
    return first_[static_cast<unsigned char>(text[0])] != kNone ? named_at_start(text) : nullptr;
  }
  const SpecialToken* named_at_start(std::string_view text) const;
  uint32_t next(uint32_t node, char byte) const;
  /// Calls f(token, length) for every name that the text starts with, the shortest first, until it returns false.
  template <typename F>
  void for_each_at_start(std::string_view text, F&& f) const;

  std::vector<SpecialToken> tokens_;   // the longest names first
  std::vector<TrieNode> nodes_;        // of all names, as a tree; the first one is none of them
  std::array<uint32_t, 256> first_{};  // the nodes that names start with
  size_t longest_ = 0;
};

}  // namespace tenon::text
