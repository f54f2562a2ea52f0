// UTF-8 that may not be: where a text holds characters, and where just bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::text {

/// A character of a text, or a byte that belongs to none (then code is the byte and length 1).
struct Symbol {
  uint32_t code;
  uint32_t length;  // in bytes
  bool is_valid;
};
/// What stands at a place; the text must not be empty.
Symbol first_symbol(std::string_view text);

/// How many bytes from the start are UTF-8 without a gap.
size_t valid_prefix(std::string_view text);

/// Unicode's White_Space, which is what \s means to the tokenizers we follow. PCRE2's own \s has U+180E too.
bool is_space(uint32_t code);
/// Whether the last character of a text is white space.
bool ends_in_space(std::string_view text);

void append_utf8(std::string& text, uint32_t code);

}  // namespace tenon::text
