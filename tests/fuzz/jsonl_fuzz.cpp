// JSON Lines.

#include "documents.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  fuzz::run(size + (1 << 18), 16, [&] {
    fuzz::read_twice([&](const data::ReadPosition& position) {
      return data::read_jsonl(fuzz::stream_at(data, size, position), "text", position);
    });
  });
  return 0;
}
