// PNG from pixels. The format is three chunks around a zlib stream, so that this needs no libpng.

#include <zlib.h>

#include <array>

#include "tenon/base/error.h"
#include "tenon/data/image_codec.h"

namespace tenon::data {
namespace {

std::string big_endian(uint64_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes;
}

std::string chunk(const std::string& name, const std::string& content) {
  const std::string body = name + content;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(content.size()) + body + big_endian(crc);
}

std::string deflated(const std::string& raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                static_cast<uLong>(raw.size()), 6) != Z_OK) {
    base::fail("png", "the pixels could not be packed");
  }
  packed.resize(size);
  return packed;
}

}  // namespace

std::string encode_png(const Pixels& pixels) {
  constexpr std::array<char, 5> kColourType = {0, 0, 4, 2, 6};  // by channels
  const auto area = static_cast<size_t>(pixels.height * pixels.width);
  std::string raw;
  raw.reserve(area * static_cast<size_t>(pixels.channels) + static_cast<size_t>(pixels.height));
  for (int64_t row = 0; row < pixels.height; ++row) {
    raw += '\0';  // no filter
    for (int64_t column = 0; column < pixels.width; ++column) {
      const auto place = static_cast<size_t>(row * pixels.width + column);
      for (int64_t channel = 0; channel < pixels.channels; ++channel)
        raw += static_cast<char>(pixels.values[static_cast<size_t>(channel) * area + place]);
    }
  }
  std::string header =
      big_endian(static_cast<uint64_t>(pixels.width)) + big_endian(static_cast<uint64_t>(pixels.height));
  header += {8, kColourType.at(static_cast<size_t>(pixels.channels)), 0, 0, 0};
  std::string file = "\x89PNG\r\n\x1a\n" + chunk("IHDR", header);
  // A chunk holds less than 2^31 bytes; readers take shorter ones with less memory.
  constexpr size_t kPiece = size_t{1} << 20;
  const std::string packed = deflated(raw);
  for (size_t at = 0; at < packed.size(); at += kPiece) file += chunk("IDAT", packed.substr(at, kPiece));
  return file + chunk("IEND", "");
}

}  // namespace tenon::data
