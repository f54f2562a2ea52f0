// The added tokens of Hugging Face's tokenizer.json, which every type of model has.

#pragma once

#include <string>
#include <vector>

#include "tenon/text/special_tokens.h"

namespace tenon::text {

class JsonView;

/// Those of a document. What would change where they are found and is not done here is refused by name.
std::vector<SpecialToken> parse_added_tokens(const JsonView& root);
/// The list as JSON, by number.
std::string added_tokens_json(std::vector<SpecialToken> tokens);

}  // namespace tenon::text
