// Token files: as they are, and with checksums put right, because mutations would never get past them.

#include <vector>

#include "target.h"
#include "tenon/data/checksum.h"
#include "tenon/data/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace tenon;
  const auto input = fuzz::input_of("tokens", bytes, size);
  fuzz::run(size, 1, [&] { data::parse_token_file(input, data::Verify::kEverything); });
  if (size < 64) return 0;
  std::vector<uint8_t> right(bytes, bytes + size);
  const auto view = std::as_bytes(std::span(right));
  const uint64_t tokens = data::checksum_of(view.subspan(64));
  std::memcpy(right.data() + 48, &tokens, 8);
  const uint64_t header = data::checksum_of(view.first(56));
  std::memcpy(right.data() + 56, &header, 8);
  fuzz::run(size, 1, [&] {
    const auto told = data::parse_token_file(fuzz::input_of("tokens", right.data(), size), data::Verify::kEverything);
    if (64 + told.tokens * told.token_bytes != static_cast<int64_t>(size)) std::abort();
  });
  return 0;
}
