// bf16 products with ARM's matrix instructions.
//
// One instruction multiplies 2 rows by 2 columns over 4 elements of k: four times as many products as one for f32. Both
// operands are packed alike, a few lines (rows or columns) at a time: four elements of k of two lines make a vector. A
// tile of 8 rows by 12 columns has its sums in 24 registers. The instruction rounds sums of two products to odd and
// takes subnormals for 0, which is what a bf16 product is specified to be on ARM; its sums are f32 all the same.

#include "tenon/backends/cpu/matmul/arm.h"

#if defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"

#define TENON_BF16 __attribute__((target("arch=armv8.2-a+bf16+fp16")))

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kRows = 8, kColumns = 12;  // of a tile
constexpr int64_t kGroup = 4;                // elements of k in an instruction
// Elements of k that are summed on their own. Part of what a result's bits depend on.
constexpr int64_t kMostDepth = 384;
constexpr int64_t kBlockRows = 192;
constexpr int64_t kBlockColumns = 528;  // whole tiles, and no fewer than a rectangle has

using base::ceil_div;
using base::round_up;

int64_t depth_of(int64_t k) { return k <= kMostDepth ? k : round_up(ceil_div(k, ceil_div(k, kMostDepth)), kGroup); }

// Lines of an operand: rows of the left one, columns of the right one.
struct Lines {
  const uint16_t* data;
  int64_t line, k;  // strides
};

// Whole lines that lie in order of k: eight elements of two lines are two vectors.
template <int64_t kLines>
void pack_along(const Lines& from, int64_t depth, uint16_t* to) {
  for (int64_t i = 0; i < depth; i += 2 * kGroup, to += 2 * kGroup * kLines) {
#pragma GCC unroll 6
    for (int64_t pair = 0; pair < kLines / 2; ++pair) {
      const uint16_t* at = from.data + 2 * pair * from.line + i;
      const uint64x2_t first = vreinterpretq_u64_u16(vld1q_u16(at));
      const uint64x2_t second = vreinterpretq_u64_u16(vld1q_u16(at + from.line));
      vst1q_u16(to + pair * 8, vreinterpretq_u16_u64(vzip1q_u64(first, second)));
      vst1q_u16(to + kGroup * kLines + pair * 8, vreinterpretq_u16_u64(vzip2q_u64(first, second)));
    }
  }
}

inline void store_pairs(uint16x4_t a, uint16x4_t b, uint16x4_t c, uint16x4_t d, uint16_t* to) {
  const uint16x4x2_t ab = vzip_u16(a, b), cd = vzip_u16(c, d);
  for (int half = 0; half < 2; ++half) {
    const uint32x2x2_t both = vzip_u32(vreinterpret_u32_u16(ab.val[half]), vreinterpret_u32_u16(cd.val[half]));
    vst1q_u16(to + 8 * half, vreinterpretq_u16_u32(vcombine_u32(both.val[0], both.val[1])));
  }
}

// Whole lines side by side, each step of k a line away: four steps of four lines are two vectors.
template <int64_t kLines>
void pack_across(const Lines& from, int64_t depth, uint16_t* to) {
  for (int64_t i = 0; i < depth; i += kGroup, to += kGroup * kLines) {
    const uint16_t* at = from.data + i * from.k;
#pragma GCC unroll 3
    for (int64_t line = 0; line < kLines; line += 4) {
      store_pairs(vld1_u16(at + line), vld1_u16(at + from.k + line), vld1_u16(at + 2 * from.k + line),
                  vld1_u16(at + 3 * from.k + line), to + kGroup * line);
    }
  }
}

template <int64_t kLines>
void pack_any(const Lines& from, int64_t lines, int64_t first, int64_t depth, uint16_t* to) {
  for (int64_t i = first; i < depth; i += kGroup) {
    uint16_t* group = to + i * kLines;
    std::memset(group, 0, kGroup * kLines * sizeof(uint16_t));
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t k = i; k < std::min(i + kGroup, depth); ++k)
        group[line / 2 * 8 + line % 2 * kGroup + (k - i)] = from.data[line * from.line + k * from.k];
    }
  }
}

// kLines lines, of which `lines` are there; the rest, and what is beyond `depth`, is 0.
template <int64_t kLines>
void pack(const Lines& from, int64_t lines, int64_t depth, uint16_t* to) {
  int64_t done = 0;
  if (lines == kLines && from.k == 1) {
    done = depth / (2 * kGroup) * (2 * kGroup);
    pack_along<kLines>(from, done, to);
  } else if (lines == kLines && from.line == 1) {
    done = depth / kGroup * kGroup;
    pack_across<kLines>(from, done, to);
  }
  pack_any<kLines>(from, lines, done, depth, to);
}

struct Tile {
  float* c;
  int64_t step;
  int64_t rows, columns;  // that are there
  bool accumulate;
};

TENON_BF16 inline bfloat16x8_t load(const uint16_t* from) { return vreinterpretq_bf16_u16(vld1q_u16(from)); }

inline void write(float32x4_t sum, float* to, bool accumulate) {
  vst1q_f32(to, accumulate ? vaddq_f32(vld1q_f32(to), sum) : sum);
}

TENON_BF16 void multiply_tile(int64_t groups, const uint16_t* a, const uint16_t* b, const Tile& tile) {
  float32x4_t sums[kRows / 2][kColumns / 2];
#pragma GCC unroll 4
  for (auto& row : sums) {
#pragma GCC unroll 6
    for (float32x4_t& sum : row) sum = vdupq_n_f32(0);
  }
  for (int64_t i = 0; i < groups; ++i, a += kGroup * kRows, b += kGroup * kColumns) {
    bfloat16x8_t left[kRows / 2];
#pragma GCC unroll 4
    for (int r = 0; r < kRows / 2; ++r) left[r] = load(a + 8 * r);
#pragma GCC unroll 6
    for (int c = 0; c < kColumns / 2; ++c) {
      asm volatile("" ::: "memory");  // or GCC loads all columns first, and has no registers left for two of the sums
      const bfloat16x8_t right = load(b + 8 * c);
#pragma GCC unroll 4
      for (int r = 0; r < kRows / 2; ++r) sums[r][c] = vbfmmlaq_f32(sums[r][c], left[r], right);
    }
  }
  // A register has two columns of two rows.
  float edge[kRows * kColumns];
  const bool is_whole = tile.rows == kRows && tile.columns == kColumns;
  float* to = is_whole ? tile.c : edge;
  const int64_t step = is_whole ? tile.step : kColumns;
  const bool accumulate = is_whole && tile.accumulate;
#pragma GCC unroll 4
  for (int r = 0; r < kRows / 2; ++r) {
#pragma GCC unroll 3
    for (int c = 0; c < kColumns / 2; c += 2) {
      const float32x4_t x = sums[r][c], y = sums[r][c + 1];
      write(vcombine_f32(vget_low_f32(x), vget_low_f32(y)), to + 2 * r * step + 2 * c, accumulate);
      write(vcombine_f32(vget_high_f32(x), vget_high_f32(y)), to + (2 * r + 1) * step + 2 * c, accumulate);
    }
  }
  if (is_whole) return;
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.columns; ++c) {
      float& at = tile.c[r * tile.step + c];
      at = tile.accumulate ? at + edge[r * kColumns + c] : edge[r * kColumns + c];
    }
  }
}

// To nearest even; NaN stays one.
inline uint16x4_t round_bf16(float32x4_t value) {
  const uint32x4_t bits = vreinterpretq_u32_f32(value);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(value, value), rounded, quiet), 16);
}

class Bf16Product {
 public:
  explicit Bf16Product(const Product& p)
      : p_(p), depth_(depth_of(p.k)), rounds_(p.out == DType::bf16), scratch_(carve(nullptr)) {
    carve(scratch_.data());
  }

  void run() {
    for (int64_t column = 0; column < p_.n; column += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, p_.n - column);
      for (int64_t k = 0; k < p_.k; k += depth_) {
        const int64_t depth = std::min(depth_, p_.k - k);
        pack_right(k, depth, column, columns);
        for (int64_t row = 0; row < p_.m; row += kBlockRows) {
          const int64_t rows = std::min(kBlockRows, p_.m - row);
          pack_left(row, rows, k, depth);
          multiply(row, rows, column, columns, k, depth);
        }
      }
      if (rounds_) round(column, columns);
    }
  }

 private:
  size_t carve(std::byte* base) {
    Carver carver(base);
    const int64_t depth = round_up(depth_, kGroup), columns = std::min(p_.n, kBlockColumns);
    left_ = carver.take<uint16_t>(round_up(std::min(p_.m, kBlockRows), kRows) * depth);
    right_ = carver.take<uint16_t>(round_up(columns, kColumns) * depth);
    if (rounds_) sums_ = carver.take<float>(p_.m * columns);
    return carver.used();
  }

  void pack_left(int64_t row, int64_t rows, int64_t k, int64_t depth) {
    for (int64_t r = 0; r < rows; r += kRows) {
      const auto* from = reinterpret_cast<const uint16_t*>(p_.a) + (row + r) * p_.a_row + k * p_.a_column;
      pack<kRows>({from, p_.a_row, p_.a_column}, std::min(kRows, rows - r), depth, left_ + r * round_up(depth, kGroup));
    }
  }

  void pack_right(int64_t k, int64_t depth, int64_t column, int64_t columns) {
    for (int64_t c = 0; c < columns; c += kColumns) {
      const auto* from = reinterpret_cast<const uint16_t*>(p_.b) + k * p_.b_row + (column + c) * p_.b_column;
      pack<kColumns>({from, p_.b_column, p_.b_row}, std::min(kColumns, columns - c), depth,
                     right_ + c * round_up(depth, kGroup));
    }
  }

  // A panel of columns stays in the first-level cache while the rows pass by.
  void multiply(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k, int64_t depth) {
    const int64_t step = rounds_ ? columns : p_.c_row, packed = round_up(depth, kGroup);
    float* block = rounds_ ? sums_ + row * step : reinterpret_cast<float*>(p_.c) + row * step + column;
    for (int64_t c = 0; c < columns; c += kColumns) {
      for (int64_t r = 0; r < rows; r += kRows) {
        multiply_tile(packed / kGroup, left_ + r * packed, right_ + c * packed,
                      {block + r * step + c, step, std::min(kRows, rows - r), std::min(kColumns, columns - c), k > 0});
      }
    }
  }

  void round(int64_t column, int64_t columns) {
    for (int64_t row = 0; row < p_.m; ++row) {
      const float* from = sums_ + row * columns;
      uint16_t* to = reinterpret_cast<uint16_t*>(p_.c) + row * p_.c_row + column;
      int64_t i = 0;
      for (; i + 4 <= columns; i += 4) vst1_u16(to + i, round_bf16(vld1q_f32(from + i)));
      for (; i < columns; ++i) to[i] = vget_lane_u16(round_bf16(vdupq_n_f32(from[i])), 0);
    }
  }

  const Product& p_;
  int64_t depth_;
  bool rounds_;
  uint16_t *left_ = nullptr, *right_ = nullptr;
  float* sums_ = nullptr;
  Scratch scratch_;
};

}  // namespace

bool has_bf16_products() {
  constexpr unsigned long kBf16 = 1 << 14;  // HWCAP2_BF16
  static const bool has = (getauxval(AT_HWCAP2) & kBf16) != 0;
  return has;
}

void multiply_bf16(const Product& product) { Bf16Product(product).run(); }

}  // namespace tenon::backends::cpu

#else

namespace tenon::backends::cpu {

bool has_bf16_products() { return false; }
void multiply_bf16(const Product& product) { multiply_f32(product); }

}  // namespace tenon::backends::cpu

#endif
