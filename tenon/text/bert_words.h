// The words of a text as BERT has them: spelled in one way, cut at blanks and around every punctuation mark.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::text {

/// How a text is spelled before it is cut: Hugging Face's BertNormalizer.
///   text::WordPieceOptions options = {.spelling = {.strip_accents = false, .lower_case = false}};
struct BertSpelling {
  bool clean_text = true;        // without control characters; every white space is a blank
  bool space_ideographs = true;  // a word of its own for each ideograph
  bool strip_accents = true;     // letters without their accents
  bool lower_case = true;        // no capitals
  bool operator==(const BertSpelling&) const = default;
};

class BertWords {
 public:
  explicit BertWords(const BertSpelling& spelling) : spelling_(spelling) {}

  /// Calls f(word) for every word of a text, in UTF-8. Bytes that are no UTF-8 count as U+FFFD.
  template <typename F>
  void for_each(std::string_view text, F&& f) {
    for (size_t at = 0; at < text.size();) {
      if (is_gap(text[at])) {
        ++at;
        continue;
      }
      size_t end = at + 1;
      while (end < text.size() && !is_gap(text[end])) ++end;
      split(text.substr(at, end - at));
      for (size_t i = 0, begin = 0; i < ends_.size(); begin = ends_[i++]) {
        f(std::string_view(spelled_).substr(begin, ends_[i] - begin));
      }
      at = end;
    }
  }

 private:
  static bool is_gap(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }
  /// Puts the words of a stretch without blanks into spelled_, one after the other.
  void split(std::string_view text);
  bool split_ascii(std::string_view text);
  void split_any(std::string_view text);
  std::u32string spelled(std::string_view text) const;
  void end_word();

  BertSpelling spelling_;
  std::string spelled_;
  std::vector<size_t> ends_;
};

}  // namespace tenon::text
