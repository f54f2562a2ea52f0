// Compresses text, for tests of reading it.

#pragma once

#include <bzlib.h>
#include <zlib.h>
#include <zstd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::data {

inline std::string gzipped(std::string_view text) {
  z_stream state{};
  deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  deflate(&state, Z_FINISH);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

inline std::string bzipped(std::string_view text) {
  std::string packed(text.size() + text.size() / 50 + 1000, '\0');
  auto size = static_cast<unsigned>(packed.size());
  const int result = BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(text.data()),
                                              static_cast<unsigned>(text.size()), 9, 0, 0);
  if (result != BZ_OK) throw std::runtime_error("bzip2 failed");
  packed.resize(size);
  return packed;
}

inline std::string zstd_packed(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

struct Packer {
  std::string name, extension;
  std::function<std::string(std::string_view)> pack;
};
inline const std::vector<Packer> kPackers = {
    {"gzip", ".gz", gzipped}, {"bzip2", ".bz2", bzipped}, {"zstd", ".zst", zstd_packed}};

}  // namespace tenon::data
