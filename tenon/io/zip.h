// Zip archives, as numpy's .npz and PyTorch's .pt are: a directory at the end that says where each file lies.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/io/file.h"
#include "tenon/io/input.h"

namespace tenon::io {

/// A file in an archive. Its bytes, packed or not, lie inside the archive and overlap no other's.
struct ZipEntry {
  std::string name;
  bool deflated = false;
  bool has_its_name = true;  // where it lies as well as in the directory
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

/// How an archive is written.
struct ZipLayout {
  bool wide = false;     // 64-bit sizes, as PyTorch writes them; without them an archive ends at 4 GiB
  size_t alignment = 1;  // of the bytes of each file
};

/// Writes an archive of files as they are: numpy reads these without unpacking.
class ZipWriter {
 public:
  ZipWriter(std::string_view format, const std::filesystem::path& path, ZipLayout layout = {},
            Devices devices = Devices::refused);
  /// Into memory.
  ZipWriter(std::string_view format, std::string& into, ZipLayout layout);
  void add(const std::string& name, std::span<const std::byte> header, std::span<const std::byte> bytes);
  /// Writes the directory, and puts the archive into its place.
  void finish();

 private:
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  std::string padding_behind(uint64_t at) const;

  Input shown_;
  ZipLayout layout_;
  std::optional<ReplacingFile> file_;
  std::string* memory_ = nullptr;
  std::string directory_;
  uint64_t position_ = 0;
  size_t files_ = 0;
};

}  // namespace tenon::io
