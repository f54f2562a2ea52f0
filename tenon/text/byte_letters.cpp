// Both directions of GPT-2's bytes_to_unicode.

#include "tenon/text/byte_letters.h"

#include <algorithm>
#include <numeric>

#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

constexpr uint32_t kFirstFree = 0x100, kLetters = kFirstFree + 68;  // 68 bytes have no printable Latin-1 character

bool is_own_letter(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

}  // namespace

const std::array<uint32_t, 256>& letters_of_bytes() {
  static const std::array<uint32_t, 256> letters = [] {
    std::array<uint32_t, 256> made{};
    uint32_t free = kFirstFree;
    for (uint32_t byte = 0; byte < 256; ++byte) made[byte] = is_own_letter(byte) ? byte : free++;
    return made;
  }();
  return letters;
}

const std::array<uint8_t, 256>& bytes_in_letter_order() {
  static const std::array<uint8_t, 256> order = [] {
    std::array<uint8_t, 256> bytes{};
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    std::ranges::sort(bytes, {}, [](uint8_t byte) { return letters_of_bytes()[byte]; });
    return bytes;
  }();
  return order;
}

std::string to_letters(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) append_utf8(letters, letters_of_bytes()[static_cast<unsigned char>(byte)]);
  return letters;
}

std::optional<std::string> from_letters(std::string_view letters) {
  static const std::array<int16_t, kLetters> bytes_of_letters = [] {
    std::array<int16_t, kLetters> bytes;
    bytes.fill(-1);
    for (size_t byte = 0; byte < 256; ++byte) bytes[letters_of_bytes()[byte]] = static_cast<int16_t>(byte);
    return bytes;
  }();
  std::string bytes;
  while (!letters.empty()) {
    const Symbol letter = first_symbol(letters);
    if (!letter.is_valid || letter.code >= kLetters || bytes_of_letters[letter.code] < 0) return std::nullopt;
    bytes += static_cast<char>(bytes_of_letters[letter.code]);
    letters.remove_prefix(letter.length);
  }
  return bytes;
}

}  // namespace tenon::text
