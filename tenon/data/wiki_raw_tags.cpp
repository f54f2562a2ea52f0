// The first pass: comments, and tags whose content does not follow the rules of markup. They come first because what is
// in them may look like any bracket.

#include <array>

#include "tenon/data/wiki_markup.h"

namespace tenon::data::wiki {
namespace {

/// Tags that vanish with what is in them.
constexpr std::array<std::string_view, 18> kDropped = {
    "ref",   "references",      "math",   "chem",           "ce",       "gallery",      "timeline", "score", "imagemap",
    "graph", "syntaxhighlight", "source", "templatestyles", "inputbox", "categorytree", "hiero",    "style", "script"};
constexpr std::array<std::string_view, 2> kKept = {"nowiki", "pre"};

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kLongestTag = 1000;  // a mark of the beginning of a tag without an end must not be searched for ever

bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

class RawTags {
 public:
  explicit RawTags(std::string_view markup) : markup_(markup) { closer_is_missing_.fill(false); }

  std::string without() {
    static constexpr CharSet kSpecial("<", true);
    while (at_ < markup_.size()) {
      kSpecial.copy_others(markup_, at_, out_);
      if (at_ == markup_.size()) break;
      const char c = markup_[at_];
      if (c == '<' && (comment() || tag())) continue;
      const bool is_control = static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t';
      if (!is_control) out_ += c;
      ++at_;
    }
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return markup_.substr(at_); }

  bool comment() {
    if (!rest().starts_with("<!--")) return false;
    const size_t end = markup_.find("-->", at_ + 4);
    at_ = end == kNone ? markup_.size() : end + 3;
    const bool was_a_line = (out_.empty() || out_.back() == '\n') && rest().starts_with('\n');
    if (was_a_line) ++at_;
    return true;
  }

  bool tag() {
    for (size_t i = 0; i < kDropped.size() + kKept.size(); ++i) {
      const bool keeps = i >= kDropped.size();
      const std::string_view name = keeps ? kKept[i - kDropped.size()] : kDropped[i];
      if (!begins(rest().substr(1), name)) continue;
      const char after = at_ + 1 + name.size() < markup_.size() ? markup_[at_ + 1 + name.size()] : ' ';
      if (is_letter(after) || (after >= '0' && after <= '9')) continue;
      const size_t length = tag_length(rest());
      if (length == 0) return false;
      const bool closes_itself = rest()[length - 2] == '/';
      at_ += length;
      if (!closes_itself) content(name, i, keeps);
      return true;
    }
    return false;
  }

  /// Passes over what stands before the closing tag, and that tag. Without one, only the opening tag vanishes.
  void content(std::string_view name, size_t index, bool keeps) {
    size_t end = closer_is_missing_[index] ? kNone : find_closer(name);
    if (end == kNone) {
      closer_is_missing_[index] = true;  // nor will there be one for the next such tag: not searched again
      return;
    }
    if (keeps) {
      for (const char c : markup_.substr(at_, end - at_)) protect(c);
    }
    const size_t close = markup_.find('>', end);
    at_ = close == kNone ? markup_.size() : close + 1;
  }

  size_t find_closer(std::string_view name) const {
    for (size_t at = markup_.find("</", at_); at != kNone; at = markup_.find("</", at + 2)) {
      if (begins(markup_.substr(at + 2), name)) return at;
    }
    return kNone;
  }

  void protect(char c) {
    const size_t special = kProtected.find(c);
    if (special != kNone) {
      out_ += static_cast<char>(kFirstProtected + static_cast<char>(special));
    } else if (static_cast<unsigned char>(c) >= ' ' || c == '\t') {
      out_ += c;
    }
  }

  std::string_view markup_;
  size_t at_ = 0;
  std::string out_;
  std::array<bool, kDropped.size() + kKept.size()> closer_is_missing_;
};

}  // namespace

size_t tag_length(std::string_view text) {
  if (text.size() < 3 || text[0] != '<') return 0;
  const bool is_tag = is_letter(text[1]) || (text[1] == '/' && is_letter(text[2]));
  if (!is_tag) return 0;
  text = text.substr(0, kLongestTag);
  char quote = 0;
  for (size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"') {
      quote = c;
    } else if (c == '>') {
      return at + 1;
    } else if (c == '<') {
      return 0;
    }
  }
  const size_t end = text.find('>');  // a quote that never closes is no quote
  return end == kNone ? 0 : end + 1;
}

std::string without_raw_tags(std::string_view markup) { return RawTags(markup).without(); }

}  // namespace tenon::data::wiki
