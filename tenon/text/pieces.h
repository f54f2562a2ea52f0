// Cuts a text into the pieces inside of which GPT-2's BPE merges: words with the space before them, numbers, runs of
// punctuation, white space.
//
// The rule is GPT-2's regular expression, run by PCRE2. Where every byte that decides is ASCII the same cut is made by
// hand, because that is most of an English text and several times faster. Bytes that are no UTF-8 form pieces of their
// own, one for each run of them, and nothing before or after sees past them.
//
//   PieceMatcher matcher;
//   Pieces pieces("don't stop", matcher);
//   for (std::string_view piece; pieces.next(piece);) ...   // "don" "'t" " stop"

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tenon::text {

/// What PCRE2 needs for matching: one for each thread.
class PieceMatcher {
 public:
  PieceMatcher();
  ~PieceMatcher();
  PieceMatcher(PieceMatcher&&) noexcept;
  PieceMatcher& operator=(PieceMatcher&&) = delete;

  /// The length of the first piece of a text, which must be UTF-8 and not empty.
  size_t first_piece(std::string_view text);

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

class Pieces {
 public:
  enum class Path { kFast, kPcre2Only };

  Pieces(std::string_view text, PieceMatcher& matcher, Path path = Path::kFast)
      : text_(text), matcher_(matcher), path_(path) {}

  /// The next piece, or false at the end of the text.
  bool next(std::string_view& piece) {
    if (at_ == text_.size()) return false;
    size_t end = path_ == Path::kFast ? ascii_end() : kUndecided;
    if (end == kUndecided) end = general_end();
    piece = text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

 private:
  enum class Class : uint8_t { kOther, kLetter, kDigit, kSpace, kHigh };
  static constexpr size_t kUndecided = ~size_t{0};
  static const std::array<Class, 256> kClasses;

  Class class_at(size_t at) const { return kClasses[static_cast<unsigned char>(text_[at])]; }

  /// Where the run that starts here ends; undecided if the byte after it is not ASCII.
  size_t run_end(size_t at, Class kind) const {
    do ++at;
    while (at < text_.size() && class_at(at) == kind);
    return at < text_.size() && class_at(at) == Class::kHigh ? kUndecided : at;
  }
  size_t ascii_end() const {
    const Class first = class_at(at_);
    if (first == Class::kHigh) return kUndecided;
    if (text_[at_] == ' ' && at_ + 1 < text_.size()) {
      const Class second = class_at(at_ + 1);
      if (second == Class::kHigh) return kUndecided;
      if (second != Class::kSpace) return run_end(at_ + 1, second);
    }
    if (first == Class::kSpace) return space_end();
    if (text_[at_] == '\'') {
      if (const size_t length = contraction()) return at_ + length;
    }
    return run_end(at_, first);
  }
  size_t space_end() const;
  size_t contraction() const;
  size_t general_end();

  std::string_view text_;
  PieceMatcher& matcher_;
  Path path_;
  size_t at_ = 0;
  size_t valid_until_ = 0;  // the text is UTF-8 from some place behind at_ to here
};

/// The first place, at or after `from`, where a text may be cut so that the pieces of both parts are those of the
/// whole: before white space that follows something else. No later than the end of the text.
size_t cut_between_pieces(std::string_view text, size_t from, bool at_blank_only = false);

}  // namespace tenon::text
