// The index of a sharded safetensors model.

#include "target.h"
#include "tenon/io/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("safetensors", data, size);
  tenon::fuzz::run(size, 64, [&] { tenon::io::parse_safetensors_index(input); });
  return 0;
}
