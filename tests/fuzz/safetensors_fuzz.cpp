// The header and byte ranges of a safetensors file.

#include "target.h"
#include "tenon/io/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("safetensors", data, size);
  // 60 bytes of header make an entry of about 400.
  tenon::fuzz::run(size, 64, [&] { tenon::io::parse_safetensors(input); });
  return 0;
}
