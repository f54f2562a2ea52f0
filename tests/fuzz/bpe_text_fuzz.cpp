// Any bytes through a BPE: they come back, the fast path cuts as PCRE2 does, and a cut changes no token.

#include <cstdlib>
#include <vector>

#include "target.h"
#include "tenon/text/bpe.h"
#include "tenon/text/byte_letters.h"
#include "tenon/text/pieces.h"

namespace {

using tenon::text::Bpe;
using tenon::text::BpeModel;
using tenon::text::Pieces;
using tenon::text::Special;

/// All bytes, merges that meet in many texts, and two special tokens.
Bpe make_tokenizer() {
  BpeModel model;
  for (int byte = 0; byte < 256; ++byte) {
    model.byte_ids[static_cast<size_t>(byte)] = byte;
    model.tokens.emplace_back(1, static_cast<char>(byte));
  }
  for (int32_t left = 0; left < 256; left += 3) {
    const int32_t right = left * 7 % static_cast<int32_t>(model.tokens.size());
    const auto result = static_cast<int32_t>(model.tokens.size());
    model.tokens.push_back(model.tokens[static_cast<size_t>(left)] + model.tokens[static_cast<size_t>(right)]);
    model.merges.push_back({left, right, result});
  }
  const std::string names[] = {"<|endoftext|>", "a b"};
  add_specials(model, names);
  return Bpe(std::move(model));
}

std::vector<size_t> piece_lengths(std::string_view text, Pieces::Path path) {
  tenon::text::PieceMatcher matcher;
  Pieces pieces(text, matcher, path);
  std::vector<size_t> lengths;
  for (std::string_view piece; pieces.next(piece);) lengths.push_back(piece.size());
  return lengths;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Bpe tokenizer = make_tokenizer();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require(piece_lengths(text, Pieces::Path::kFast) == piece_lengths(text, Pieces::Path::kPcre2Only));
  for (const Special special : {Special::kAsText, Special::kAllowed}) {
    const std::vector<int32_t> ids = tokenizer.encode(text, special);
    require(tokenizer.decode(ids) == text);
    const size_t at = tokenizer.cut(text, size / 2);
    std::vector<int32_t> joined = tokenizer.encode(text.substr(0, at), special);
    tokenizer.encode(text.substr(at), joined, special);
    require(joined == ids);
  }
  return 0;
}
