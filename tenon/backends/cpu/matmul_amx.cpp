// bf16 products on Intel's matrix units.
//
// A tile register holds 16 rows of 64 bytes; one instruction adds the product of a 16x32 and a 32x16 tile to a 16x16
// tile of f32 sums in 16 cycles. Four of the eight registers are sums (a 32x32 block of the result), so that each tile
// loaded is used twice. Both operands are packed into tiles, the right one with pairs of rows interleaved as the
// instruction wants them: a strip of columns at a time by the thread that uses it. (Packed once for all, 512 x 768 x
// 768 took twice the sum of its parts; lines that another core has just written are the suspected, not the proven,
// cause.) The left operand is packed by each thread too where it is small, and once for all where it is not. kDepth
// elements of a 32-column panel (32 KiB) stay in the first-level cache while the rows of a block pass by. An element is
// summed in ascending order of k, cut at kDepth, whatever the blocks and threads.

#include "tenon/backends/cpu/matmul_amx.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
// GCC 12 warns about its own headers: _mm512_undefined_epi32 reads what it does not write (GCC bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/call_kernels.h"
#include "tenon/base/parallel.h"

#define TENON_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kSide = 16;       // rows of a tile, and columns of a tile of sums
constexpr int64_t kTileDepth = 32;  // elements of k in a tile
constexpr int64_t kTileSize = 512;  // elements of a tile of operands
constexpr int64_t kDepth = 512;     // part of what a result's bits depend on
constexpr int64_t kBlockRows = 256;
constexpr int64_t kSmallLeft = 1 << 20;  // bytes of a left operand that every thread packs for itself
constexpr int64_t kPackDepth = 2048;     // elements of k that a strip holds at a time: 1 MiB with 256 columns
constexpr int64_t kManyRows = 1024;      // for which such a part of a strip is packed, when there are several
constexpr int64_t kGrain = 1 << 21;      // multiply-adds below which a second thread costs more than it saves
constexpr int64_t kWorthwhile = 1 << 15;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool ask_for_units() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  if (!(d & kAmxBf16) || !(d & kAmxTile) || !__builtin_cpu_supports("avx512bw")) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

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

// One operand, bf16, with strides in elements.
struct Matrix {
  const uint16_t* data;
  int64_t row, column;
};

// ---- packing ----

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

TENON_AMX inline __mmask32 first(int64_t n) {
  return n >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((uint64_t{1} << std::max<int64_t>(n, 0)) - 1);
}

// lines[i] is 32 neighbouring elements of line i; lines and elements beyond the matrix are 0.
TENON_AMX inline void load_lines(const uint16_t* from, int64_t stride, int64_t lines, int64_t length, __m512i v[16]) {
  const __mmask32 mask = first(length);
  for (int64_t i = 0; i < kSide; ++i)
    v[i] = i < lines ? _mm512_maskz_loadu_epi16(mask, from + i * stride) : _mm512_setzero_si512();
}

// pairs[i] interleaves lines 2i and 2i + 1 of 16 neighbouring elements.
TENON_AMX inline void load_pairs(const uint16_t* from, int64_t stride, int64_t lines, int64_t length, __m512i v[16]) {
  const auto mask = static_cast<__mmask16>(first(std::min(length, kSide)));
  for (int64_t i = 0; i < kSide; ++i) {
    __m512i even = _mm512_setzero_si512(), odd = even;
    if (2 * i < lines) even = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + 2 * i * stride));
    if (2 * i + 1 < lines) odd = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + (2 * i + 1) * stride));
    v[i] = _mm512_or_si512(even, _mm512_slli_epi32(odd, 16));
  }
}

TENON_AMX inline void store_tile(const __m512i v[16], uint16_t* to) {
  for (int i = 0; i < kSide; ++i) _mm512_storeu_si512(to + i * kTileDepth, v[i]);
}

// Two tiles side by side of a right operand whose rows are contiguous: whole cache lines of two rows are interleaved.
TENON_AMX void pack_two_tiles(const uint16_t* from, int64_t k_stride, int64_t depth, uint16_t* first,
                              uint16_t* second) {
  alignas(64) static const uint16_t kLow[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const __m512i zero = _mm512_setzero_si512();
  for (int64_t i = 0; i < kSide; ++i) {
    const __m512i even = 2 * i < depth ? _mm512_loadu_si512(from + 2 * i * k_stride) : zero;
    const __m512i odd = 2 * i + 1 < depth ? _mm512_loadu_si512(from + (2 * i + 1) * k_stride) : zero;
    _mm512_storeu_si512(first + i * kTileDepth, _mm512_permutex2var_epi16(even, low, odd));
    _mm512_storeu_si512(second + i * kTileDepth, _mm512_permutex2var_epi16(even, high, odd));
  }
}

// A tile whose rows are 16 lines of 32 elements of k. Left operand: lines are rows. Right operand: `turned`, the tile
// is 16 pairs of k by 16 lines, which is the same tile with its words turned.
TENON_AMX void pack_tile(const uint16_t* from, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t depth,
                         bool turned, uint16_t* to) {
  __m512i v[16];
  lines = std::min(lines, kSide);
  depth = std::min(depth, kTileDepth);
  if (k_stride == 1) {
    load_lines(from, line_stride, lines, depth, v);
    if (turned) transpose_16x16(v);
    return store_tile(v, to);
  }
  if (line_stride == 1) {
    load_pairs(from, k_stride, depth, lines, v);
    if (!turned) transpose_16x16(v);
    return store_tile(v, to);
  }
  std::memset(to, 0, kTileSize * sizeof(uint16_t));
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t k = 0; k < depth; ++k) {
      const uint16_t value = from[line * line_stride + k * k_stride];
      if (turned)
        to[k / 2 * kTileDepth + 2 * line + k % 2] = value;
      else
        to[line * kTileDepth + k] = value;
    }
  }
}

// ---- the innermost product ----

// sums (rows x columns of tiles, row_stride floats apart) = or += left tiles x right tiles over `steps` tiles of k.
template <int kRows, int kColumns>
TENON_AMX void multiply_tiles(const uint16_t* left, int64_t left_step, const uint16_t* right, int64_t right_step,
                              int64_t steps, float* sums, int64_t row_stride, bool accumulate) {
  const auto stride = static_cast<long>(row_stride * 4);
  if (accumulate) {
    _tile_loadd(0, sums, stride);
    if (kColumns > 1) _tile_loadd(1, sums + kSide, stride);
    if (kRows > 1) _tile_loadd(2, sums + kSide * row_stride, stride);
    if (kRows > 1 && kColumns > 1) _tile_loadd(3, sums + kSide * row_stride + kSide, stride);
  } else {
    _tile_zero(0);
    if (kColumns > 1) _tile_zero(1);
    if (kRows > 1) _tile_zero(2);
    if (kRows > 1 && kColumns > 1) _tile_zero(3);
  }
  for (int64_t i = 0; i < steps; ++i) {
    _tile_loadd(4, left, 64);
    _tile_loadd(6, right, 64);
    _tile_dpbf16ps(0, 4, 6);
    if (kColumns > 1) {
      _tile_loadd(7, right + right_step, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (kRows > 1) {
      _tile_loadd(5, left + left_step, 64);
      _tile_dpbf16ps(2, 5, 6);
      if (kColumns > 1) _tile_dpbf16ps(3, 5, 7);
    }
    left += kTileSize;
    right += kTileSize;
  }
  _tile_stored(0, sums, stride);
  if (kColumns > 1) _tile_stored(1, sums + kSide, stride);
  if (kRows > 1) _tile_stored(2, sums + kSide * row_stride, stride);
  if (kRows > 1 && kColumns > 1) _tile_stored(3, sums + kSide * row_stride + kSide, stride);
}

// Rounds to nearest even; NaN stays one.
TENON_AMX void write_bf16(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; i += kSide) {
    const auto mask = static_cast<__mmask16>(first(std::min(n - i, kSide)));
    const __m512 value = _mm512_maskz_loadu_ps(mask, from + i);
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __m512i chosen = _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16);
    _mm256_mask_storeu_epi16(to + i, mask, _mm512_cvtepi32_epi16(chosen));
  }
}

// ---- a whole product ----

class ContractAmx : public ContractKernel {
 public:
  explicit ContractAmx(const ir::Call& call)
      : a_(call.inputs[0], wanted(call.inputs[0])),
        b_(call.inputs[1], wanted(call.inputs[1])),
        out_(call.outputs[0].dtype) {
    const size_t rank = a_.shape().size();
    m_ = a_.shape()[rank - 2];
    k_ = a_.shape()[rank - 1];
    n_ = b_.shape()[rank - 1];
    for (size_t i = 0; i + 2 < rank; ++i) batches_ *= a_.shape()[i];
    depth_tiles_ = ceil_div(k_, kTileDepth);
  }

  void multiply(const std::byte* a_data, const std::byte* b_data, std::byte* c,
                const Finished* finished) const override {
    const Input::Bound a(a_, a_data), b(b_, b_data);
    const int64_t work = m_ * n_ * k_;
    const auto one = [&](int64_t batch) {
      multiply_one(matrix(a_, a.as<uint16_t>(), batch), matrix(b_, b.as<uint16_t>(), batch),
                   c + batch * m_ * n_ * static_cast<int64_t>(size_of(out_)), batch * m_, finished);
    };
    // Many products, or small ones: a thread takes whole products. Few and large: threads share each.
    if (batches_ > 1 && (work < kGrain || batches_ >= 2 * base::num_threads())) {
      return base::parallel_for(batches_, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
                                [&](int64_t begin, int64_t end) {
                                  for (int64_t batch = begin; batch < end; ++batch) one(batch);
                                });
    }
    for (int64_t batch = 0; batch < batches_; ++batch) one(batch);
  }

 private:
  static Input::Wanted wanted(const ir::Operand& operand) {
    return operand.map.is_strided() ? Input::Wanted::strided : Input::Wanted::contiguous;
  }

  static Matrix matrix(const Input& input, const uint16_t* data, int64_t batch) {
    const size_t rank = input.shape().size();
    for (size_t i = rank - 2; i-- > 0;) {
      data += batch % input.shape()[i] * input.strides()[i];
      batch /= input.shape()[i];
    }
    return {data, input.strides()[rank - 2], input.strides()[rank - 1]};
  }

  bool shares_left() const { return m_ * k_ * 2 > kSmallLeft; }

  // Parts of the rows by strips of the columns, as many as there are threads or a multiple of it.
  struct Cut {
    int64_t parts, columns;
  };
  Cut cut(int64_t threads) const {
    const int64_t widest = shares_left() || k_ > 1024 ? 256 : 512, unit = 2 * kSide;
    const int64_t strips = threads * ceil_div(n_, threads * widest);
    Cut cut{1, std::max(ceil_div(ceil_div(n_, strips), unit) * unit, threads > 1 ? 2 * unit : unit)};
    const int64_t made = ceil_div(n_, cut.columns);
    if (made < threads) cut.parts = std::max<int64_t>(1, std::min(ceil_div(threads, made), m_ / (4 * kSide)));
    return cut;
  }

  // `first_row` is how many rows of the whole result lie before this product's.
  void multiply_one(const Matrix& a, const Matrix& b, std::byte* c, int64_t first_row, const Finished* finished) const {
    const int64_t threads = m_ * n_ * k_ < kGrain ? 1 : base::num_threads();
    const Cut cuts = cut(threads);
    const auto share = [&](int64_t tasks, auto&& task) {
      if (threads > 1) return base::parallel_tasks(tasks, task);
      for (int64_t i = 0; i < tasks; ++i) task(i);
    };
    const int64_t row_tiles = ceil_div(m_, kSide);
    const Scratch packed(shares_left() ? bytes_of(row_tiles, depth_tiles_) : 64);
    if (shares_left()) {
      constexpr int64_t kGroup = 4;
      share(ceil_div(row_tiles, kGroup), [&](int64_t i) {
        pack(a.data, a.row, a.column, m_, i * kGroup, std::min(row_tiles, (i + 1) * kGroup), 0, depth_tiles_, false,
             packed.as<uint16_t>() + i * kGroup * depth_tiles_ * kTileSize);
      });
    }
    share(cuts.parts * ceil_div(n_, cuts.columns), [&](int64_t i) {
      const int64_t part = i % cuts.parts, column = i / cuts.parts * cuts.columns;
      const int64_t first = row_tiles * part / cuts.parts, last = row_tiles * (part + 1) / cuts.parts;
      multiply_strip(a, shares_left() ? packed.as<uint16_t>() : nullptr, b, c, first * kSide,
                     std::min(m_, last * kSide), column, std::min(cuts.columns, n_ - column), first_row, finished);
    });
  }

  // Rows begin ... end - 1 of a strip of the result. `packed` is the whole left operand, if it is packed already.
  void multiply_strip(const Matrix& a, const uint16_t* packed, const Matrix& b, std::byte* c, int64_t begin,
                      int64_t end, int64_t column, int64_t columns, int64_t first_row, const Finished* finished) const {
    constexpr int64_t kPackSteps = kPackDepth / kTileDepth;
    const int64_t column_tiles = ceil_div(columns, kSide), width = column_tiles * kSide;
    const bool packs_once = depth_tiles_ <= kPackSteps;
    const int64_t pack_steps = std::min(kPackSteps, depth_tiles_), block = packs_once ? kBlockRows : kManyRows;
    const Scratch strip(bytes_of(column_tiles, pack_steps));
    const Scratch own(packed ? 64 : bytes_of(ceil_div(std::min(block, end - begin), kSide), depth_tiles_));
    const auto pack_part = [&](int64_t step, int64_t steps) {
      pack(b.data, b.column, b.row, n_, column / kSide, column / kSide + column_tiles, step, step + steps, true,
           strip.as<uint16_t>());
    };
    if (packs_once) pack_part(0, depth_tiles_);
    const Units units;
    for (int64_t row = begin; row < end; row += block) {
      const int64_t rows = std::min(block, end - row), row_tiles = ceil_div(rows, kSide);
      const uint16_t* left = packed + row / kSide * depth_tiles_ * kTileSize;
      if (!packed) {
        pack(a.data, a.row, a.column, m_, row / kSide, row / kSide + row_tiles, 0, depth_tiles_, false,
             own.as<uint16_t>());
        left = own.as<uint16_t>();
      }
      // Sums go straight into a result that is f32 and made of whole tiles.
      const bool direct = out_ == DType::f32 && rows % kSide == 0 && columns % kSide == 0;
      const Scratch scratch(direct ? 64 : static_cast<size_t>(row_tiles * kSide * width) * sizeof(float));
      float* sums = direct ? reinterpret_cast<float*>(c) + row * n_ + column : scratch.as<float>();
      const int64_t stride = direct ? n_ : width;
      for (int64_t step = 0; step < depth_tiles_; step += pack_steps) {
        const int64_t steps = std::min(pack_steps, depth_tiles_ - step);
        if (!packs_once) pack_part(step, steps);
        multiply_block(left, row_tiles, step, steps, strip.as<uint16_t>(), column_tiles, sums, stride);
      }
      if (!direct) write(sums, width, c, row, rows, column, columns);
      if (finished) (*finished)(first_row + row, rows, column, columns);
    }
  }

  static size_t bytes_of(int64_t line_tiles, int64_t steps) {
    return static_cast<size_t>(line_tiles * steps * kTileSize) * sizeof(uint16_t);
  }

  // Tiles first_tile ... last_tile - 1 of lines, each as the tiles of its steps behind one another.
  void pack(const uint16_t* from, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t first_tile,
            int64_t last_tile, int64_t first_step, int64_t last_step, bool turned, uint16_t* to) const {
    const int64_t steps = last_step - first_step, line = steps * kTileSize;
    for (int64_t tile = first_tile; tile < last_tile; ++tile, to += line) {
      const bool two = turned && line_stride == 1 && tile + 2 <= last_tile && lines >= (tile + 2) * kSide;
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t k = (first_step + i) * kTileDepth;
        const uint16_t* at = from + tile * kSide * line_stride + k * k_stride;
        if (two)
          pack_two_tiles(at, k_stride, k_ - k, to + i * kTileSize, to + line + i * kTileSize);
        else
          pack_tile(at, line_stride, k_stride, lines - tile * kSide, k_ - k, turned, to + i * kTileSize);
      }
      if (two) {
        ++tile;
        to += line;
      }
    }
  }

  // sums = (or +=, behind the first step) rows of the left operand x a packed part of a strip.
  void multiply_block(const uint16_t* left, int64_t row_tiles, int64_t first_step, int64_t steps, const uint16_t* strip,
                      int64_t column_tiles, float* sums, int64_t stride) const {
    constexpr int64_t kSteps = kDepth / kTileDepth;
    const int64_t line = steps * kTileSize, left_line = depth_tiles_ * kTileSize;
    for (int64_t step = 0; step < steps; step += kSteps) {
      const int64_t count = std::min(kSteps, steps - step);
      for (int64_t block = 0; block < row_tiles; block += kBlockRows / kSide) {
        const int64_t block_end = std::min(row_tiles, block + kBlockRows / kSide);
        for (int64_t j = 0; j < column_tiles; j += 2) {
          for (int64_t i = block; i < block_end; i += 2) {
            const auto multiply = pick(block_end - i, column_tiles - j);
            multiply(left + i * left_line + (first_step + step) * kTileSize, left_line,
                     strip + j * line + step * kTileSize, line, count, sums + i * kSide * stride + j * kSide, stride,
                     first_step + step > 0);
          }
        }
      }
    }
  }

  void write(const float* sums, int64_t width, std::byte* c, int64_t row, int64_t rows, int64_t column,
             int64_t columns) const {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = (row + i) * n_ + column;
      if (out_ == DType::f32)
        std::memcpy(reinterpret_cast<float*>(c) + at, sums + i * width, static_cast<size_t>(columns) * sizeof(float));
      else
        write_bf16(sums + i * width, reinterpret_cast<uint16_t*>(c) + at, columns);
    }
  }

  static auto pick(int64_t rows, int64_t columns) -> decltype(&multiply_tiles<2, 2>) {
    if (rows > 1) return columns > 1 ? multiply_tiles<2, 2> : multiply_tiles<2, 1>;
    return columns > 1 ? multiply_tiles<1, 2> : multiply_tiles<1, 1>;
  }

  Input a_, b_;
  DType out_;
  int64_t m_, n_, k_, batches_ = 1, depth_tiles_;
};

}  // namespace

bool has_amx() {
  static const bool granted = ask_for_units();
  return granted;
}

std::unique_ptr<ContractKernel> compile_contract_amx(const ir::Call& call) {
  const DType out = call.outputs[0].dtype;
  const Dims& a = call.inputs[0].map.shape();
  const int64_t columns = call.inputs[1].map.shape().back();
  const int64_t work = a[a.size() - 2] * a[a.size() - 1] * columns;
  if (call.inputs[0].dtype != DType::bf16 || (out != DType::f32 && out != DType::bf16)) return nullptr;
  if (work < kWorthwhile || ir::count(a) == 0 || !has_amx()) return nullptr;
  return std::make_unique<ContractAmx>(call);
}

}  // namespace tenon::backends::cpu

#else

namespace tenon::backends::cpu {

bool has_amx() { return false; }
std::unique_ptr<ContractKernel> compile_contract_amx(const ir::Call&) { return nullptr; }

}  // namespace tenon::backends::cpu

#endif
