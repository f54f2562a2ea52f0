// f32 products on Intel's matrix units, which multiply bf16.
//
// The 24 significant bits of an f32 number are three bf16 numbers of 8 bits each: cutting off the low half of the
// number and of what remains loses nothing. A product of two numbers is the sum of nine products of parts, each of them
// exact; the three smallest (2^-24 of it and less) are left out, which is as much as rounding once. The units add
// sixteen times as many products in a cycle as vectors do, so six for one still leave a factor of 2.7: 440 GFLOP/s for
// the innermost loop on a core of a Xeon whose vectors reach 179 at most, 210 to 250 for whole products against 130 to
// 165. A host short of power slows the units down three times at any moment, and vectors hardly at all; products then
// take as long as with vectors, or 1.3 times.
//
// Sums are those of at most kMostDepth products, then added to the result, as in the kernels of vectors. What the units
// do otherwise: numbers below 2^-126 count as 0, in parts and in products, so that operands below 2^-102 lose their
// last part and those below 2^-110 all but the first (one in 256); and infinity times a part that is 0 is NaN, so a
// block of results that holds a NaN is computed again with vectors.

#include "tenon/backends/cpu/matmul_split.h"

#include "tenon/backends/cpu/matmul_amx.h"

#if defined(__x86_64__) && defined(__linux__)

#include "tenon/backends/cpu/amx.h"
#include "tenon/backends/cpu/call_scratch.h"
#include "tenon/base/divide.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kMostDepth = 256;
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kParts = 3;
constexpr int64_t kPlane = 2 * kTileSize;   // the tiles of one part, two side by side
constexpr int64_t kStep = kParts * kPlane;  // everything of 32 rows or columns for 32 elements of k
constexpr int64_t kSums = kPanel * kPanel;
constexpr int64_t kLeastSide = 32;
constexpr int64_t kLeastWork = 1 << 18;

using base::ceil_div;

// Elements of k that are summed on their own: even parts of whole tiles. Part of what a result's bits depend on.
int64_t depth_of(int64_t k) {
  const int64_t steps = ceil_div(k, kTileDepth), parts = ceil_div(k, kMostDepth);
  return ceil_div(steps, parts) * kTileDepth;
}

// ---- packing ----

// The upper halves of the words of each vector are a bf16 number.
struct Parts {
  __m512i part[kParts];
};

TENON_AMX inline Parts split(__m512 x) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  const __m512i high = _mm512_and_si512(_mm512_castps_si512(x), upper);
  const __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(high));
  const __m512i middle = _mm512_and_si512(_mm512_castps_si512(rest), upper);
  return {{high, middle, _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(middle)))}};
}

// 16 neighbouring numbers of each of 16 lines; what lies beyond is 0.
TENON_AMX inline void load_lines(const float* from, int64_t stride, int64_t lines, int64_t length, __m512i v[16]) {
  const __mmask16 mask = words_below(length);
  for (int64_t i = 0; i < kSide; ++i)
    v[i] = i < lines ? _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, from + i * stride)) : _mm512_setzero_si512();
}

// The same of any layout: v[i] holds elements i * line + 0, 1, ... 15 * step.
TENON_AMX void load_square(const float* from, int64_t line, int64_t step, int64_t lines, int64_t length,
                           __m512i v[16]) {
  if (step == 1) return load_lines(from, line, lines, length, v);
  if (line == 1) {
    load_lines(from, step, length, lines, v);
    return transpose_16x16(v);
  }
  alignas(64) float square[kSide][kSide] = {};
  for (int64_t i = 0; i < std::min(lines, kSide); ++i) {
    for (int64_t j = 0; j < std::min(length, kSide); ++j) square[i][j] = from[i * line + j * step];
  }
  load_lines(square[0], kSide, kSide, kSide, v);
}

// 32 elements of a row of the left operand, in order.
TENON_AMX inline void store_row(__m512 first, __m512 second, uint16_t* to) {
  static constexpr auto kUpper = [] {
    struct alignas(64) {
      uint16_t at[32];
    } upper{};
    for (int i = 0; i < 32; ++i) upper.at[i] = static_cast<uint16_t>(2 * i + 1);
    return upper;
  }();
  const Parts a = split(first), b = split(second);
  const __m512i upper = _mm512_load_si512(kUpper.at);
  for (int64_t part = 0; part < kParts; ++part)
    _mm512_store_si512(to + part * kPlane, _mm512_permutex2var_epi16(a.part[part], upper, b.part[part]));
}

// Rows k and k + 1 of 16 columns of the right operand, interleaved.
TENON_AMX inline void store_pair(__m512 even, __m512 odd, uint16_t* to) {
  const Parts a = split(even), b = split(odd);
  for (int64_t part = 0; part < kParts; ++part) {
    const __m512i low = _mm512_srli_epi32(a.part[part], 16);
    _mm512_store_si512(to + part * kPlane, _mm512_mask_blend_epi16(0xaaaaaaaa, low, b.part[part]));
  }
}

// ---- the innermost product ----

template <int kRows>
TENON_AMX inline void load_left(const uint16_t* tiles) {
  _tile_loadd(4, tiles, 64);
  if (kRows > 1) _tile_loadd(5, tiles + kTileSize, 64);
}

TENON_AMX inline void load_right(const uint16_t* tiles) {
  _tile_loadd(6, tiles, 64);
  _tile_loadd(7, tiles + kTileSize, 64);
}

template <int kRows>
TENON_AMX inline void multiply_and_load_right(const uint16_t* tiles) {
  _tile_dpbf16ps(0, 4, 6);
  if (kRows > 1) _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(6, tiles, 64);
  _tile_dpbf16ps(1, 4, 7);
  if (kRows > 1) _tile_dpbf16ps(3, 5, 7);
  _tile_loadd(7, tiles + kTileSize, 64);
}

template <int kRows>
TENON_AMX inline void multiply_and_load_left(const uint16_t* tiles) {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(4, tiles, 64);
  if (kRows > 1) _tile_dpbf16ps(2, 5, 6);
  if (kRows > 1) _tile_dpbf16ps(3, 5, 7);
  if (kRows > 1) _tile_loadd(5, tiles + kTileSize, 64);
}

// sums (kRows tiles by 2) = the product of 16 * kRows rows and 32 columns. The order of the parts saves loads, and a
// register is loaded again as soon as it has been used, some instructions before it is needed. The last step loads one
// step too many.
template <int kRows>
TENON_AMX void multiply_tiles(const uint16_t* left, const uint16_t* right, int64_t steps, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  if (kRows > 1) _tile_zero(2);
  if (kRows > 1) _tile_zero(3);
  load_left<kRows>(left);
  load_right(right + 2 * kPlane);
  for (int64_t i = 0; i < steps; ++i, left += kStep, right += kStep) {
    // From the second-level cache, a step ahead: 113 instead of 103 GFLOP/s where the units are slow.
    for (int64_t line = 0; line < kStep; line += 32) __builtin_prefetch(right + kStep + line);
    multiply_and_load_right<kRows>(right + kPlane);              // high x low
    multiply_and_load_right<kRows>(right);                       // high x middle
    multiply_and_load_left<kRows>(left + 2 * kPlane);            // high x high
    multiply_and_load_left<kRows>(left + kPlane);                // low x high
    multiply_and_load_right<kRows>(right + kPlane);              // middle x high
    multiply_and_load_right<kRows>(right + kStep + 2 * kPlane);  // middle x middle
    load_left<kRows>(left + kStep);
  }
  constexpr long kStride = kPanel * sizeof(float);
  float* below = sums + kSide * kPanel;
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kSide, kStride);
  if (kRows > 1) _tile_stored(2, below, kStride);
  if (kRows > 1) _tile_stored(3, below + kSide, kStride);
}

// c = or += sums; whether a NaN was written.
TENON_AMX bool write_sums(const float* sums, int64_t rows, int64_t columns, float* c, int64_t c_row, bool accumulate) {
  __mmask16 bad = 0;
  for (int64_t half = 0; half < 2; ++half) {
    const __mmask16 mask = words_below(columns - half * kSide);
    for (int64_t i = 0; i < rows; ++i) {
      float* to = c + i * c_row + half * kSide;
      __m512 sum = _mm512_load_ps(sums + i * kPanel + half * kSide);
      if (accumulate) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum);
      bad |= _mm512_mask_cmp_ps_mask(mask, sum, sum, _CMP_UNORD_Q);
      _mm512_mask_storeu_ps(to, mask, sum);
    }
  }
  return bad != 0;
}

// ---- a rectangle ----

class SplitProduct {
 public:
  explicit SplitProduct(const Product& p) : p_(p), depth_(depth_of(p.k)), scratch_(carve(nullptr)) {
    carve(scratch_.data());
  }

  void run() {
    const Units units;
    for (int64_t column = 0; column < p_.n; column += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, p_.n - column);
      for (int64_t k = 0; k < p_.k; k += depth_) {
        const int64_t depth = std::min(depth_, p_.k - k);
        pack_right(k, depth, column, columns);
        for (int64_t row = 0; row < p_.m; row += kPanel) {
          pack_left(row, k, depth);
          multiply_row(row, column, columns, k, depth);
        }
      }
    }
  }

 private:
  size_t carve(std::byte* base) {
    Carver carver(base);
    const int64_t steps = ceil_div(depth_, kTileDepth);
    left_ = carver.take<uint16_t>((steps + 1) * kStep);
    right_ = carver.take<uint16_t>(ceil_div(std::min(p_.n, kBlockColumns), kPanel) * steps * kStep + kStep);
    sums_ = carver.take<float>(kSums);
    return carver.used();
  }

  const float* left(int64_t row, int64_t k) const {
    return reinterpret_cast<const float*>(p_.a) + row * p_.a_row + k * p_.a_column;
  }
  const float* right(int64_t k, int64_t column) const {
    return reinterpret_cast<const float*>(p_.b) + k * p_.b_row + column * p_.b_column;
  }

  TENON_AMX void pack_left(int64_t row, int64_t k, int64_t depth) {
    uint16_t* to = left_;
    for (int64_t r = row; r < std::min(row + kPanel, p_.m); r += kSide, to += kTileSize) {
      const int64_t rows = std::min(kSide, p_.m - r);
      if (p_.a_column == 1) {
        pack_left_rows(left(r, k), rows, depth, to);
        continue;
      }
      for (int64_t i = 0; i < depth; i += kTileDepth) {
        __m512i first[16], second[16];
        load_square(left(r, k + i), p_.a_row, p_.a_column, rows, depth - i, first);
        load_square(left(r, k + i + kSide), p_.a_row, p_.a_column, rows, depth - i - kSide, second);
        for (int64_t j = 0; j < kSide; ++j)
          store_row(_mm512_castsi512_ps(first[j]), _mm512_castsi512_ps(second[j]),
                    to + i / kTileDepth * kStep + j * kTileDepth);
      }
    }
  }

  TENON_AMX void pack_left_rows(const float* from, int64_t rows, int64_t depth, uint16_t* to) const {
    for (int64_t j = 0; j < kSide; ++j, from += p_.a_row, to += kTileDepth) {
      for (int64_t i = 0; i < depth; i += kTileDepth) {
        const int64_t count = j < rows ? depth - i : 0;
        store_row(_mm512_maskz_loadu_ps(words_below(count), from + i),
                  _mm512_maskz_loadu_ps(words_below(count - kSide), from + i + kSide), to + i / kTileDepth * kStep);
      }
    }
  }

  // Panels of 32 columns, each step by step. Rows are read four panels at a time, because each lies on other pages.
  TENON_AMX void pack_right(int64_t k, int64_t depth, int64_t column, int64_t columns) {
    constexpr int64_t kAbreast = 4 * kPanel;
    const int64_t panel = ceil_div(depth, kTileDepth) * kStep;
    for (int64_t begin = 0; begin < columns; begin += kAbreast) {
      const int64_t end = std::min(columns, begin + kAbreast);
      for (int64_t i = 0; i < depth; i += kTileDepth) {
        uint16_t* to = right_ + begin / kPanel * panel + i / kTileDepth * kStep;
        if (p_.b_column == 1)
          pack_right_rows(right(k + i, column + begin), depth - i, end - begin, to, panel);
        else
          pack_right_columns(right(k + i, column + begin), depth - i, end - begin, to, panel);
      }
    }
  }

  TENON_AMX void pack_right_rows(const float* from, int64_t depth, int64_t columns, uint16_t* to, int64_t panel) const {
    for (int64_t i = 0; i < kTileDepth; i += 2, to += kTileDepth) {
      for (int64_t c = 0; c < columns; c += kSide) {
        const __mmask16 mask = words_below(columns - c), none = 0;
        const float* at = from + i * p_.b_row + c;
        store_pair(_mm512_maskz_loadu_ps(i < depth ? mask : none, at),
                   _mm512_maskz_loadu_ps(i + 1 < depth ? mask : none, at + p_.b_row),
                   to + c / kPanel * panel + c % kPanel / kSide * kTileSize);
      }
    }
  }

  TENON_AMX void pack_right_columns(const float* from, int64_t depth, int64_t columns, uint16_t* to,
                                    int64_t panel) const {
    for (int64_t c = 0; c < columns; c += kSide) {
      uint16_t* tile = to + c / kPanel * panel + c % kPanel / kSide * kTileSize;
      for (int64_t half = 0; half < 2; ++half, tile += kTileSize / 2) {
        __m512i v[16];
        load_square(from + half * kSide * p_.b_row + c * p_.b_column, p_.b_row, p_.b_column, depth - half * kSide,
                    columns - c, v);
        for (int64_t pair = 0; pair < kSide / 2; ++pair)
          store_pair(_mm512_castsi512_ps(v[2 * pair]), _mm512_castsi512_ps(v[2 * pair + 1]), tile + pair * kTileDepth);
      }
    }
  }

  // 32 rows by all columns of a block.
  void multiply_row(int64_t row, int64_t column, int64_t columns, int64_t k, int64_t depth) {
    const int64_t rows = std::min(kPanel, p_.m - row), steps = ceil_div(depth, kTileDepth);
    const auto multiply = rows > kSide ? multiply_tiles<2> : multiply_tiles<1>;
    for (int64_t c = 0; c < columns; c += kPanel) {
      float* to = reinterpret_cast<float*>(p_.c) + row * p_.c_row + column + c;
      for (int64_t i = 0; i < rows; ++i) {  // fetched while the units are busy: writing takes 215 cycles instead of 300
        __builtin_prefetch(to + i * p_.c_row, 1);
        __builtin_prefetch(to + i * p_.c_row + kSide, 1);
      }
      multiply(left_, right_ + c / kPanel * steps * kStep, steps, sums_);
      const int64_t width = std::min(kPanel, columns - c);
      const bool has_nan = write_sums(sums_, rows, width, to, p_.c_row, k > 0);
      if (has_nan && k + depth == p_.k) multiply_again(row, rows, column + c, width);
    }
  }

  void multiply_again(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    Product block = p_;
    block.m = rows;
    block.n = columns;
    block.a = reinterpret_cast<const std::byte*>(left(row, 0));
    block.b = reinterpret_cast<const std::byte*>(right(0, column));
    block.c += (row * p_.c_row + column) * static_cast<int64_t>(sizeof(float));
    multiply_f32(block);
  }

  const Product& p_;
  int64_t depth_;
  uint16_t *left_ = nullptr, *right_ = nullptr;
  float* sums_ = nullptr;
  Scratch scratch_;
};

}  // namespace

bool is_split(int64_t m, int64_t n, int64_t k) {
  return m >= kLeastSide && n >= kLeastSide && k >= kLeastSide && m * n * k >= kLeastWork && has_amx();
}

void multiply_split(const Product& product) { SplitProduct(product).run(); }

}  // namespace tenon::backends::cpu

#else

namespace tenon::backends::cpu {

bool is_split(int64_t, int64_t, int64_t) { return false; }
void multiply_split(const Product& product) { multiply_f32(product); }

}  // namespace tenon::backends::cpu

#endif
