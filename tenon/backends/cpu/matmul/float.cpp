// Float products: blocks of both operands are converted to f32 or f64 and packed into panels that the innermost product
// reads in order; the result is rounded once, when it is written.
//
// On x86 a tile of rows of the left operand stays in the first-level cache, read as it lies where it can be, while the
// panels of the right one pass by from the second level: 167 GFLOP/s for 1024 x 1024 x 1024 on one core of a Xeon,
// against 148 with the loops exchanged. On ARM a panel stays there while packed rows pass by.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/matmul/float.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <algorithm>

#include "hwy/highway.h"
#include "tenon/backends/cpu/calls/pack-inl.h"
#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/backends/cpu/matmul/tile-inl.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

constexpr bool kRowsStay = HWY_TARGET != HWY_NEON;
// With 3 vectors of NEON a panel of this depth fits into the first-level cache.
constexpr int64_t kMostDepth = kRowsStay ? 512 : 192;
constexpr int64_t kBlockRows = 192;
// 512 rows of sums of a block and its packed columns take half of a second-level cache of 2 MiB.
constexpr int64_t kBlockColumns = kRowsStay ? 256 : 512;

using base::round_up;

// Elements of k that are summed before they are added to the sums so far: even parts, because short ones cost more.
// Part of what a result's bits depend on.
constexpr int64_t depth_of(int64_t k) {
  const int64_t parts = (k + kMostDepth - 1) / kMostDepth;
  return k <= kMostDepth ? k : round_up((k + parts - 1) / parts, 16);
}

// Whole vectors of rows that need no conversion: the common right operand.
template <typename T, int kVectors>
void copy_rows(const T* HWY_RESTRICT from, int64_t from_stride, int64_t rows, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  for (int64_t r = 0; r < rows; ++r, from += from_stride, to += kVectors * kVectorSize<T>) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::LoadU(d, from + v * kVectorSize<T>), d, to + v * kVectorSize<T>);
  }
}

// Rows are read as they lie, one number at a time, because packing them is a transposition. Not on NEON, which
// multiplies by one lane of a packed vector.
template <typename T>
bool reads_rows_in_place(const Product& p) {
  return HWY_TARGET != HWY_NEON && p.in == kDTypeOf<T> && p.a_column == 1;
}

// The operand's dtype is known only at run time, once per block.
template <typename T>
void pack_any(DType dtype, const std::byte* from, int64_t row_stride, int64_t column_stride, int64_t rows,
              int64_t columns, T* to, int64_t to_stride) {
  dispatch(dtype, [&]<typename From>() HWY_ATTR {
    pack_block(reinterpret_cast<const From*>(from), row_stride, column_stride, rows, columns, to, to_stride);
  });
}

template <typename T>
class ProductRun {
 public:
  explicit ProductRun(const Product& p)
      : p_(p),
        bytes_(static_cast<int64_t>(size_of(p.in))),
        depth_(depth_of(p.k)),
        converts_(p.out != kDTypeOf<T>),
        in_place_(reads_rows_in_place<T>(p)),
        scratch_(carve(nullptr)) {
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
          if (!in_place_) pack_left(row, rows, k, depth);
          multiply(row, rows, column, columns, k, depth);
        }
      }
      if (p_.k == 0) clear(column, columns);
      if (converts_) write(column, columns);
    }
  }

 private:
  static constexpr int64_t kLanes = kVectorSize<T>;

  size_t carve(std::byte* base) {
    Carver carver(base);
    if (!in_place_) left_ = carver.take<T>(round_up(std::min(p_.m, kBlockRows), kTileRows) * depth_ + kLanes);
    right_ = carver.take<T>(round_up(std::min(p_.n, kBlockColumns), kLanes) * depth_);
    edge_ = carver.take<T>(kTileRows * kTileColumns<T>);
    if (converts_) sums_ = carver.take<T>(p_.m * std::min(p_.n, kBlockColumns));
    return carver.used();
  }

  // Panels of kTileRows rows, step by step.
  void pack_left(int64_t row, int64_t rows, int64_t k, int64_t depth) {
    const std::byte* from = p_.a + (row * p_.a_row + k * p_.a_column) * bytes_;
    int64_t r = 0;
    if (p_.in == kDTypeOf<T> && p_.a_row == 1) {
      r = rows / kTileRows * kTileRows;
      copy_left(reinterpret_cast<const T*>(from), r, depth);
    }
    for (; r < rows; r += kTileRows) {
      pack_any(p_.in, from + r * p_.a_row * bytes_, p_.a_column, p_.a_row, depth,
               std::min<int64_t>(kTileRows, rows - r), left_ + r * depth, kTileRows);
    }
  }

  // Rows side by side in memory, as a gradient of weights has them: every step lies on a page of its own, so a few
  // steps are taken through all panels before the next ones.
  void copy_left(const T* from, int64_t rows, int64_t depth) {
    constexpr int64_t kSteps = 16;
    for (int64_t step = 0; step < depth; step += kSteps) {
      const int64_t end = std::min(step + kSteps, depth);
      for (int64_t r = 0; r < rows; r += kTileRows) {
        for (int64_t i = step; i < end; ++i)  // a copy of fixed size is no call
          hwy::CopyBytes<kTileRows * sizeof(T)>(from + i * p_.a_column + r, left_ + r * depth + i * kTileRows);
      }
    }
  }

  // Panels as wide as next_panel says, step by step; columns beyond the last are zero. Rows that need no conversion are
  // read whole, a few at a time, for the same reason as in copy_left: an LSTM that packs its weights at every step took
  // 5 % longer where one panel was packed after the other.
  void pack_right(int64_t k, int64_t depth, int64_t column, int64_t columns) {
    const std::byte* first = p_.b + (k * p_.b_row + column * p_.b_column) * bytes_;
    const bool copies = p_.in == kDTypeOf<T> && p_.b_column == 1;
    constexpr int64_t kSteps = 8;
    for (int64_t step = 0; copies && step < depth; step += kSteps) {
      const int64_t steps = std::min(kSteps, depth - step);
      const T* rows = reinterpret_cast<const T*>(first) + step * p_.b_row;
      for_each_panel(columns, [&](int64_t c, int64_t vectors) {
        const int64_t width = vectors * kLanes;
        if (columns - c >= width) copy_panel(vectors, rows + c, steps, right_ + c * depth + step * width);
      });
    }
    for_each_panel(columns, [&](int64_t c, int64_t vectors) {
      const int64_t width = vectors * kLanes, filled = std::min(width, columns - c);
      if (copies && filled == width) return;
      T* to = right_ + c * depth;
      pack_any(p_.in, first + c * p_.b_column * bytes_, p_.b_row, p_.b_column, depth, filled, to, width);
      for (int64_t i = 0; i < depth && filled < width; ++i)
        std::fill(to + i * width + filled, to + (i + 1) * width, T(0));
    });
  }

  void copy_panel(int64_t vectors, const T* rows, int64_t steps, T* to) const {
    if (vectors == 4) return copy_rows<T, 4>(rows, p_.b_row, steps, to);
    if (vectors == 3) return copy_rows<T, 3>(rows, p_.b_row, steps, to);
    if (vectors == 2) return copy_rows<T, 2>(rows, p_.b_row, steps, to);
    copy_rows<T, 1>(rows, p_.b_row, steps, to);
  }

  template <typename F>
  static void for_each_panel(int64_t columns, F&& f) {
    int64_t left = (columns + kLanes - 1) / kLanes;
    for (int64_t c = 0; left > 0;) {
      const int64_t vectors = next_panel(left);
      f(c, vectors);
      left -= vectors;
      c += vectors * kLanes;
    }
  }

  void multiply(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k, int64_t depth) {
    const int64_t c_step = converts_ ? columns : p_.c_row;
    T* block = converts_ ? sums_ + row * c_step : reinterpret_cast<T*>(p_.c) + row * c_step + column;
    const auto multiply_at = [&](int64_t r, int64_t c, int64_t vectors) HWY_ATTR {
      const int64_t width = vectors * kLanes, filled = std::min(width, columns - c);
      const int64_t height = std::min<int64_t>(kTileRows, rows - r);
      T* to = block + r * c_step + c;
      if (filled == width) return multiply_tile(row + r, r, height, k, depth, c, vectors, to, c_step, k > 0);
      multiply_tile(row + r, r, height, k, depth, c, vectors, edge_, width, false);
      for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < filled; ++j)
          to[i * c_step + j] = k > 0 ? to[i * c_step + j] + edge_[i * width + j] : edge_[i * width + j];
      }
    };
    if constexpr (kRowsStay) {
      for (int64_t r = 0; r < rows; r += kTileRows)
        for_each_panel(columns, [&](int64_t c, int64_t vectors) HWY_ATTR { multiply_at(r, c, vectors); });
    } else {
      for_each_panel(columns, [&](int64_t c, int64_t vectors) HWY_ATTR {
        for (int64_t r = 0; r < rows; r += kTileRows) multiply_at(r, c, vectors);
      });
    }
  }

  // Rows `row` ... of the operand, which are rows `packed_row` ... of the block that is packed.
  void multiply_tile(int64_t row, int64_t packed_row, int64_t height, int64_t k, int64_t depth, int64_t panel,
                     int64_t vectors, T* to, int64_t to_step, bool accumulate) {
    const T* right = right_ + panel * depth;
    const int64_t width = vectors * kLanes;
    if (in_place_) {
      const T* left = reinterpret_cast<const T*>(p_.a) + row * p_.a_row + k;
      return multiply_panel<T, false>(height, vectors, depth, left, p_.a_row, 1, right, width, to, to_step, accumulate);
    }
    multiply_panel<T, true>(height, vectors, depth, left_ + packed_row * depth, 1, kTileRows, right, width, to, to_step,
                            accumulate);
  }

  void clear(int64_t column, int64_t columns) {
    for (int64_t row = 0; row < p_.m; ++row) {
      T* to = converts_ ? sums_ + row * columns : reinterpret_cast<T*>(p_.c) + row * p_.c_row + column;
      std::fill_n(to, columns, T(0));
    }
  }

  void write(int64_t column, int64_t columns) {
    dispatch(p_.out, [&]<typename Out>() HWY_ATTR {
      if constexpr (!std::is_integral_v<Out>) {
        for (int64_t row = 0; row < p_.m; ++row)
          convert_row(sums_ + row * columns, reinterpret_cast<Out*>(p_.c) + row * p_.c_row + column, columns);
      }
    });
  }

  const Product& p_;
  int64_t bytes_, depth_;
  bool converts_, in_place_;
  T *left_ = nullptr, *right_ = nullptr, *edge_ = nullptr, *sums_ = nullptr;
  Scratch scratch_;
};

// A small product takes longer to pack than to multiply: the right operand is read as it lies, and so are rows of the
// left one, one by one. NEON multiplies by one lane of a vector (84 against 61 GFLOP/s), so there the rows of a tile
// lie side by side, as in the gradient of weights, or are packed. The sums are those of one block of k.
template <typename T>
class InPlace {
 public:
  static bool can_take(const Product& p) {
    return p.in == kDTypeOf<T> && p.out == kDTypeOf<T> && p.b_column == 1 && p.k > 0 && p.k <= kMostDepth &&
           p.n % kLanes == 0 && p.m * p.n * p.k <= kMostWork && (kRowsStay || p.n * p.k <= kMostRight);
  }
  explicit InPlace(const Product& p) : p_(p) {}

  void run() const {
    if constexpr (kRowsStay) {
      for (int64_t column = 0; column < p_.n;) {
        const int64_t vectors = next_panel((p_.n - column) / kLanes);
        for (int64_t row = 0; row < p_.m; row += kTileRows)
          multiply<false>(row, left(row), p_.a_row, p_.a_column, column, vectors);
        column += vectors * kLanes;
      }
    } else {
      alignas(64) T packed[kTileRows * kMostDepth];
      for (int64_t row = 0; row < p_.m; row += kTileRows) {
        const bool adjacent = p_.a_row == 1;
        if (!adjacent) pack_block(left(row), p_.a_column, p_.a_row, p_.k, height(row), packed, kTileRows);
        for (int64_t column = 0; column < p_.n;) {
          const int64_t vectors = next_panel((p_.n - column) / kLanes);
          multiply<true>(row, adjacent ? left(row) : packed, 1, adjacent ? p_.a_column : kTileRows, column, vectors);
          column += vectors * kLanes;
        }
      }
    }
  }

 private:
  static constexpr int64_t kLanes = kVectorSize<T>;
  static constexpr int64_t kMostWork = 1 << 22;
  static constexpr int64_t kMostRight = (32 << 10) / sizeof(T);  // half of a first-level cache of 64 KiB

  const T* left(int64_t row) const { return reinterpret_cast<const T*>(p_.a) + row * p_.a_row; }
  int64_t height(int64_t row) const { return std::min<int64_t>(kTileRows, p_.m - row); }

  template <bool kAdjacent>
  void multiply(int64_t row, const T* from, int64_t from_row, int64_t from_step, int64_t column,
                int64_t vectors) const {
    multiply_panel<T, kAdjacent>(height(row), vectors, p_.k, from, from_row, from_step,
                                 reinterpret_cast<const T*>(p_.b) + column, p_.b_row,
                                 reinterpret_cast<T*>(p_.c) + row * p_.c_row + column, p_.c_row, false);
  }

  const Product& p_;
};

// With a few rows each element of the right operand is used a few times only, so it is read in place, row after row,
// and the sums wait in the first-level cache. The order of summation is that of the panels.
template <typename T, int kRows>
class FewRows {
 public:
  explicit FewRows(const Product& p) : p_(p) {}

  void run() const {
    const Scratch scratch(static_cast<size_t>(kRows * kColumns) * sizeof(T));
    T* sums = scratch.as<T>();
    for (int64_t column = 0; column < p_.n; column += kColumns) {
      const int64_t columns = std::min(kColumns, p_.n - column);
      const int64_t depth = depth_of(p_.k);
      for (int64_t k = 0; k < p_.k; k += depth) {
        for (int row = 0; row < kRows; ++row) std::fill_n(sums + row * kColumns, columns, T(0));
        const int64_t end = std::min(k + depth, p_.k);
        int64_t i = k;
        for (; i + kSteps <= end; i += kSteps) add<kSteps>(i, column, columns, sums);
        for (; i < end; ++i) add<1>(i, column, columns, sums);
        write(column, columns, sums, k > 0);
      }
    }
  }

 private:
  // Sums of so many columns fit into half of the first-level cache. Whole rows, if they can: memory is read in order.
  static constexpr int64_t kColumns = (kRows == 1 ? 16384 : 4096) / sizeof(T);
  static constexpr int kSteps = 4;
  // Rows that are fetched ahead, into the second level: every one lies on other pages, where the processor does not
  // look by itself. 474 to 339 us for 768 x 3072 on two cores of a Xeon.
  static constexpr int64_t kAhead = HWY_TARGET == HWY_NEON ? 0 : 8;

  template <int kCount>
  void add(int64_t k, int64_t column, int64_t columns, T* HWY_RESTRICT sums) const {
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    const T* a = reinterpret_cast<const T*>(p_.a) + k * p_.a_column;
    const T* b = reinterpret_cast<const T*>(p_.b) + k * p_.b_row + column;
    const auto left = [&](int row, int step) { return a[row * p_.a_row + step * p_.a_column]; };
    int64_t j = 0;
    for (; j + kVectorSize<T> <= columns; j += kVectorSize<T>) {
#pragma GCC unroll 4
      for (int step = 0; kAhead > 0 && step < kCount; ++step)
        __builtin_prefetch(b + (step + kAhead) * p_.b_row + j, 0, 2);
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) {
        V sum = hn::LoadU(d, sums + row * kColumns + j);
#pragma GCC unroll 4
        for (int step = 0; step < kCount; ++step)
          sum = hn::MulAdd(hn::Set(d, left(row, step)), hn::LoadU(d, b + step * p_.b_row + j), sum);
        hn::StoreU(sum, d, sums + row * kColumns + j);
      }
    }
    const hn::CappedTag<T, 1> d1;
    for (; j < columns; ++j) {
      for (int row = 0; row < kRows; ++row) {
        auto sum = hn::LoadU(d1, sums + row * kColumns + j);
        for (int step = 0; step < kCount; ++step)
          sum = hn::MulAdd(hn::Set(d1, left(row, step)), hn::LoadU(d1, b + step * p_.b_row + j), sum);
        hn::StoreU(sum, d1, sums + row * kColumns + j);
      }
    }
  }

  void write(int64_t column, int64_t columns, const T* sums, bool accumulate) const {
    for (int64_t row = 0; row < kRows; ++row) {
      T* to = reinterpret_cast<T*>(p_.c) + row * p_.c_row + column;
      for (int64_t j = 0; j < columns; ++j)
        to[j] = accumulate ? to[j] + sums[row * kColumns + j] : sums[row * kColumns + j];
    }
  }

  const Product& p_;
};

#if HWY_TARGET != HWY_SCALAR

// The same where the columns of the right operand lie whole in memory, as weights of a layer and a tied head do: a
// square of every few columns is turned in registers. Packing all of them first took GPT-2's head twice as long.
template <typename T, int kRows>
class FewRowsTurned {
 public:
  explicit FewRowsTurned(const Product& p) : p_(p) {}

  void run() const {
    const int64_t depth = depth_of(p_.k);
    int64_t column = 0;
    for (; column + kVectors * kLanes <= p_.n; column += kVectors * kLanes) multiply<kVectors>(column, depth);
    for (; column < p_.n; column += kLanes) multiply<1>(column, depth);
  }

 private:
  static constexpr int64_t kLanes = kVectorSize<T>;
  static constexpr int kSide = kSquareSide<T>;
  // Vectors of columns side by side, or every step would wait for the sum of the step before. No more columns than the
  // processor can follow as streams.
  static constexpr int kVectors = HWY_TARGET == HWY_NEON ? 4 : 2;
  using Tag = hn::ScalableTag<T>;
  using V = hn::Vec<Tag>;

  template <int kCount>
  void multiply(int64_t column, int64_t depth) const {
    for (int64_t k = 0; k < p_.k; k += depth) add_block<kCount>(k, std::min(k + depth, p_.k), column);
  }

  // One step of one vector of columns.
  static HWY_INLINE void add_step(const T* left, int64_t a_row, V right, V* sums) {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) sums[row] = hn::MulAdd(hn::Set(Tag(), left[row * a_row]), right, sums[row]);
  }

  // `steps` steps, whole squares, of kCount vectors of columns.
  template <int kCount>
  static HWY_NOINLINE void add_squares(int64_t steps, const T* left, int64_t a_row, int64_t a_step, const T* right,
                                       int64_t apart, T* to, int64_t to_row) {
    const Tag d;
    V sums[kCount * kRows];
    const T* at[kCount];
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) at[v] = right + v * kLanes * apart;
#pragma GCC unroll 12
    for (V& sum : sums) sum = hn::Zero(d);
    for (int64_t k = 0; k < steps; k += kSide, left += kSide * a_step) {
      if (HWY_TARGET != HWY_NEON && k % kLanes == 0) {
        for (int64_t i = 0; i < kCount * kLanes; ++i) __builtin_prefetch(at[0] + (kCount * kLanes + i) * apart, 0, 2);
      }
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) {
        V square[kSide];
#pragma GCC unroll 4
        for (int i = 0; i < kSide; ++i) square[i] = load_blocks(d, at[v] + i * apart, kSide * apart);
        transpose_blocks(d, square);
#pragma GCC unroll 4
        for (int i = 0; i < kSide; ++i) add_step(left + i * a_step, a_row, square[i], sums + v * kRows);
        at[v] += kSide;
        asm volatile("" : "+r"(at[v]));  // or GCC keeps the offsets of all columns instead, on the stack
      }
    }
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) hn::StoreU(sums[v * kRows + row], d, to + row * to_row + v * kLanes);
    }
  }

  template <int kCount>
  void add_block(int64_t begin, int64_t end, int64_t column) const {
    constexpr int64_t kWidth = kCount * kLanes;
    const int64_t columns = std::min(kWidth, p_.n - column), depth = end - begin;
    const T* left = reinterpret_cast<const T*>(p_.a) + begin * p_.a_column;
    const T* right = reinterpret_cast<const T*>(p_.b) + column * p_.b_column + begin;
    T* to = reinterpret_cast<T*>(p_.c) + column;
    const int64_t squares = columns == kWidth ? depth / kSide * kSide : 0;
    if (squares == depth && begin == 0)
      return add_squares<kCount>(depth, left, p_.a_row, p_.a_column, right, p_.b_column, to, p_.c_row);
    T sums[kRows * kWidth] = {};
    if (squares > 0) add_squares<kCount>(squares, left, p_.a_row, p_.a_column, right, p_.b_column, sums, kWidth);
    const hn::CappedTag<T, 1> d1;
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t j = 0; j < columns; ++j) {
        auto sum = hn::LoadU(d1, sums + row * kWidth + j);
        for (int64_t k = squares; k < depth; ++k) {
          const T a = left[row * p_.a_row + k * p_.a_column], b = right[j * p_.b_column + k];
          sum = hn::MulAdd(hn::Set(d1, a), hn::Set(d1, b), sum);
        }
        T* at = to + row * p_.c_row + j;
        *at = begin > 0 ? *at + hn::GetLane(sum) : hn::GetLane(sum);
      }
    }
  }

  const Product& p_;
};

#endif  // HWY_SCALAR

template <typename T, int kRows>
bool multiply_few_rows(const Product& p) {
  if (p.m != kRows || p.in != kDTypeOf<T> || p.out != kDTypeOf<T> || p.k == 0) return false;
  if (p.b_column == 1) {
    FewRows<T, kRows>(p).run();
    return true;
  }
#if HWY_TARGET != HWY_SCALAR
  if (p.b_row == 1) {
    FewRowsTurned<T, kRows>(p).run();
    return true;
  }
#endif
  return false;
}

template <typename T>
void multiply_product(const Product& p) {
  if (multiply_few_rows<T, 1>(p) || multiply_few_rows<T, 2>(p) || multiply_few_rows<T, 3>(p)) return;
  if (InPlace<T>::can_take(p)) return InPlace<T>(p).run();
  ProductRun<T>(p).run();
}

template <bool kRelu, typename D>
HWY_INLINE void add_vector(D d, const float* row, float* to) {
  const auto sum = hn::Add(hn::LoadU(d, to), hn::LoadU(d, row));
  hn::StoreU(kRelu ? hn::IfThenZeroElse(hn::Le(sum, hn::Zero(d)), sum) : sum, d, to);
}

template <bool kRelu>
void add_row_to_all(const float* HWY_RESTRICT row, float* HWY_RESTRICT sums, int64_t step, int64_t rows,
                    int64_t columns) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  for (int64_t r = 0; r < rows; ++r, sums += step) {
    int64_t j = 0;
    for (; j + kVectorSize<float> <= columns; j += kVectorSize<float>) add_vector<kRelu>(d, row + j, sums + j);
    for (; j < columns; ++j) add_vector<kRelu>(d1, row + j, sums + j);
  }
}

void add_row(const float* row, float* sums, int64_t step, int64_t rows, int64_t columns, bool relu) {
  if (relu) return add_row_to_all<true>(row, sums, step, rows, columns);
  add_row_to_all<false>(row, sums, step, rows, columns);
}

void multiply_f32(const Product& product) { multiply_product<float>(product); }
void multiply_f64(const Product& product) { multiply_product<double>(product); }
int64_t depth_of_products(int64_t k) { return depth_of(k); }

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_f64);
HWY_EXPORT(depth_of_products);
HWY_EXPORT(add_row);

void multiply_f32(const Product& product) { HWY_DYNAMIC_DISPATCH(multiply_f32)(product); }
void multiply_f64(const Product& product) { HWY_DYNAMIC_DISPATCH(multiply_f64)(product); }
int64_t depth_of_products(int64_t k) { return HWY_DYNAMIC_DISPATCH(depth_of_products)(k); }
void add_row(const float* row, float* sums, int64_t step, int64_t rows, int64_t columns, bool relu) {
  HWY_DYNAMIC_DISPATCH(add_row)(row, sums, step, rows, columns, relu);
}

}  // namespace tenon::backends::cpu
#endif
