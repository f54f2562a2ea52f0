#include "tenon/data/unpacked.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/data/compressed.h"

namespace tenon::data {

uint64_t most_unpacked(uint64_t file_bytes) {
  constexpr uint64_t kSmall = uint64_t{64} << 20, kMostTimes = 64;
  return kSmall + kMostTimes * file_bytes;
}

std::vector<std::byte> read_up_to(ByteStream& stream, uint64_t most) {
  constexpr uint64_t kFirstStep = uint64_t{1} << 16;
  std::vector<std::byte> bytes;
  while (bytes.size() < most) {
    const size_t held = bytes.size();
    const uint64_t step = std::min(most - held, std::max<uint64_t>(kFirstStep, held));
    bytes.resize(held + step);
    const size_t count = read_fully(stream, {reinterpret_cast<char*>(bytes.data()) + held, static_cast<size_t>(step)});
    bytes.resize(held + count);
    if (count < step) break;
  }
  return bytes;
}

std::vector<std::byte> read_unpacked(std::string_view format, const std::filesystem::path& path) {
  auto file = open_file(path, format);
  const uint64_t file_bytes = std::filesystem::file_size(path);
  const uint64_t most = most_unpacked(file_bytes);
  const auto stream = decompressed(std::move(file), kLargestZstdWindow, format);
  std::vector<std::byte> bytes = read_up_to(*stream, most);
  char further;
  if (bytes.size() == most && stream->read({&further, 1}) > 0) {
    base::fail(format, "{}: takes more than {} bytes unpacked, the file has {}: unpack it first", path.string(), most,
               file_bytes);
  }
  return bytes;
}

}  // namespace tenon::data
