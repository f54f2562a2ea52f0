// PNG files. The checksums of their chunks are put right first: mutations would rarely get past them.

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "target.h"
#include "tenon/data/image_codec.h"

namespace {

/// Length, name, content, checksum; one chunk behind the other.
void put_checksums_right(std::vector<uint8_t>& file) {
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length =
        size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3];
    if (length > file.size() - at - 12) return;
    const uLong crc = crc32(0, file.data() + at + 4, static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) file[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += length + 12;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  std::vector<uint8_t> file(data, data + size);
  put_checksums_right(file);
  const auto input = fuzz::input_of("image", file.data(), file.size());
  if (!data::is_png(input)) return 0;
  constexpr uint64_t kMost = uint64_t{1} << 18;  // what is larger only takes time
  fuzz::run(size + kMost, 32, [&] { data::decode_image(input, data::ImageMode::kRgba, kMost); });
  return 0;
}
