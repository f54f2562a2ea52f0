// bf16 products on Intel's matrix units.
//
// A tile register holds 16 rows of 64 bytes; one instruction adds the product of a 16x32 and a 32x16 tile to a 16x16
// tile of f32 sums in 16 cycles. Four of the eight registers are sums (a 32x32 block of the result), so that each tile
// loaded is used twice. Tiles of the left operand are loaded from its rows as they lie, where they are whole tiles; the
// right one is packed, with pairs of rows interleaved as the instruction wants them: a strip of columns at a time by
// the thread that uses it, because lines that another core has just written are slow to read. 32 rows of the left
// operand pass by all columns of the strip, and every block of sums is rounded while it is in the first-level cache.
// For 512 x 768 x 768 on one core of a Xeon that took 613 µs; with a packed left operand, and all sums rounded at the
// end, 702. Fetching tiles ahead made it slower (680 to 900). An element is summed in ascending order of k, whatever
// the blocks and threads: sums that wait in memory are not rounded.

#include "tenon/backends/cpu/matmul/amx.h"

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

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/divide.h"
#include "tenon/base/parallel.h"

#define TENON_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kSide = 16;       // rows of a tile, and columns of a tile of sums
constexpr int64_t kTileDepth = 32;  // elements of k in a tile
constexpr int64_t kTileSize = 512;  // elements of a tile of operands
constexpr int64_t kPanel = 32;      // columns of two tiles side by side
constexpr int64_t kBlockRows = 256;
constexpr int64_t kSmallLeft = 1 << 20;  // bytes of a left operand that every thread packs for itself
constexpr int64_t kPackDepth = 1024;     // elements of k that a strip holds at a time: 1 MiB with 512 columns
constexpr int64_t kManyRows = 1024;      // for which such a part of a strip is packed, when there are several
constexpr int64_t kMostColumnsOfTall = 1024;
constexpr int64_t kMostRightOfTall = 4 << 20;  // bytes of all columns, which every thread keeps packed
constexpr int64_t kGrain = 1 << 21;            // multiply-adds below which a second thread costs more than it saves
constexpr int64_t kWorthwhile = 1 << 15;

using base::ceil_div;

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

// One operand, bf16, with strides in elements.
struct Matrix {
  const uint16_t* data;
  int64_t row, column;
};

// Lanes below n, of 32 halves or of 16 words.
TENON_AMX inline __mmask32 halves_below(int64_t n) {
  return n >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((uint64_t{1} << std::max<int64_t>(n, 0)) - 1);
}

TENON_AMX inline __mmask16 words_below(int64_t n) { return static_cast<__mmask16>(halves_below(std::min(n, kSide))); }

TENON_AMX inline void store_tile(const __m512i v[16], uint16_t* to) {
  for (int i = 0; i < kSide; ++i) _mm512_storeu_si512(to + i * kTileDepth, v[i]);
}

// pairs[i] interleaves lines 2i and 2i + 1 of 16 neighbouring elements.
TENON_AMX inline void load_pairs(const uint16_t* from, int64_t stride, int64_t lines, int64_t length, __m512i v[16]) {
  const auto mask = words_below(length);
  for (int64_t i = 0; i < kSide; ++i) {
    __m512i even = _mm512_setzero_si512(), odd = even;
    if (2 * i < lines) even = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + 2 * i * stride));
    if (2 * i + 1 < lines) odd = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + (2 * i + 1) * stride));
    v[i] = _mm512_or_si512(even, _mm512_slli_epi32(odd, 16));
  }
}

// A tile of the left operand: 16 rows of 32 elements of k; what lies beyond the matrix is 0.
TENON_AMX void pack_left_tile(const uint16_t* from, int64_t row, int64_t column, int64_t rows, int64_t depth,
                              uint16_t* to) {
  __m512i v[16];
  if (column == 1) {
    const __mmask32 mask = halves_below(depth);
    for (int64_t i = 0; i < kSide; ++i)
      v[i] = i < rows ? _mm512_maskz_loadu_epi16(mask, from + i * row) : _mm512_setzero_si512();
    return store_tile(v, to);
  }
  if (row == 1) {
    load_pairs(from, column, depth, rows, v);
    transpose_16x16(v);
    return store_tile(v, to);
  }
  std::memset(to, 0, kTileSize * sizeof(uint16_t));
  for (int64_t i = 0; i < std::min(rows, kSide); ++i) {
    for (int64_t k = 0; k < std::min(depth, kTileDepth); ++k) to[i * kTileDepth + k] = from[i * row + k * column];
  }
}

// Columns of a panel are dealt to its two tiles four at a time: so one unpack instruction interleaves two rows, and one
// pack instruction puts rounded sums back in order.
constexpr int64_t column_of(int64_t tile, int64_t i) { return i / 4 * 8 + tile * 4 + i % 4; }

// Rows k and k + 1 of 32 columns, interleaved.
TENON_AMX inline void pack_two_rows(const uint16_t* from, int64_t row, int64_t depth, __mmask32 mask, uint16_t* to,
                                    int64_t tile_step) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i even = depth > 0 ? _mm512_maskz_loadu_epi16(mask, from) : zero;
  const __m512i odd = depth > 1 ? _mm512_maskz_loadu_epi16(mask, from + row) : zero;
  _mm512_storeu_si512(to, _mm512_unpacklo_epi16(even, odd));
  _mm512_storeu_si512(to + tile_step, _mm512_unpackhi_epi16(even, odd));
}

// The two tiles of a panel, 32 rows deep, of an operand whose rows are not contiguous.
TENON_AMX void pack_right_tiles(const uint16_t* from, int64_t row, int64_t column, int64_t columns, int64_t depth,
                                uint16_t* to, int64_t tile_step) {
  for (int64_t tile = 0; tile < 2; ++tile, to += tile_step) {
    if (row == 1) {
      const __mmask32 mask = halves_below(depth);
      __m512i v[16];
      for (int64_t i = 0; i < kSide; ++i) {
        const int64_t c = column_of(tile, i);
        v[i] = c < columns ? _mm512_maskz_loadu_epi16(mask, from + c * column) : _mm512_setzero_si512();
      }
      transpose_16x16(v);
      store_tile(v, to);
      continue;
    }
    std::memset(to, 0, kTileSize * sizeof(uint16_t));
    for (int64_t i = 0; i < kSide; ++i) {
      const int64_t c = column_of(tile, i);
      for (int64_t k = 0; k < std::min(depth, kTileDepth) && c < columns; ++k)
        to[k / 2 * kTileDepth + 2 * i + k % 2] = from[k * row + c * column];
    }
  }
}

// The left operand as tiles: where the first one is, and how far it is to the next row of one tile, to the next tile of
// k and to the next 16 rows.
struct LeftTiles {
  const uint16_t* data;
  int64_t row, step, side;
};

// sums (kRows tiles by 2, kPanel floats apart) = or += left tiles x the tiles of a panel over `steps` tiles of k.
template <int kRows>
TENON_AMX void multiply_tiles(const LeftTiles& left, const uint16_t* right, int64_t right_tile, int64_t steps,
                              float* sums, bool accumulate) {
  constexpr long kStride = kPanel * sizeof(float);
  float* below = sums + kSide * kPanel;
  if (accumulate) {
    _tile_loadd(0, sums, kStride);
    _tile_loadd(1, sums + kSide, kStride);
    if (kRows > 1) _tile_loadd(2, below, kStride);
    if (kRows > 1) _tile_loadd(3, below + kSide, kStride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if (kRows > 1) _tile_zero(2);
    if (kRows > 1) _tile_zero(3);
  }
  const uint16_t *upper = left.data, *lower = left.data + left.side;
  const auto stride = static_cast<long>(left.row * 2);
  for (int64_t i = 0; i < steps; ++i) {
    _tile_loadd(4, upper, stride);
    _tile_loadd(6, right, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right + right_tile, 64);
    _tile_dpbf16ps(1, 4, 7);
    if (kRows > 1) {
      _tile_loadd(5, lower, stride);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    upper += left.step;
    lower += left.step;
    right += kTileSize;
  }
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kSide, kStride);
  if (kRows > 1) _tile_stored(2, below, kStride);
  if (kRows > 1) _tile_stored(3, below + kSide, kStride);
}

// To nearest even, in the low halves; NaN stays one. The instruction that does this takes subnormals for 0.
TENON_AMX inline __m512i round_bf16(__m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16);
}

// Columns of a block of sums, back in order.
TENON_AMX void write_bf16(const float* sums, int64_t rows, int64_t columns, uint16_t* to, int64_t to_row) {
  const __mmask32 mask = halves_below(columns);
  for (int64_t i = 0; i < rows; ++i, sums += kPanel, to += to_row) {
    const __m512i even = round_bf16(_mm512_loadu_ps(sums)), odd = round_bf16(_mm512_loadu_ps(sums + kSide));
    _mm512_mask_storeu_epi16(to, mask, _mm512_packus_epi32(even, odd));
  }
}

TENON_AMX void write_f32(const float* sums, int64_t rows, int64_t columns, float* to, int64_t to_row) {
  const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  const auto low_mask = words_below(columns);
  const auto high_mask = words_below(columns - kSide);
  for (int64_t i = 0; i < rows; ++i, sums += kPanel, to += to_row) {
    const __m512 even = _mm512_loadu_ps(sums), odd = _mm512_loadu_ps(sums + kSide);
    _mm512_mask_storeu_ps(to, low_mask, _mm512_permutex2var_ps(even, low, odd));
    _mm512_mask_storeu_ps(to + kSide, high_mask, _mm512_permutex2var_ps(even, high, odd));
  }
}

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

  // A left operand that all threads share lies in the plan's arena: the logits' gradient is packed where those of
  // layers will lie. Batches may be multiplied at once, each with a packed operand of its own.
  size_t scratch_bytes() const override {
    const bool shares = batches_ == 1 && shares_left(matrix(a_, nullptr, 0));
    return shares ? bytes_of(ceil_div(m_, kSide), depth_tiles_) : 0;
  }

  void multiply(const std::byte* a_data, const std::byte* b_data, std::byte* c, std::byte* scratch,
                const Finished* finished) const override {
    const Input::Bound a(a_, a_data), b(b_, b_data);
    const int64_t work = m_ * n_ * k_;
    const auto one = [&](int64_t batch) {
      multiply_one(matrix(a_, a.as<uint16_t>(), batch), matrix(b_, b.as<uint16_t>(), batch),
                   c + batch * m_ * n_ * static_cast<int64_t>(size_of(out_)), scratch, batch * m_, finished);
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

  // Whole tiles whose rows lie in memory as a tile register wants them.
  bool reads_in_place(const Matrix& a) const { return a.column == 1 && m_ % kSide == 0 && k_ % kTileDepth == 0; }
  bool shares_left(const Matrix& a) const { return !reads_in_place(a) && m_ * k_ * 2 > kSmallLeft && !is_tall(); }
  // Rows are shared out, each thread packs the few columns for itself and the rows a block at a time. Packed together,
  // 51 MB of rows passed by 12 strips of columns from other cores' caches: 50257 x 512 x 768 took 106 ms on 16 threads.
  bool is_tall() const { return m_ >= 4 * n_ && n_ <= kMostColumnsOfTall && n_ * k_ * 2 <= kMostRightOfTall; }

  // Parts of the rows by strips of the columns, as many as there are threads or a multiple of it.
  struct Cut {
    int64_t parts, columns;
  };
  Cut cut(int64_t threads, bool shares) const {
    if (is_tall()) {
      constexpr int64_t kPartsPerThread = 3;
      const int64_t most = std::max<int64_t>(1, m_ / kBlockRows);
      return {threads > 1 ? std::min(most, kPartsPerThread * threads) : 1, ceil_div(n_, kPanel) * kPanel};
    }
    const int64_t widest = shares || k_ > kPackDepth ? 256 : 512;
    const int64_t strips = threads * ceil_div(n_, threads * widest);
    Cut cut{1, std::max(ceil_div(ceil_div(n_, strips), kPanel) * kPanel, threads > 1 ? 2 * kPanel : kPanel)};
    const int64_t made = ceil_div(n_, cut.columns);
    if (made < threads) cut.parts = std::max<int64_t>(1, std::min(ceil_div(threads, made), m_ / (4 * kSide)));
    return cut;
  }

  // `scratch` is for the packed left operand, or null; `first_row` is how many rows of the whole result lie before this
  // product's.
  void multiply_one(const Matrix& a, const Matrix& b, std::byte* c, std::byte* scratch, int64_t first_row,
                    const Finished* finished) const {
    const int64_t threads = m_ * n_ * k_ < kGrain ? 1 : base::num_threads();
    const bool shares = shares_left(a);
    const Cut cuts = cut(threads, shares);
    const auto share = [&](int64_t tasks, auto&& task) {
      if (threads > 1) return base::parallel_tasks(tasks, task);
      for (int64_t i = 0; i < tasks; ++i) task(i);
    };
    const int64_t row_tiles = ceil_div(m_, kSide);
    const Scratch own(shares && !scratch ? bytes_of(row_tiles, depth_tiles_) : 64);
    uint16_t* packed = !shares ? nullptr : scratch ? reinterpret_cast<uint16_t*>(scratch) : own.as<uint16_t>();
    if (shares) {
      constexpr int64_t kGroup = 4;
      share(ceil_div(row_tiles, kGroup), [&](int64_t i) {
        pack_left(a, i * kGroup, std::min(row_tiles, (i + 1) * kGroup), 0, depth_tiles_,
                  packed + i * kGroup * depth_tiles_ * kTileSize);
      });
    }
    share(cuts.parts * ceil_div(n_, cuts.columns), [&](int64_t i) {
      const int64_t part = i % cuts.parts, column = i / cuts.parts * cuts.columns;
      const int64_t first = row_tiles * part / cuts.parts, last = row_tiles * (part + 1) / cuts.parts;
      multiply_strip(a, packed, b, c, first * kSide, std::min(m_, last * kSide), column,
                     std::min(cuts.columns, n_ - column), first_row, finished);
    });
  }

  // Rows begin ... end - 1 of a strip of the result. `packed` is the whole left operand, if it is packed already.
  void multiply_strip(const Matrix& a, const uint16_t* packed, const Matrix& b, std::byte* c, int64_t begin,
                      int64_t end, int64_t column, int64_t columns, int64_t first_row, const Finished* finished) const {
    constexpr int64_t kPackSteps = kPackDepth / kTileDepth;
    const int64_t panels = ceil_div(columns, kPanel), line = depth_tiles_ * kTileSize;
    const int64_t pack_steps = std::min(kPackSteps, depth_tiles_);
    const bool in_one_part = depth_tiles_ <= kPackSteps, keeps_right = in_one_part || is_tall();
    const int64_t block = keeps_right ? kBlockRows : kManyRows;
    const bool packs_left = !packed && !reads_in_place(a);
    const int64_t block_tiles = ceil_div(std::min(block, end - begin), kSide);
    const Scratch strip(bytes_of(2 * panels, keeps_right ? depth_tiles_ : pack_steps));
    const Scratch own(packs_left ? bytes_of(block_tiles, pack_steps) : 64);
    // Sums of one block of the result; of all blocks, where there is more of k to come.
    const int64_t sums_size = 2 * kSide * kPanel;
    const Scratch scratch(static_cast<size_t>((in_one_part ? 1 : ceil_div(block_tiles, 2) * panels) * sums_size) * 4);
    const Units units;
    for (int64_t row = begin; row < end; row += block) {
      const int64_t rows = std::min(block, end - row), row_tiles = ceil_div(rows, kSide);
      for (int64_t step = 0; step < depth_tiles_; step += pack_steps) {
        const int64_t steps = std::min(pack_steps, depth_tiles_ - step);
        uint16_t* right = strip.as<uint16_t>() + (keeps_right ? 2 * panels * step * kTileSize : 0);
        if (!keeps_right || row == begin) pack_right(b, column, columns, step, steps, right);
        if (packs_left) pack_left(a, row / kSide, row / kSide + row_tiles, step, steps, own.as<uint16_t>());
        float* sums = scratch.as<float>();
        for (int64_t i = 0; i < row_tiles; i += 2) {
          LeftTiles left{a.data + (row + i * kSide) * a.row + step * kTileDepth, a.row, kTileDepth, kSide * a.row};
          if (packs_left) left = {own.as<uint16_t>() + i * steps * kTileSize, kTileDepth, kTileSize, steps * kTileSize};
          if (packed) left = {packed + (row / kSide + i) * line + step * kTileSize, kTileDepth, kTileSize, line};
          const auto multiply = row_tiles - i > 1 ? multiply_tiles<2> : multiply_tiles<1>;
          for (int64_t j = 0; j < panels; ++j) {
            multiply(left, right + j * 2 * steps * kTileSize, steps * kTileSize, steps, sums, step > 0);
            if (step + steps == depth_tiles_)
              write(sums, c, row + i * kSide, std::min(rows - i * kSide, 2 * kSide), column + j * kPanel,
                    std::min(columns - j * kPanel, kPanel));
            if (!in_one_part) sums += sums_size;
          }
        }
      }
      if (finished) (*finished)(first_row + row, rows, column, columns);
    }
  }

  static size_t bytes_of(int64_t tiles, int64_t steps) {
    return static_cast<size_t>(tiles * steps * kTileSize) * sizeof(uint16_t);
  }

  // Tiles first_tile ... last_tile - 1 of rows, each as the tiles of its steps behind one another.
  void pack_left(const Matrix& a, int64_t first_tile, int64_t last_tile, int64_t first_step, int64_t steps,
                 uint16_t* to) const {
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
      for (int64_t i = first_step; i < first_step + steps; ++i, to += kTileSize) {
        const uint16_t* at = a.data + tile * kSide * a.row + i * kTileDepth * a.column;
        pack_left_tile(at, a.row, a.column, m_ - tile * kSide, k_ - i * kTileDepth, to);
      }
    }
  }

  // Panels of a strip, each the steps of its first tile and then those of its second. Rows are read four panels (256
  // bytes) at a time: 73 µs for 768 x 768, against 111 with one.
  TENON_AMX void pack_right(const Matrix& b, int64_t column, int64_t columns, int64_t first_step, int64_t steps,
                            uint16_t* to) const {
    constexpr int64_t kAbreast = 4 * kPanel;
    const int64_t tile = steps * kTileSize;
    for (int64_t begin = 0; begin < columns; begin += kAbreast) {
      const int64_t end = std::min(columns, begin + kAbreast);
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t k = (first_step + i) * kTileDepth;
        const uint16_t* from = b.data + k * b.row + column * b.column;
        if (b.column != 1) {
          for (int64_t c = begin; c < end; c += kPanel)
            pack_right_tiles(from + c * b.column, b.row, b.column, columns - c, k_ - k,
                             to + c / kPanel * 2 * tile + i * kTileSize, tile);
          continue;
        }
        for (int64_t pair = 0; pair < kSide; ++pair, from += 2 * b.row) {
          for (int64_t c = begin; c < end; c += kPanel)
            pack_two_rows(from + c, b.row, k_ - k - 2 * pair, halves_below(columns - c),
                          to + c / kPanel * 2 * tile + i * kTileSize + pair * kTileDepth, tile);
        }
      }
    }
  }

  void write(const float* sums, std::byte* c, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const int64_t at = row * n_ + column;
    if (out_ == DType::f32) return write_f32(sums, rows, columns, reinterpret_cast<float*>(c) + at, n_);
    write_bf16(sums, rows, columns, reinterpret_cast<uint16_t*>(c) + at, n_);
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
