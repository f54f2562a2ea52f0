// The kinds of tokenizers by what their files look like.

#pragma once

#include "tenon/io/input.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

/// A tokenizer.json of any kind, ours or Hugging Face's. Fails with one line.
std::unique_ptr<Tokenizer> parse_tokenizer_json(const io::Input& input);

}  // namespace tenon::text
