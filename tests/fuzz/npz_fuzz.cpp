// An archive of npy files, packed or not. Checksums are left out: mutations would rarely get past them.

#include "target.h"
#include "tenon/io/npy_header.h"
#include "tenon/io/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace io = tenon::io;
  const auto input = tenon::fuzz::input_of("npz", data, size);
  std::vector<io::ZipEntry> files;
  tenon::fuzz::run(size, 16, [&] { files = io::parse_zip(input); });
  for (const io::ZipEntry& file : files) {
    constexpr size_t kMost = size_t{1} << 22;  // what is larger only takes time
    if (file.size > kMost) continue;
    // Deflate makes at most 1032 bytes of one; half of them lie in the block that was outgrown.
    tenon::fuzz::run(file.size, 8, [&] {
      const io::Unpacked unpacked = io::unpack(input, file);
      const io::Input inner{"npz", "file", unpacked.bytes};
      io::elements_of(inner, io::parse_npy(inner));
    });
  }
  return 0;
}
