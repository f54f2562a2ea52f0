// The weights of a llama2.c file.

#include "target.h"
#include "tenon/io/llama2c_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("llama2c", data, size);
  // A norm of a single pair of floats has a name and a shape of its own.
  tenon::fuzz::run(size, 64, [&] { tenon::io::parse_llama2c(input); });
  return 0;
}
