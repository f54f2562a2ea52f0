// IDX files, as MNIST's are, packed or not.

#include "target.h"
#include "tenon/data/compressed.h"
#include "tenon/data/idx_array.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMost = size_t{1} << 20;  // what is larger only takes time
  // bzip2 takes up to 3.7 MB; elements are turned and widened by four.
  fuzz::run(size + kMost, 16, [&] {
    const auto stream = data::decompressed(data::open_memory(file, "file"), 20, "idx");
    data::read_idx(*stream, kMost);
  });
  return 0;
}
