// gzip, bzip2 and zstd streams, one or several in a row.

#include <vector>

#include "target.h"
#include "tenon/data/compressed.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::string_view packed(reinterpret_cast<const char*>(data), size);
  // bzip2 takes up to 3.7 MB for a stream that says so in its first bytes, zstd the window that is allowed.
  fuzz::run(size + (1 << 20), 8, [&] {
    const auto stream = data::decompressed(data::open_memory(packed, "file"), 20);
    std::vector<char> step(1 << 14);
    size_t total = 0;
    while (total < size_t{1} << 22) {  // what is larger only takes time
      const size_t count = stream->read(step);
      if (count == 0) break;
      total += count;
    }
  });
  return 0;
}
