// The journal of an unfinished run: what is read is written the same.

#include <cstdlib>

#include "target.h"
#include "tenon/data/journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::run(size, 64, [&] {
    const auto journal = tenon::data::journal_from_json(text, "file");
    if (to_json(tenon::data::journal_from_json(to_json(journal), "file")) != to_json(journal)) std::abort();
  });
  return 0;
}
