// Text from files in messages, and sizes that cannot overflow.

#include "tenon/io/input.h"

#include <algorithm>
#include <bit>

#include "tenon/ir/shape.h"

namespace tenon::io {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian and read as they are");

namespace {

constexpr size_t kMostShown = 80;

/// Bytes of the UTF-8 character at the start of a text; 0 where none is.
size_t character_at_start(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t bytes = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  return bytes <= text.size() && is_utf8(text.substr(0, bytes)) ? bytes : 0;
}

/// Characters that a terminal obeys instead of showing: controls, also those of 8 bits, line separators, and what turns
/// the direction of writing around.
bool is_obeyed(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  const bool separates_or_turns = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;  // U+2028 to U+202E
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;            // U+2066 to U+2069
  return separates_or_turns || isolates;
}

/// Calls shown(character) or hidden(bytes) for everything in a text.
template <typename Shown, typename Hidden>
void for_each_character(std::string_view text, Shown&& shown, Hidden&& hidden) {
  while (!text.empty()) {
    const size_t bytes = character_at_start(text);
    const std::string_view character = text.substr(0, std::max<size_t>(bytes, 1));
    if (bytes == 0 || is_obeyed(character))
      hidden(character);
    else
      shown(character);
    text.remove_prefix(character.size());
  }
}

std::string_view shortened(std::string_view text) {
  if (text.size() <= kMostShown) return text;
  size_t end = kMostShown;
  const auto inside_letter = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (is_utf8(text) && end > 0 && inside_letter(end)) --end;
  return text.substr(0, end);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string line;
  for_each_character(
      text, [&](std::string_view character) { line += character; },
      [&](std::string_view bytes) {
        for (const char byte : bytes) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      });
  return line;
}

std::string harmless(std::string_view text) {
  std::string clean;
  for_each_character(
      text, [&](std::string_view character) { clean += character; },
      [&](std::string_view bytes) { clean += bytes == "\n" || bytes == "\t" ? bytes : "?"; });
  return clean;
}

std::string in_quotes(std::string_view text) {
  const std::string_view part = shortened(text);
  return fmt::format("\"{}\"{}", escaped(part), part.size() < text.size() ? "..." : "");
}

std::string as_one_line(std::string_view text) {
  const std::string_view part = shortened(text);
  return escaped(part) + (part.size() < text.size() ? "..." : "");
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4) return false;
    uint32_t code = first & (0x3FU >> more);
    for (int i = 0; i < more; ++i, ++at) {
      if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) return false;
      code = code << 6 | (static_cast<unsigned char>(text[at]) & 0x3FU);
    }
    const uint32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    if (code < least || code > 0x10FFFF || is_surrogate) return false;
  }
  return true;
}

std::string shape_text(std::span<const uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::optional<uint64_t> bytes_of(std::span<const uint64_t> shape, size_t element_bytes) {
  Dims sizes;
  for (const uint64_t size : shape) sizes.push_back(static_cast<int64_t>(size));  // 2^63 and more become negative
  const std::optional<int64_t> elements = ir::checked_count(sizes);
  if (!elements) return std::nullopt;
  return static_cast<uint64_t>(*elements) * element_bytes;
}

}  // namespace tenon::io
