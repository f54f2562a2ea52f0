// The checksum of TensorBoard's event files: CRC-32C (Castagnoli), which zlib does not have.

#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::watch {

uint32_t crc32c(std::string_view bytes);

/// As TFRecord files store it: a checksum of data that itself holds checksums would otherwise be weak.
inline uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace tenon::watch
