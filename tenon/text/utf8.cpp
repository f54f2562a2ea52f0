// Decoding by the table of well-formed sequences in the Unicode standard (3.9, table 3-7): no overlong forms, no
// surrogates, nothing above U+10FFFF.

#include "tenon/text/utf8.h"

#include <cstring>

namespace tenon::text {
namespace {

unsigned char byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

/// Bytes of the character at the start, 0 where there is none.
uint32_t length_of_first(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const uint32_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (text.size() < length) return 0;
  const unsigned char second = byte_at(text, 1);
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) return 0;
  for (uint32_t i = 2; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

Symbol first_symbol(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const uint32_t length = length_of_first(text);
  if (length == 0) return {first, 1, false};
  if (length == 1) return {first, 1, true};
  uint32_t code = first & (0xFFU >> (length + 1));
  for (uint32_t i = 1; i < length; ++i) code = code << 6 | (byte_at(text, i) & 0x3FU);
  return {code, length, true};
}

size_t valid_prefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080ull;
  size_t at = 0;
  while (at < text.size()) {
    uint64_t word;
    if (text.size() - at >= sizeof(word)) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & kHighBits) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const uint32_t length = length_of_first(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

bool is_space(uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool ends_in_space(std::string_view text) {
  if (text.empty()) return false;
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    const Symbol last = first_symbol(text.substr(text.size() - length));
    if (last.is_valid && last.length == length) return is_space(last.code);
  }
  return false;  // white space has at most three bytes
}

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const uint32_t lead = more == 1 ? 0xC0U : more == 2 ? 0xE0U : 0xF0U;
  text += static_cast<char>(lead | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80U | (code >> (6 * i) & 0x3FU));
}

}  // namespace tenon::text
