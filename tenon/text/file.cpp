// Writing tokenizer.json, and refusing numbers that no token has.

#include "tenon/text/file.h"

#include "tenon/base/error.h"

namespace tenon::text {

void save_tokenizer_json(const std::filesystem::path& folder, std::string_view json) {
  io::MadeFolder made(kFormat, folder);
  io::ReplacingFile file(kFormat, folder / "tokenizer.json");
  file.write(json);
  file.sync();
  file.commit();
  made.keep();
}

void check_id(int32_t id, int64_t vocabulary) {
  if (id < 0 || id >= vocabulary) {
    base::fail(kFormat, "there is no token {}; the vocabulary has 0 to {}", id, vocabulary - 1);
  }
}

}  // namespace tenon::text
