// One prompt, one text, nothing kept.

#include "tenon/models/generate.h"

#include "tenon/models/decoder.h"

namespace tenon::models {

std::vector<int64_t> generate(CausalLm& model, const std::vector<int64_t>& prompt, const GenerateOptions& options) {
  std::vector<int64_t> tokens = prompt;
  const std::vector<int64_t> made = Decoder(model).run({prompt}, options)[0];
  tokens.insert(tokens.end(), made.begin(), made.end());
  return tokens;
}

}  // namespace tenon::models
