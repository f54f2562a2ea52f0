#include "tenon/data/tokenizer_fingerprint.h"

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon::data {

uint64_t tokenizer_fingerprint(const text::Tokenizer& tokenizer) {
  uint64_t hash = base::hash_bytes(tokenizer.kind());
  hash = base::mix(hash, static_cast<uint64_t>(tokenizer.end_of_text().value_or(-1)));
  for (int64_t id = 0; id < tokenizer.vocabulary(); ++id) {
    try {
      hash = base::hash_bytes(tokenizer.token(static_cast<int32_t>(id)), hash);
    } catch (const Error&) {  // a vocabulary may have gaps
      hash = base::mix(hash, static_cast<uint64_t>(id));
    }
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace tenon::data
