// The letters that GPT-2's files write for bytes.
//
// A vocabulary in JSON cannot hold arbitrary bytes, so each byte has a printable letter: its Latin-1 character where
// that is one ("a" for 0x61), else the next free one from U+0100 on ("Ġ" for the blank).

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::text {

/// The code point that stands for each byte.
const std::array<uint32_t, 256>& letters_of_bytes();
/// All bytes in the order of their letters: the order in which GPT-2 and Hugging Face number them.
const std::array<uint8_t, 256>& bytes_in_letter_order();

std::string to_letters(std::string_view bytes);
/// The bytes that letters stand for, or nothing if one of them stands for none.
std::optional<std::string> from_letters(std::string_view letters);

}  // namespace tenon::text
