// The markup of Wikipedia: any text has a plain text, without control characters and not much longer.

#include <cstdlib>

#include "target.h"
#include "tenon/data/wiki_markup.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view markup(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::run(size, 32, [&] {
    const std::string text = tenon::data::plain_text(markup);
    if (text.size() > 2 * size) std::abort();
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') std::abort();
    }
  });
  return 0;
}
