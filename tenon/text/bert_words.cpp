// Most words are plain ASCII and are spelled byte by byte; the others go through code points.

#include "tenon/text/bert_words.h"

#include "tenon/text/unicode.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

constexpr uint32_t kNoCharacter = 0xFFFD;

bool is_letter_or_digit(char byte) {
  const char lower = static_cast<char>(byte | 0x20);
  return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9');
}

}  // namespace

void BertWords::split(std::string_view text) {
  spelled_.clear();
  ends_.clear();
  if (split_ascii(text)) return;
  spelled_.clear();
  ends_.clear();
  split_any(text);
}

void BertWords::end_word() {
  if (spelled_.size() > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(spelled_.size());
}

bool BertWords::split_ascii(std::string_view text) {
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) <= ' ' || static_cast<unsigned char>(byte) >= 0x7F) return false;
    if (is_letter_or_digit(byte)) {
      const bool is_capital = byte >= 'A' && byte <= 'Z';
      spelled_ += is_capital && spelling_.lower_case ? static_cast<char>(byte | 0x20) : byte;
      continue;
    }
    end_word();
    spelled_ += byte;
    end_word();
  }
  end_word();
  return true;
}

std::u32string BertWords::spelled(std::string_view text) const {
  std::u32string codes;
  while (!text.empty()) {
    const Symbol symbol = first_symbol(text);
    text.remove_prefix(symbol.length);
    const uint32_t code = symbol.is_valid ? symbol.code : kNoCharacter;
    if (spelling_.clean_text && is_control(code)) continue;
    const bool stands_alone = spelling_.space_ideographs && is_ideograph(code);
    if (stands_alone) codes += U' ';
    codes += static_cast<char32_t>(code);
    if (stands_alone) codes += U' ';
  }
  if (spelling_.strip_accents) {
    codes = decomposed(codes);
    std::erase_if(codes, is_nonspacing_mark);
  }
  if (!spelling_.lower_case) return codes;
  std::u32string lower;
  for (const char32_t code : codes) append_lower(lower, code);
  return lower;
}

void BertWords::split_any(std::string_view text) {
  for (const char32_t code : spelled(text)) {
    const bool is_blank = is_space(code), is_mark = !is_blank && is_punctuation(code);
    if (is_blank || is_mark) end_word();
    if (!is_blank) append_utf8(spelled_, code);
    if (is_mark) end_word();
  }
  end_word();
}

}  // namespace tenon::text
