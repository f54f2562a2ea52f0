// ByteStream: bytes that arrive a piece at a time, from a file, from memory, or out of a compressed stream.
//
// Corpora are larger than memory, so nothing above this ever asks for a whole file.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tenon::data {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Up to so many bytes; 0 only at the end.
  virtual size_t read(std::span<char> into) = 0;
  /// Bytes of the file that were read so far, which for a compressed one are fewer than came out.
  virtual int64_t consumed() const = 0;
  /// For messages.
  virtual const std::string& name() const = 0;
  /// Passes over bytes; returns how many there were, fewer only at the end.
  virtual int64_t skip(int64_t bytes);
};

/// Fills as much of `into` as there is; returns how many bytes that were.
size_t read_fully(ByteStream& stream, std::span<char> into);

/// Fails with one line that starts with `[format] path` where the file cannot be read.
std::unique_ptr<ByteStream> open_file(const std::filesystem::path& path, std::string_view format = "corpus");
/// The text must outlive the stream.
std::unique_ptr<ByteStream> open_memory(std::string_view text, std::string name);

}  // namespace tenon::data
