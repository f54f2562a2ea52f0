// config.json of a Hugging Face folder.

#include "target.h"
#include "tenon/io/json_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("hugging_face", data, size);
  tenon::fuzz::run(size, 16, [&] { tenon::io::check_json_object(input); });
  return 0;
}
