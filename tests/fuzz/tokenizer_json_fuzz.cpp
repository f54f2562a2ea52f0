// tokenizer.json of every kind. What is accepted must write itself so that it is read as the same.

#include <cstdlib>

#include "target.h"
#include "tenon/text/load.h"

namespace {

void check_round_trip(const tenon::text::Tokenizer& tokenizer) {
  const std::string json = tokenizer.json();
  const auto again = tenon::text::parse_tokenizer_json({"tokenizer", "again", std::as_bytes(std::span(json))});
  if (again->json() != json || again->vocabulary() != tokenizer.vocabulary()) std::abort();
  for (int32_t id = 0; id < tokenizer.vocabulary(); ++id) {
    if (again->token(id) != tokenizer.token(id)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("tokenizer", data, size);
  std::unique_ptr<tenon::text::Tokenizer> tokenizer;
  tenon::fuzz::run(size, 256, [&] { tokenizer = tenon::text::parse_tokenizer_json(input); });
  if (tokenizer) check_round_trip(*tokenizer);
  return 0;
}
