// Text from files in messages, and sizes that cannot overflow.

#include "tenon/io/input.h"

#include <algorithm>
#include <bit>

#include "tenon/ir/shape.h"

namespace tenon::io {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian and read as they are");

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 80;
  const bool is_text = is_utf8(text);
  const auto inside_letter = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t end = std::min(text.size(), kMost);
  while (is_text && end > 0 && end < text.size() && inside_letter(end)) --end;
  std::string line = "\"";
  for (const char letter : text.substr(0, end)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7F || (code >= 0x80 && !is_text))
      line += fmt::format("\\x{:02x}", code);
    else
      line += letter;
  }
  return line + (end < text.size() ? "\"..." : "\"");
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
