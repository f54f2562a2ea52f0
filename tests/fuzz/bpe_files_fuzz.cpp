// vocab.json and merges.txt: the input is both, apart by a zero byte.

#include <algorithm>

#include "target.h"
#include "tenon/text/bpe_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> all(data, size);
  const size_t zero = static_cast<size_t>(std::ranges::find(all, 0) - all.begin());
  const auto vocabulary = tenon::fuzz::input_of("tokenizer", data, zero);
  const auto merges =
      tenon::fuzz::input_of("tokenizer", data + std::min(zero + 1, size), size - std::min(zero + 1, size));
  tenon::fuzz::run(size, 128, [&] { tenon::text::parse_bpe_files(vocabulary, merges); });
  return 0;
}
