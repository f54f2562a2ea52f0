// Bytes as tokens.

#include "tenon/text/byte_tokenizer.h"

#include <array>

#include "tenon/text/file.h"
#include "tenon/text/json_value.h"

namespace tenon::text {
namespace {

const std::array<char, 256>& all_bytes() {
  static const std::array<char, 256> bytes = [] {
    std::array<char, 256> made{};
    for (size_t byte = 0; byte < made.size(); ++byte) made[byte] = static_cast<char>(byte);
    return made;
  }();
  return bytes;
}

}  // namespace

ByteTokenizer::ByteTokenizer(bool with_end_of_text) {
  if (with_end_of_text) specials_ = SpecialTokens({{std::string(kEndOfText), kBytes}});
}
ByteTokenizer::ByteTokenizer(const JsonView& document) : ByteTokenizer(document.flag("end_of_text", false)) {}

void ByteTokenizer::encode(std::string_view text, std::vector<int32_t>& ids, Special special) const {
  const auto on_text = [&](std::string_view part) {
    for (const char byte : part) ids.push_back(static_cast<unsigned char>(byte));
  };
  specials_.split(text, special, on_text, [&](int32_t id) { ids.push_back(id); });
}

std::string_view ByteTokenizer::token(int32_t id) const {
  check_id(id, vocabulary());
  if (id >= kBytes) return specials_.all()[0].name;
  return {&all_bytes()[static_cast<size_t>(id)], 1};
}

size_t ByteTokenizer::cut(std::string_view text, size_t from) const {
  while (from < text.size() && specials_.is_cut(text, from)) ++from;
  return std::min(from, text.size());
}

std::string ByteTokenizer::json() const {
  return fmt::format("{{\"tenon_tokenizer\": \"byte\", \"end_of_text\": {}}}\n", end_of_text() ? "true" : "false");
}

}  // namespace tenon::text
