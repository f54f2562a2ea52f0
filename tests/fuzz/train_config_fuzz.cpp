// The config of a training run. What is accepted must print as something that is read as the same.

#include <cstdlib>

#include "target.h"
#include "tenon/train/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::run(size, 64, [&] {
    const auto config = tenon::train::parse_config(text, "file");
    const auto again = tenon::train::parse_config(tenon::train::to_json(config), "again");
    if (!tenon::train::differences(config, again).empty()) std::abort();
    tenon::train::validate(config, "file");
  });
  return 0;
}
