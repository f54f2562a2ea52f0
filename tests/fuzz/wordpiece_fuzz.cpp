// A list of tokens, and behind a zero byte a text for it: what is accepted comes back from its tokenizer.json, a cut
// changes no token, and everything decodes.

#include <cstdlib>

#include "target.h"
#include "tenon/text/load.h"
#include "tenon/text/wordpiece.h"

namespace {

using tenon::text::Special;
using tenon::text::WordPiece;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_text(const WordPiece& tokenizer, std::string_view text) {
  for (const Special special : {Special::kAsText, Special::kAllowed}) {
    const std::vector<int32_t> ids = tokenizer.encode(text, special);
    tokenizer.decode(ids);
    const size_t at = tokenizer.cut(text, text.size() / 2);
    std::vector<int32_t> joined = tokenizer.encode(text.substr(0, at), special);
    tokenizer.encode(text.substr(at), joined, special);
    require(joined == ids);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(all.find('\0'), size);
  const auto input = tenon::fuzz::input_of("tokenizer", data, end);
  std::unique_ptr<WordPiece> tokenizer;
  tenon::fuzz::run(size, 256,
                   [&] { tokenizer = std::make_unique<WordPiece>(tenon::text::parse_vocabulary_lines(input)); });
  if (!tokenizer) return 0;
  check_text(*tokenizer, all.substr(std::min(end + 1, size)));
  const std::string json = tokenizer->json();
  const auto again = tenon::text::parse_tokenizer_json({"tokenizer", "again", std::as_bytes(std::span(json))});
  require(again->json() == json);
  return 0;
}
