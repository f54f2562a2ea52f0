// JPEG files.

#include "target.h"
#include "tenon/data/image_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const auto input = fuzz::input_of("image", data, size);
  if (!data::is_jpeg(input)) return 0;
  constexpr uint64_t kMost = uint64_t{1} << 18;  // what is larger only takes time
  fuzz::run(size + kMost, 32, [&] { data::decode_image(input, data::ImageMode::kRgba, kMost); });
  return 0;
}
