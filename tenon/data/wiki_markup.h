// The plain text of a Wikipedia article: what a reader sees between the pictures, tables and footnotes.
//
//   data::plain_text("'''Tea''' is a [[drink|hot drink]].<ref>x</ref>")   // "Tea is a hot drink."
//
// Three passes, each linear in the text whatever the text is: tags whose content is no markup (wiki_raw_tags.cpp),
// nested brackets (wiki_brackets.cpp), then lines and what stands in them (wiki_lines.cpp).

#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tenon::data {

/// Never fails: markup that is broken is taken for text. Paragraphs, headings and list entries are lines.
std::string plain_text(std::string_view markup);

namespace wiki {

/// Without comments, references, formulas and the like. What <nowiki> and <pre> protect has its special characters
/// replaced by control characters, which no other text holds afterwards.
std::string without_raw_tags(std::string_view markup);
/// Without templates, tables, files and categories; links are what they show.
std::string without_brackets(std::string_view markup);
/// Without headings' signs, list signs, quotes, tags and entities; protected characters are themselves again.
std::string without_inline_markup(std::string_view markup);

/// The characters that <nowiki> protects; the one at place i travels as kFirstProtected + i.
inline constexpr std::string_view kProtected = "{}[]|'=*#:;<>&_-\n";
inline constexpr char kFirstProtected = 14;

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
/// Whether text begins so, in letters of any case; the beginning is given in small ones.
inline bool begins(std::string_view text, std::string_view small_letters) {
  if (text.size() < small_letters.size()) return false;
  for (size_t i = 0; i < small_letters.size(); ++i) {
    if (lower(text[i]) != small_letters[i]) return false;
  }
  return true;
}

/// A set of characters that a pass has to look at; text between them is copied in runs.
class CharSet {
 public:
  constexpr explicit CharSet(std::string_view characters, bool with_controls = false) {
    for (const char c : characters) has_[static_cast<unsigned char>(c)] = true;
    for (size_t c = 0; with_controls && c < ' '; ++c) has_[c] = true;
  }
  /// Appends the text from a place to the next of these characters, and moves the place there.
  void copy_others(std::string_view text, size_t& at, std::string& to) const {
    const size_t begin = at;
    while (at < text.size() && !has_[static_cast<unsigned char>(text[at])]) ++at;
    to.append(text.substr(begin, at - begin));
  }

 private:
  std::array<bool, 256> has_{};
};

/// The length of an HTML tag at the start of the text, 0 where there is none.
size_t tag_length(std::string_view text);

}  // namespace wiki
}  // namespace tenon::data
