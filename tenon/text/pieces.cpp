// GPT-2's regular expression, its ASCII half by hand.

#define PCRE2_CODE_UNIT_WIDTH 8

#include "tenon/text/pieces.h"

#include <pcre2.h>

#include <string>

#include "tenon/base/error.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

std::string pattern_text() {
  // \s is spelled out: PCRE2's own means ASCII, or with PCRE2_UCP one character more than Unicode's White_Space.
  const std::string spaces = R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" + spaces + R"(\p{L}\p{N}]+|[)" + spaces + "]+(?![^" +
         spaces + "])|[" + spaces + "]+";
}

struct Pattern {
  pcre2_code* code = nullptr;
  bool is_jit = false;

  Pattern() {
    const std::string text = pattern_text();
    int error = 0;
    size_t place = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_ANCHORED, &error,
                         &place, nullptr);
    if (!code) base::fail("tokenizer", "PCRE2 refuses GPT-2's pattern (error {}): was it built without UTF?", error);
    is_jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  }
  ~Pattern() { pcre2_code_free(code); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
};

const Pattern& pattern() {
  static const Pattern compiled;
  return compiled;
}

}  // namespace

struct PieceMatcher::Data {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  ~Data() { pcre2_match_data_free(match); }
};

PieceMatcher::PieceMatcher() : data_(std::make_unique<Data>()) {
  if (!data_->match) base::fail("tokenizer", "no memory for PCRE2");
}
PieceMatcher::~PieceMatcher() = default;
PieceMatcher::PieceMatcher(PieceMatcher&&) noexcept = default;

size_t PieceMatcher::first_piece(std::string_view text) {
  const Pattern& compiled = pattern();
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int found =
      compiled.is_jit ? pcre2_jit_match(compiled.code, subject, text.size(), 0, 0, data_->match, nullptr)
                      : pcre2_match(compiled.code, subject, text.size(), 0, PCRE2_NO_UTF_CHECK, data_->match, nullptr);
  if (found <= 0) base::fail("tokenizer", "PCRE2 failed on a text of {} bytes (error {})", text.size(), found);
  return pcre2_get_ovector_pointer(data_->match)[1];
}

const std::array<Pieces::Class, 256> Pieces::kClasses = [] {
  std::array<Class, 256> classes{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned lower = byte | 0x20U;
    classes[byte] = byte >= 0x80                   ? Class::kHigh
                    : is_space(byte)               ? Class::kSpace
                    : lower >= 'a' && lower <= 'z' ? Class::kLetter
                    : byte >= '0' && byte <= '9'   ? Class::kDigit
                                                   : Class::kOther;
  }
  return classes;
}();

// A run of white space leaves its last character to what follows, which takes it if it is a blank.
size_t Pieces::space_end() const {
  const size_t end = run_end(at_, Class::kSpace);
  if (end == kUndecided || end == text_.size() || end == at_ + 1) return end;
  return end - 1;
}

size_t Pieces::contraction() const {
  const std::string_view rest = text_.substr(at_ + 1, 2);
  if (rest.empty()) return 0;
  if (rest[0] == 's' || rest[0] == 't' || rest[0] == 'm' || rest[0] == 'd') return 2;
  return rest == "re" || rest == "ve" || rest == "ll" ? 3 : 0;
}

size_t Pieces::general_end() {
  if (at_ >= valid_until_) valid_until_ = at_ + valid_prefix(text_.substr(at_));
  if (at_ < valid_until_) return at_ + matcher_.first_piece(text_.substr(at_, valid_until_ - at_));
  size_t end = at_ + 1;
  while (end < text_.size() && !first_symbol(text_.substr(end)).is_valid) ++end;
  return end;
}

size_t cut_between_pieces(std::string_view text, size_t from, bool at_blank_only) {
  for (size_t at = from; at < text.size(); ++at) {
    const bool may_follow = text[at] == ' ' || (text[at] == '\n' && !at_blank_only);
    if (at > 0 && may_follow && !ends_in_space(text.substr(0, at))) return at;
  }
  return text.size();
}

}  // namespace tenon::text
