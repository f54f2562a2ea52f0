// A number that says which tokenizer made a token file, so that a model is not trained with the tokens of another.

#pragma once

#include <cstdint>

#include "tenon/text/tokenizer.h"

namespace tenon::data {

/// Of the kind, the end of text and the bytes of every token; the same on every machine. Never 0.
///   const uint64_t number = data::tokenizer_fingerprint(text::ByteTokenizer());
uint64_t tokenizer_fingerprint(const text::Tokenizer& tokenizer);

}  // namespace tenon::data
