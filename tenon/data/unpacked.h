// A whole file in memory, unpacked where it is compressed, for formats that are read at once.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/data/byte_stream.h"

namespace tenon::data {

/// What a compressed file may unpack to: small ones may a thousandfold, large ones not many times.
uint64_t most_unpacked(uint64_t file_bytes);

/// Up to so many bytes of a stream. Memory grows with what really comes, whatever was announced.
std::vector<std::byte> read_up_to(ByteStream& stream, uint64_t most);

/// Fails with one line that starts with `[format] path`.
std::vector<std::byte> read_unpacked(std::string_view format, const std::filesystem::path& path);

}  // namespace tenon::data
