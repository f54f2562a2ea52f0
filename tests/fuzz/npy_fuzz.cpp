// An npy file, and the elements of its array as a tensor holds them.

#include "target.h"
#include "tenon/io/npy_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("npy", data, size);
  // Turned, gathered and widened by four.
  tenon::fuzz::run(size, 8, [&] {
    const tenon::io::NpyHeader header = tenon::io::parse_npy(input);
    tenon::io::elements_of(input, header);
  });
  return 0;
}
