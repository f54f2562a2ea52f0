// The state of a DataLoader as a checkpoint keeps it: what is read is written the same.

#include <cstdlib>

#include "target.h"
#include "tenon/data/data_loader_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::run(size, 64, [&] {
    const auto state = tenon::data::data_loader_state_from_json(text);
    if (tenon::data::data_loader_state_from_json(to_json(state)) != state) std::abort();
  });
  return 0;
}
