// What a text's characters are: what must be known of them to spell and cut a text as BERT's tokenizers do.

#pragma once

#include <cstdint>
#include <string>

namespace tenon::text {

/// Control and format characters and those for private use, U+0000 and U+FFFD; not \t, \n and \r.
bool is_control(uint32_t code);
/// Marks without a width of their own (Unicode's Mn), as accents are once letters are decomposed.
bool is_nonspacing_mark(uint32_t code);
/// Punctuation, and in ASCII every symbol too.
bool is_punctuation(uint32_t code);
/// Ideographs that Chinese is written with, which have no blanks between words.
bool is_ideograph(uint32_t code);

/// Appends the small letter of a capital, and any other character as it is.
void append_lower(std::u32string& text, uint32_t code);
/// Takes characters apart into letters and marks: Unicode's normalisation form D.
std::u32string decomposed(std::u32string_view text);

}  // namespace tenon::text
