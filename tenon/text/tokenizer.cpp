// What all tokenizers share.

#include "tenon/text/tokenizer.h"

#include "tenon/text/file.h"

namespace tenon::text {

std::vector<int32_t> Tokenizer::encode(std::string_view text, Special special) const {
  std::vector<int32_t> ids;
  encode(text, ids, special);
  return ids;
}

size_t Tokenizer::cut(std::string_view text, size_t) const { return text.size(); }

void Tokenizer::save(const std::filesystem::path& folder) const { save_tokenizer_json(folder, json()); }

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += token(id);
  return text;
}

}  // namespace tenon::text
