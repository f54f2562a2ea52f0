// The loops of pooling: a band of rows is laid out in sub-planes, then all its windows are one run.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/pooling/windows.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "tenon/backends/cpu/calls/pack-inl.h"
#include "tenon/backends/cpu/pooling/pooling.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"
#include "tenon/base/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using base::ceil_div;
using base::round_up;

// What a band lays out should stay in a first- or second-level cache.
constexpr int64_t kBandBytes = 128 << 10;
// Elements of images below which a second thread costs more than it saves.
constexpr int64_t kGrain = 16 << 10;

// Numbers 0 ... 2^24 in lanes of T, as bytes or words in memory.
template <typename T, typename Place>
HWY_INLINE void write_places(const T* HWY_RESTRICT from, Place* HWY_RESTRICT to, int64_t n) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> whole;
    const hn::Rebind<Place, decltype(d)> narrow;
    constexpr auto kLanes = static_cast<int64_t>(kLanesOf<decltype(d)>);
    for (; i + kLanes <= n; i += kLanes) {
      const auto places = hn::ConvertTo(whole, hn::LoadU(d, from + i));
      if constexpr (std::is_same_v<Place, uint8_t>)
        hn::StoreU(hn::DemoteTo(narrow, places), narrow, to + i);
      else
        hn::StoreU(places, whole, to + i);
    }
  }
  for (; i < n; ++i) to[i] = static_cast<Place>(from[i]);
}

template <typename T, typename Place>
HWY_INLINE void read_places(const Place* HWY_RESTRICT from, T* HWY_RESTRICT to, int64_t n) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> whole;
    const hn::Rebind<Place, decltype(d)> narrow;
    constexpr auto kLanes = static_cast<int64_t>(kLanesOf<decltype(d)>);
    for (; i + kLanes <= n; i += kLanes) {
      if constexpr (std::is_same_v<Place, uint8_t>)
        hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(narrow, from + i))), d, to + i);
      else
        hn::StoreU(hn::ConvertTo(d, hn::LoadU(whole, from + i)), d, to + i);
    }
  }
  for (; i < n; ++i) to[i] = static_cast<T>(from[i]);
}

// One row of an image as rows of sub-planes: element x lies at (x + padding) / stride of sub-plane (x + padding) %
// stride.
template <typename T>
struct Row {
  T* first;       // the row of sub-plane 0
  int64_t apart;  // from sub-plane to sub-plane
};

// T is what numbers are compared and added in: f32 for 16-bit ones, which is exact for the largest.
template <typename T, typename Stored, typename Place>
class Pooling {
 public:
  explicit Pooling(const PoolProblem& problem) : p_(problem), plan_(*problem.plan) {}

  void find() const {
    const int64_t rows = plan_.rows.out, bands = bands_of(rows);
    for_each_band(bands, ceil_div(rows, bands), [&](int64_t plane, int64_t band, const Memory& memory) {
      find_band(plane, rows * band / bands, rows * (band + 1) / bands, memory);
    });
  }

  void spread() const {
    const int64_t rows = plan_.rows.image, bands = bands_of(rows);
    const int64_t reach = (plan_.rows.kernel - 1) * plan_.rows.dilation;
    const int64_t windows = std::min(plan_.rows.out, (ceil_div(rows, bands) + reach) / plan_.rows.stride + 1);
    for_each_band(bands, windows, [&](int64_t plane, int64_t band, const Memory& memory) {
      spread_band(plane, rows * band / bands, rows * (band + 1) / bands, memory);
    });
  }

 private:
  static constexpr int64_t kLanes = static_cast<int64_t>(kLanesOf<hn::ScalableTag<T>>);
  static constexpr bool kConverts = !std::is_same_v<T, Stored>;

  int64_t bands_of(int64_t rows) const {
    const int64_t bytes = std::max(plan_.image(), plan_.out()) * static_cast<int64_t>(sizeof(T));
    const int64_t for_threads = base::num_threads() == 1 ? 1 : ceil_div(2 * base::num_threads(), plan_.planes);
    const int64_t least_rows = std::max<int64_t>(1, 2 * plan_.most_row_shift * plan_.rows.stride);
    const int64_t most = std::max<int64_t>(1, rows / least_rows);
    return std::clamp<int64_t>(std::max(ceil_div(bytes, kBandBytes), for_threads), 1, most);
  }

  // Of at most so many rows of windows each.
  template <typename F>
  void for_each_band(int64_t bands, int64_t windows, F&& f) const {
    const int64_t work = plan_.image() * std::max<int64_t>(1, static_cast<int64_t>(plan_.taps.size()) / 4) / bands;
    base::parallel_for(plan_.planes * bands, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
                       [&](int64_t begin, int64_t end) {
                         const Memory memory(plan_, windows);
                         for (int64_t i = begin; i < end; ++i) f(i / bands, i % bands, memory);
                       });
  }

  // What one thread needs for bands of up to so many rows of windows.
  struct Memory {
    Memory(const PoolPlan& plan, int64_t windows)
        // Vectors may run over the end of a row, and of a run.
        : sub_plane(round_up((windows + plan.most_row_shift) * plan.pitch + 2 * kLanes, kLanes)),
          whole(round_up(windows * plan.pitch, kLanes) + kLanes),
          scratch(carve(plan, nullptr)) {
      carve(plan, scratch.data());
      for (size_t t = 0; t < plan.taps.size(); ++t) {
        const PoolTap& tap = plan.taps[t];
        offsets[t] = tap.sub_plane * sub_plane + tap.row_shift * plan.pitch + tap.column_shift;
      }
    }
    size_t carve(const PoolPlan& plan, std::byte* base) {
      Carver carver(base);
      subs = carver.take<T>(plan.sub_planes() * sub_plane);
      values = carver.take<T>(whole);
      places = carver.take<T>(whole);
      row = carver.take<T>(plan.columns.image + 4 * kLanes);
      offsets = carver.take<int64_t>(static_cast<int64_t>(plan.taps.size()));
      return carver.used();
    }
    int64_t sub_plane, whole;  // elements of one sub-plane, and of a number for every window
    T *subs = nullptr, *values = nullptr, *places = nullptr, *row = nullptr;
    int64_t* offsets = nullptr;
    Scratch scratch;
  };

  // Elements from the first window of so many rows to the last.
  int64_t run_of(int64_t windows) const { return windows > 0 ? (windows - 1) * plan_.pitch + plan_.columns.out : 0; }

  // Whether row by row is one run in memory too.
  bool is_dense() const { return plan_.pitch == plan_.columns.out; }

  // ---- The largest of every window ----

  void find_band(int64_t plane, int64_t begin, int64_t end, const Memory& memory) const {
    const int64_t run = run_of(end - begin);
    lay_out(plane, begin, end, memory);
    if (plan_.has_padding) place_firsts(begin, end, memory.places);
    const int64_t at = plane * plan_.out() + begin * plan_.columns.out;
    Stored* to = reinterpret_cast<Stored*>(p_.out) + at;
    Place* places = reinterpret_cast<Place*>(p_.places) + at;
    T* values = memory.values;
    int64_t done = 0;
    if constexpr (!kConverts) {
      if (is_dense()) {
        done = run / kLanes * kLanes;
        compare(memory, 0, done, to);
      }
    }
    compare(memory, done, run, values);
    if (is_dense()) {
      convert_row(values + done, to + done, run - done);
      return write_places(memory.places, places, run);
    }
    for (int64_t r = 0; r < end - begin; ++r) {
      convert_row(values + r * plan_.pitch, to + r * plan_.columns.out, plan_.columns.out);
      write_places(memory.places + r * plan_.pitch, places + r * plan_.columns.out, plan_.columns.out);
    }
  }

  // Where all of a window is as small as padding, its first element of the image is the largest.
  void place_firsts(int64_t begin, int64_t end, T* places) const {
    const auto first = [](const ir::ConvAxis& axis, int64_t window) {
      return ceil_div(std::max<int64_t>(0, axis.padding - window * axis.stride), axis.dilation);
    };
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = first(plan_.rows, r) * plan_.columns.kernel;
      for (int64_t c = 0; c < plan_.columns.out; ++c)
        places[(r - begin) * plan_.pitch + c] = static_cast<T>(row + first(plan_.columns, c));
    }
  }

  void compare(const Memory& memory, int64_t begin, int64_t end, T* values) const {
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) compare_vectors<4>(memory, i, values);
    for (; i < end; i += kLanes) compare_vectors<1>(memory, i, values);
  }

  template <int kCount>
  HWY_INLINE void compare_vectors(const Memory& memory, int64_t at, T* HWY_RESTRICT values) const {
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    const T* HWY_RESTRICT subs = memory.subs + at;
    T* HWY_RESTRICT places = memory.places + at;
    V best[kCount], place[kCount];
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) {
      best[v] = hn::Set(d, -std::numeric_limits<T>::infinity());
      place[v] = plan_.has_padding ? hn::LoadU(d, places + v * kLanes) : hn::Zero(d);
    }
    const auto taps = static_cast<int64_t>(plan_.taps.size());
    for (int64_t t = 0; t < taps; ++t) {
      const T* from = subs + memory.offsets[t];
      const V number = hn::Set(d, static_cast<T>(t));
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) {
        const V next = hn::LoadU(d, from + v * kLanes);
        const auto is_better = hn::Or(hn::Gt(next, best[v]), hn::IsNaN(next));
        best[v] = hn::IfThenElse(is_better, next, best[v]);
        place[v] = hn::IfThenElse(is_better, number, place[v]);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) {
      hn::StoreU(best[v], d, values + at + v * kLanes);
      hn::StoreU(place[v], d, places + v * kLanes);
    }
  }

  // The rows that windows `begin` ... see.
  void lay_out(int64_t plane, int64_t begin, int64_t last, const Memory& memory) const {
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    const Stored* image = reinterpret_cast<const Stored*>(p_.in) + plane * plan_.image();
    const Stored* end = reinterpret_cast<const Stored*>(p_.in) + plan_.planes * plan_.image();
    const int64_t height = plan_.rows.stride, width = plan_.columns.stride;
    const int64_t rows = last - begin + plan_.most_row_shift;
    for (int64_t r = 0; r < rows * height; ++r) {
      const Row<T> to{memory.subs + r % height * width * memory.sub_plane + r / height * plan_.pitch, memory.sub_plane};
      const int64_t y = begin * height + r - plan_.rows.padding;
      if (y < 0 || y >= plan_.rows.image) {
        for (int64_t x = 0; x < width; ++x) std::fill_n(to.first + x * to.apart, plan_.pitch, kLowest);
        continue;
      }
      const Stored* from = image + y * plan_.columns.image;
      if constexpr (kConverts) {
        convert_row(from, memory.row, plan_.columns.image);
        split_row(memory.row, memory.row + plan_.columns.image + 4 * kLanes, to);
      } else {
        split_row(from, end, to);
      }
    }
  }

  // `end` is as far as memory may be read.
  HWY_INLINE void split_row(const T* HWY_RESTRICT from, const T* end, const Row<T>& to) const {
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    const int64_t width = plan_.columns.stride, size = plan_.columns.image;
    const auto finish = [&](T* row, int64_t begin, int64_t filled) {
      for (int64_t i = 0; i < begin; ++i) row[i] = kLowest;
      for (int64_t i = begin + filled; i < plan_.pitch; ++i) row[i] = kLowest;
    };
    if (width == 2) {
      const Halves<T> halves(plan_, to);
      const int64_t both = std::max(halves.evens, halves.odds);
      int64_t i = 0;
      const hn::ScalableTag<T> d;
      for (; i < both && from + 2 * (i + kLanes) <= end; i += kLanes) {
        hn::Vec<decltype(d)> even, odd;
        hn::LoadInterleaved2(d, from + 2 * i, even, odd);
        hn::StoreU(even, d, halves.even + i);
        hn::StoreU(odd, d, halves.odd + i);
      }
      for (int64_t j = i; j < halves.evens; ++j) halves.even[j] = from[2 * j];
      for (int64_t j = i; j < halves.odds; ++j) halves.odd[j] = from[2 * j + 1];
      finish(halves.even - halves.even_at, halves.even_at, halves.evens);
      finish(halves.odd - halves.odd_at, halves.odd_at, halves.odds);
      return;
    }
    for (int64_t x = 0; x < width; ++x) {
      const auto [first, begin, count] = part_of_row(x, size);
      T* row = to.first + x * to.apart;
      if (width == 1) {
        convert_row(from + first, row + begin, count);
      } else {
        for (int64_t i = 0; i < count; ++i) row[begin + i] = from[first + i * width];
      }
      finish(row, begin, count);
    }
  }

  struct Part {
    int64_t first, begin, count;  // elements first, first + stride, ... of the image begin here in the sub-plane's row
  };
  Part part_of_row(int64_t sub, int64_t size) const {
    const int64_t stride = plan_.columns.stride, padding = plan_.columns.padding;
    const int64_t begin = ceil_div(std::max<int64_t>(0, padding - sub), stride);
    const int64_t first = begin * stride + sub - padding;
    const int64_t count = std::min(plan_.pitch - begin, ceil_div(std::max<int64_t>(0, size - first), stride));
    return {first, begin, std::max<int64_t>(0, count)};
  }

  // A stride of two: where even and odd elements of the image go.
  template <typename Element>
  struct Halves {
    Halves(const PoolPlan& plan, const Row<Element>& row) {
      const int64_t padding = plan.columns.padding, size = plan.columns.image;
      even_at = padding / 2;
      odd_at = (padding + 1) / 2;
      even = row.first + padding % 2 * row.apart + even_at;
      odd = row.first + (padding + 1) % 2 * row.apart + odd_at;
      evens = std::clamp<int64_t>(plan.pitch - even_at, 0, (size + 1) / 2);
      odds = std::clamp<int64_t>(plan.pitch - odd_at, 0, size / 2);
    }
    Element *even, *odd;
    int64_t even_at, odd_at, evens, odds;
  };

  // ---- Its gradient ----

  // Rows `begin` ... of an image, from all windows that see them.
  void spread_band(int64_t plane, int64_t begin, int64_t end, const Memory& memory) const {
    const ir::ConvAxis& rows = plan_.rows;
    const int64_t reach = (rows.kernel - 1) * rows.dilation;
    const int64_t first =
        std::max<int64_t>(0, ceil_div(std::max<int64_t>(0, begin + rows.padding - reach), rows.stride));
    const int64_t last = std::min(rows.out, (end - 1 + rows.padding) / rows.stride + 1);
    const int64_t windows = std::max<int64_t>(0, last - first);
    const int64_t run = run_of(windows);
    const int64_t at = plane * plan_.out() + first * plan_.columns.out;
    const Stored* given = reinterpret_cast<const Stored*>(p_.in) + at;
    const Place* places = reinterpret_cast<const Place*>(p_.places) + at;
    if (is_dense()) {
      convert_row(given, memory.values, run);
      read_places(places, memory.places, run);
    } else {
      for (int64_t r = 0; r < windows; ++r) {
        T *values = memory.values + r * plan_.pitch, *numbers = memory.places + r * plan_.pitch;
        convert_row(given + r * plan_.columns.out, values, plan_.columns.out);
        read_places(places + r * plan_.columns.out, numbers, plan_.columns.out);
        std::fill(values + plan_.columns.out, values + plan_.pitch, T(0));
        std::fill(numbers + plan_.columns.out, numbers + plan_.pitch, T(-1));
      }
    }
    std::fill_n(memory.values + run, kLanes, T(0));
    std::fill_n(memory.places + run, kLanes, T(-1));
    const bool is_covered = static_cast<int64_t>(plan_.taps.size()) == plan_.sub_planes() && !plan_.overlaps;
    if (!is_covered) std::fill_n(memory.subs, plan_.sub_planes() * memory.sub_plane, T(0));
    if (plan_.overlaps)
      add_shares(memory, run);
    else
      write_shares(memory, run);
    write_rows(plane, begin, end, first, windows + plan_.most_row_shift, memory);
  }

  // Tap by tap: the order in which an element of several windows adds up.
  void add_shares(const Memory& memory, int64_t run) const {
    const hn::ScalableTag<T> d;
    for (size_t t = 0; t < plan_.taps.size(); ++t) {
      T* HWY_RESTRICT to = memory.subs + memory.offsets[t];
      const auto number = hn::Set(d, static_cast<T>(t));
      int64_t i = 0;
      for (; i + kLanes <= run; i += kLanes)
        hn::StoreU(hn::Add(hn::LoadU(d, to + i), share(memory, i, number)), d, to + i);
      for (; i < run; ++i) to[i] += memory.places[i] == static_cast<T>(t) ? memory.values[i] : T(0);
    }
  }

  void write_shares(const Memory& memory, int64_t run) const {
    const hn::ScalableTag<T> d;
    for (int64_t i = 0; i < run; i += kLanes) {
      for (size_t t = 0; t < plan_.taps.size(); ++t)
        hn::StoreU(share(memory, i, hn::Set(d, static_cast<T>(t))), d, memory.subs + memory.offsets[t] + i);
    }
  }

  template <typename V>
  static HWY_INLINE V share(const Memory& memory, int64_t at, V number) {
    const hn::ScalableTag<T> d;
    return hn::IfThenElseZero(hn::Eq(hn::LoadU(d, memory.places + at), number), hn::LoadU(d, memory.values + at));
  }

  void write_rows(int64_t plane, int64_t begin, int64_t end, int64_t first, int64_t rows, const Memory& memory) const {
    const int64_t height = plan_.rows.stride, width = plan_.columns.stride, size = plan_.columns.image;
    Stored* const image = reinterpret_cast<Stored*>(p_.out) + plane * plan_.image();
    Stored* const stop = image + end * size;  // what lies behind may be another thread's
    for (int64_t y = begin; y < end; ++y) {
      const int64_t at = y + plan_.rows.padding, row = at / height - first;
      Stored* to = image + y * size;
      if (row < 0 || row >= rows) {
        std::fill_n(to, size, convert<Stored>(T(0)));
        continue;
      }
      const Row<T> from{memory.subs + at % height * width * memory.sub_plane + row * plan_.pitch, memory.sub_plane};
      if constexpr (kConverts) {
        join_row(from, memory.row, memory.row + size + 4 * kLanes);
        convert_row(memory.row, to, size);
      } else {
        join_row(from, to, stop);
      }
    }
  }

  // Memory up to `end` may be written.
  HWY_INLINE void join_row(const Row<T>& from, T* HWY_RESTRICT to, const T* end) const {
    const int64_t width = plan_.columns.stride, size = plan_.columns.image;
    if (width == 2) {
      const Halves<T> halves(plan_, from);
      const int64_t both = std::max(halves.evens, halves.odds);
      int64_t i = 0;
      const hn::ScalableTag<T> d;
      for (; i < both && to + 2 * (i + kLanes) <= end; i += kLanes)
        hn::StoreInterleaved2(hn::LoadU(d, halves.even + i), hn::LoadU(d, halves.odd + i), d, to + 2 * i);
      for (int64_t j = i; j < halves.evens; ++j) to[2 * j] = halves.even[j];
      for (int64_t j = i; j < halves.odds; ++j) to[2 * j + 1] = halves.odd[j];
      for (int64_t j = 2 * halves.evens; j < size; j += 2) to[j] = T(0);
      for (int64_t j = 2 * halves.odds + 1; j < size; j += 2) to[j] = T(0);
      return;
    }
    for (int64_t x = 0; x < width; ++x) {
      const auto [first, begin, count] = part_of_row(x, size);
      const T* row = from.first + x * from.apart + begin;
      for (int64_t i = 0; i < count; ++i) to[first + i * width] = row[i];
      for (int64_t i = first + count * width; i < size; i += width) to[i] = T(0);
    }
  }

  const PoolProblem& p_;
  const PoolPlan& plan_;
};

template <typename F>
void with_types(const PoolProblem& problem, F&& f) {
  dispatch(problem.dtype, [&]<typename Stored>() {
    if constexpr (!std::is_integral_v<Stored>) {
      using T = std::conditional_t<std::is_same_v<Stored, double>, double, float>;
      if (problem.place_dtype == DType::u8) return f(Pooling<T, Stored, uint8_t>(problem));
      f(Pooling<T, Stored, int32_t>(problem));
    }
  });
}

void find_largest(const PoolProblem& problem) {
  with_types(problem, [](const auto& pooling) { pooling.find(); });
}
void spread_largest(const PoolProblem& problem) {
  with_types(problem, [](const auto& pooling) { pooling.spread(); });
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(find_largest);
HWY_EXPORT(spread_largest);

void find_largest(const PoolProblem& problem) { HWY_DYNAMIC_DISPATCH(find_largest)(problem); }
void spread_largest(const PoolProblem& problem) { HWY_DYNAMIC_DISPATCH(spread_largest)(problem); }

}  // namespace tenon::backends::cpu
#endif
