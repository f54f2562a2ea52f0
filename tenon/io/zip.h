// Zip archives, as numpy's .npz and PyTorch's .pt are: a directory at the end that says where each file lies.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/io/file.h"
#include "tenon/io/input.h"

namespace tenon::io {

/// A file in an archive. Its bytes, packed or not, lie inside the archive and overlap no other's.
struct ZipEntry {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t size = 0;                  // unpacked
  std::span<const std::byte> packed;  // as they lie in the archive
};

/// The files of an archive in the order of their bytes; names are unique. Fails with one line on anything else.
std::vector<ZipEntry> parse_zip(const Input& input);

/// The bytes of a file: a copy when it is deflated, else those in the archive.
struct Unpacked {
  std::vector<std::byte> own;
  std::span<const std::byte> bytes;
};
/// Memory grows with what really comes out, so that an archive that only claims to be large costs nothing.
Unpacked unpack(const Input& input, const ZipEntry& entry);
/// Fails unless the bytes have the checksum of the directory.
void check_crc(const Input& input, const ZipEntry& entry, std::span<const std::byte> bytes);

/// Writes an archive of files as they are: numpy reads these without unpacking.
class ZipWriter {
 public:
  ZipWriter(std::string_view format, const std::filesystem::path& path);
  void add(const std::string& name, std::span<const std::byte> header, std::span<const std::byte> bytes);
  /// Writes the directory, and puts the archive into its place.
  void finish();

 private:
  Input shown_;
  ReplacingFile file_;
  std::string directory_;
  uint64_t position_ = 0;
  size_t files_ = 0;
};

}  // namespace tenon::io
