// A tokenizer of llama2.c.

#include "target.h"
#include "tenon/io/llama2c_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("llama2c", data, size);
  tenon::fuzz::run(size, 32, [&] { tenon::io::parse_llama2c_tokenizer(input); });
  return 0;
}
