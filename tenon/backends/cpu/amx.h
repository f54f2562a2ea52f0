// Intel's matrix units, as the products that use them see them: a tile register holds 16 rows of 64 bytes; one
// instruction adds the product of a 16x32 tile of bf16 and a 32x16 one, its rows interleaved in pairs, to a 16x16 tile
// of f32 sums in 16 cycles.

#pragma once

#if defined(__x86_64__) && defined(__linux__)

// GCC 12 warns about its own headers: _mm512_undefined_epi32 reads what it does not write (GCC bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstdint>

#define TENON_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))

namespace tenon::backends::cpu {

inline constexpr int64_t kSide = 16;       // rows of a tile, and columns of a tile of sums
inline constexpr int64_t kTileDepth = 32;  // elements of k in a tile
inline constexpr int64_t kTileSize = 512;  // elements of a tile of operands
inline constexpr int64_t kPanel = 32;      // columns of two tiles side by side

// What a tile register looks like: for both operands and the sums 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

class Units {
 public:
  TENON_AMX Units() {
    static const TileConfig config;
    _tile_loadconfig(&config);
  }
  TENON_AMX ~Units() { _tile_release(); }
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;
};

// 16 vectors of 16 words, turned.
TENON_AMX inline void transpose_16x16(__m512i v[16]) {
  __m512i t[16];
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    v[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    v[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

/// Lanes below n, of 32 halves or of 16 words.
TENON_AMX inline __mmask32 halves_below(int64_t n) {
  return n >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((uint64_t{1} << std::max<int64_t>(n, 0)) - 1);
}

TENON_AMX inline __mmask16 words_below(int64_t n) { return static_cast<__mmask16>(halves_below(std::min(n, kSide))); }

}  // namespace tenon::backends::cpu

#endif
