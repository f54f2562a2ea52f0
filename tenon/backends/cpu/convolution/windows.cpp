// Convolutions as products of packed weights and windows, without ever laying all windows out in memory.
//
// A task takes a band of rows of one image: it copies what the band reads into sub-planes (convolution.h), then packs
// panels of neighbouring places, a row for every channel and tap, which the innermost product reads beside the weights.
// Every sum runs over channels and taps in the same blocks, so bits depend on shapes alone.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/convolution/windows.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <algorithm>

#include "hwy/highway.h"
#include "tenon/backends/cpu/calls/pack-inl.h"
#include "tenon/backends/cpu/convolution/convolution.h"
#include "tenon/backends/cpu/matmul/tile-inl.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"
#include "tenon/base/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using base::ceil_div;
using base::round_up;

constexpr bool kRowsStay = HWY_TARGET != HWY_NEON;
// Products that are summed before they are added to the sums so far. A panel of so many fits into the first-level cache
// of an ARM core beside the weights that pass by.
constexpr int64_t kMostDepth = 320;
// Places that share one pass over the weights, and weights that stay near meanwhile.
constexpr int64_t kGroupPanels = HWY_TARGET == HWY_NEON ? 8 : 4, kBlockRows = 192;
// A band's sub-planes should leave room in a second-level cache of 1 MiB.
constexpr int64_t kBandBytes = 384 << 10;
// Multiply-adds below which a second thread costs more than it saves.
constexpr int64_t kGrain = 130'000;

constexpr int64_t depth_of(int64_t k) {
  const int64_t parts = ceil_div(k, kMostDepth);
  return k <= kMostDepth ? k : round_up(ceil_div(k, parts), 8);
}

// Each addition is the vector instruction that a kernel of its own would use, so that the bits are the same.
template <bool kRelu, typename D>
HWY_INLINE hn::Vec<D> biased(D d, hn::Vec<D> sums, hn::Vec<D> bias) {
  const auto sum = hn::Add(sums, bias);
  return kRelu ? hn::IfThenZeroElse(hn::Le(sum, hn::Zero(d)), sum) : sum;
}

template <bool kRelu>
HWY_INLINE void add_number(float bias, const float* from, float* to, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  int64_t i = 0;
  for (; i + kVectorSize<float> <= n; i += kVectorSize<float>)
    hn::StoreU(biased<kRelu>(d, hn::LoadU(d, from + i), hn::Set(d, bias)), d, to + i);
  for (; i < n; ++i) hn::StoreU(biased<kRelu>(d1, hn::LoadU(d1, from + i), hn::Set(d1, bias)), d1, to + i);
}

void add_channels(const float* bias, float* planes, int64_t images, int64_t channels, int64_t plane, bool relu) {
  for (int64_t i = 0; i < images * channels; ++i, planes += plane) {
    if (relu)
      add_number<true>(bias[i % channels], planes, planes, plane);
    else
      add_number<false>(bias[i % channels], planes, planes, plane);
  }
}

template <typename T>
class WindowRun {
 public:
  explicit WindowRun(const ConvProblem& problem) : p_(problem), plan_(*problem.plan) {}

  void run() {
    pack_weights();
    const int64_t bands = bands_of_image(), tasks = plan_.images * plan_.groups * bands;
    const auto work = static_cast<int64_t>(plan_.work() / static_cast<double>(std::max<int64_t>(1, tasks)));
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
    base::parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t band = i % bands, group = i / bands % plan_.groups, image = i / bands / plan_.groups;
        Band(*this, image, group, plan_.most_rows * band / bands, plan_.most_rows * (band + 1) / bands).run();
      }
    });
  }

  static int64_t packed_count(const ConvPhase& phase, const ConvPlan& plan) {
    return round_up(plan.out_channels, kTileRows) * plan.in_channels * static_cast<int64_t>(phase.taps.size()) +
           kVectorSize<T>;
  }

 private:
  static constexpr int64_t kLanes = kVectorSize<T>;

  // So many that a band stays near, and that there is work for all threads.
  int64_t bands_of_image() const {
    const int64_t halo = plan_.most_row_shift - plan_.least_row_shift;
    const int64_t row_bytes = plan_.in_channels * plan_.sub_planes() * plan_.pitch * static_cast<int64_t>(sizeof(T));
    const int64_t least = std::min(plan_.most_rows, std::max<int64_t>(2 * halo, ceil_div(64, plan_.pitch)));
    const int64_t rows = std::clamp(kBandBytes / std::max<int64_t>(1, row_bytes) - halo, std::max<int64_t>(1, least),
                                    std::max<int64_t>(1, plan_.most_rows));
    const int64_t for_cache = ceil_div(plan_.most_rows, rows);
    const int64_t threads = base::num_threads(), wanted = threads == 1 ? 1 : 4 * threads;
    const int64_t for_threads = ceil_div(wanted, std::max<int64_t>(1, plan_.images * plan_.groups));
    const int64_t most = std::max<int64_t>(1, plan_.most_rows / std::max<int64_t>(1, least));
    return std::max(for_cache, std::min(for_threads, most));
  }

  // Tiles of kTileRows channels of the result, step by step; the steps are those of the panels.
  void pack_weights() {
    T* packed = reinterpret_cast<T*>(p_.packed);
    const int64_t tiles = ceil_div(plan_.out_channels, kTileRows);
    for (const ConvPhase& phase : plan_.phases) {
      const auto taps = static_cast<int64_t>(phase.taps.size());
      const int64_t depth = plan_.in_channels * taps;
      base::parallel_for(plan_.groups * tiles, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, depth * kTileRows)),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i)
                             pack_tile(phase, i / tiles, i % tiles,
                                       packed + phase.weights_at + (i / tiles) * packed_count(phase, plan_) +
                                           (i % tiles) * kTileRows * depth);
                         });
    }
  }

  void pack_tile(const ConvPhase& phase, int64_t group, int64_t tile, T* to) const {
    const int64_t rows = std::min<int64_t>(kTileRows, plan_.out_channels - tile * kTileRows);
    dispatch(p_.weights.dtype, [&]<typename From>() {
      if constexpr (!std::is_integral_v<From>) {
        const From* from = reinterpret_cast<const From*>(p_.weights.data) + group * p_.weights.group +
                           tile * kTileRows * p_.weights.row;
        for (int64_t c = 0; c < plan_.in_channels; ++c) {
          for (const ConvTap& tap : phase.taps) {
            const From* at = from + c * p_.weights.inner + tap.weight;
            for (int64_t r = 0; r < rows; ++r) to[r] = convert<T>(at[r * p_.weights.row]);
            for (int64_t r = rows; r < kTileRows; ++r) to[r] = T(0);
            to += kTileRows;
          }
        }
      }
    });
  }

  // Rows of places `begin` ... of one image and group.
  class Band {
   public:
    Band(const WindowRun& run, int64_t image, int64_t group, int64_t begin, int64_t end)
        : p_(run.p_), plan_(run.plan_), group_(group), begin_(begin), rows_(end - begin), scratch_(carve(nullptr)) {
      carve(scratch_.data());
      const int64_t planes = image * plan_.groups + group;
      in_ = p_.in +
            planes * plan_.in_channels * plan_.in_rows * plan_.in_columns * static_cast<int64_t>(size_of(p_.in_dtype));
      out_ = p_.out + planes * plan_.out_channels * plan_.out_rows * plan_.out_columns *
                          static_cast<int64_t>(size_of(p_.out_dtype));
    }

    void run() {
      copy_planes();
      for (const ConvPhase& phase : plan_.phases) run_phase(phase);
    }

   private:
    static constexpr int64_t kGroup = kGroupPanels * kTileColumns<T>;

    size_t carve(std::byte* base) {
      Carver carver(base);
      int64_t taps = 0, depth = 0;  // fewer taps may have deeper parts
      for (const ConvPhase& phase : plan_.phases) {
        const auto own = static_cast<int64_t>(phase.taps.size());
        taps = std::max(taps, own);
        depth = std::max(depth, depth_of(plan_.in_channels * own));
      }
      offsets_ = carver.take<int64_t>(taps);
      planes_ = carver.take<T>(plan_.in_front + plan_.in_channels * channel() + kTileColumns<T>) + plan_.in_front;
      panels_ = carver.take<T>(kGroup * depth);
      sums_ = carver.take<T>(plan_.out_channels * kGroup);
      return carver.used();
    }

    int64_t channel() const { return plan_.sub_planes() * plan_.plane(rows_); }

    void copy_planes() {
      std::fill(planes_ - plan_.in_front, planes_, T(0));
      T* behind = planes_ + plan_.in_channels * channel();
      std::fill(behind, behind + kTileColumns<T>, T(0));
      dispatch(p_.in_dtype, [&]<typename From>() HWY_ATTR {
        if constexpr (!std::is_integral_v<From>) {
          T* to = planes_;
          for (int64_t c = 0; c < plan_.in_channels; ++c) {
            const From* from = reinterpret_cast<const From*>(in_) + c * plan_.in_rows * plan_.in_columns;
            for (int64_t y = 0; y < plan_.row_step; ++y) {
              for (int64_t x = 0; x < plan_.column_step; ++x) {
                for (int64_t r = 0; r < plan_.rows_for(rows_); ++r, to += plan_.pitch)
                  copy_row(from, (begin_ + plan_.least_row_shift + r) * plan_.row_step + y, x, to);
              }
            }
          }
        }
      });
    }

    template <typename From>
    HWY_INLINE void copy_row(const From* plane, int64_t row, int64_t column, T* to) const {
      int64_t filled = 0;
      if (row >= 0 && row < plan_.in_rows) {
        const From* from = plane + row * plan_.in_columns + column;
        filled = std::clamp<int64_t>(ceil_div(plan_.in_columns - column, plan_.column_step), 0, plan_.filled);
        if (plan_.column_step == 1) {
          convert_row(from, to, filled);
        } else {
          for (int64_t i = 0; i < filled; ++i) to[i] = convert<T>(from[i * plan_.column_step]);
        }
      }
      std::fill(to + filled, to + plan_.pitch, T(0));
    }

    void run_phase(const ConvPhase& phase) {
      const int64_t rows = std::min(rows_, phase.rows - begin_);
      if (rows <= 0 || phase.columns == 0) return;
      const auto taps = static_cast<int64_t>(phase.taps.size());
      for (int64_t t = 0; t < taps; ++t) offsets_[t] = plan_.offset(phase.taps[static_cast<size_t>(t)], rows_);
      const int64_t inner = plan_.in_channels * taps, depth = depth_of(inner);
      const int64_t places = (rows - 1) * plan_.pitch + phase.columns;
      for (int64_t first = 0; first < places; first += kGroup) {
        const int64_t width = std::min(kGroup, places - first);
        if (inner == 0) std::fill_n(sums_, plan_.out_channels * kGroup, T(0));
        for (int64_t k = 0; k < inner; k += depth) multiply(phase, first, width, k, std::min(depth, inner - k), taps);
        write(phase, first, width);
      }
    }

    template <typename F>
    static HWY_INLINE void for_each_panel(int64_t width, F&& f) {
      int64_t left = ceil_div(width, kLanes);
      for (int64_t at = 0; left > 0;) {
        const int64_t vectors = next_panel(left);
        f(at, vectors);
        left -= vectors;
        at += vectors * kLanes;
      }
    }

    void multiply(const ConvPhase& phase, int64_t first, int64_t width, int64_t k, int64_t depth, int64_t taps) {
      for_each_panel(width, [&](int64_t at, int64_t vectors) HWY_ATTR {
        const T* from = planes_ + first + at;
        T* to = panels_ + at * depth;
        if constexpr (kTileVectors > 3) {
          if (vectors == 4) return pack_panel<4>(from, k, depth, taps, to);
        }
        if constexpr (kTileVectors > 2) {
          if (vectors == 3) return pack_panel<3>(from, k, depth, taps, to);
        }
        if (vectors == 2) return pack_panel<2>(from, k, depth, taps, to);
        pack_panel<1>(from, k, depth, taps, to);
      });
      const int64_t inner = plan_.in_channels * taps;
      const T* weights =
          reinterpret_cast<const T*>(p_.packed) + phase.weights_at + group_ * WindowRun::packed_count(phase, plan_);
      const auto multiply_at = [&](int64_t row, int64_t at, int64_t vectors) HWY_ATTR {
        multiply_panel<T, true>(std::min<int64_t>(kTileRows, plan_.out_channels - row), vectors, depth,
                                weights + row * inner + k * kTileRows, 1, kTileRows, panels_ + at * depth,
                                vectors * kLanes, sums_ + row * kGroup + at, kGroup, k > 0);
      };
      for (int64_t block = 0; block < plan_.out_channels; block += kBlockRows) {
        const int64_t end = std::min(plan_.out_channels, block + kBlockRows);
        if constexpr (kRowsStay) {
          for (int64_t row = block; row < end; row += kTileRows)
            for_each_panel(width, [&](int64_t at, int64_t vectors) HWY_ATTR { multiply_at(row, at, vectors); });
        } else {
          for_each_panel(width, [&](int64_t at, int64_t vectors) HWY_ATTR {
            for (int64_t row = block; row < end; row += kTileRows) multiply_at(row, at, vectors);
          });
        }
      }
    }

    // Steps k ... of the sums: channel by channel, tap by tap.
    template <int kVectors>
    void pack_panel(const T* HWY_RESTRICT from, int64_t k, int64_t depth, int64_t taps, T* HWY_RESTRICT to) const {
      const hn::ScalableTag<T> d;
      int64_t tap = k % taps;
      const T* plane = from + k / taps * channel();
      const int64_t step = channel();
      for (int64_t i = 0; i < depth; ++i, to += kVectors * kLanes) {
        const T* at = plane + offsets_[tap];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::LoadU(d, at + v * kLanes), d, to + v * kLanes);
        if (++tap == taps) tap = 0, plane += step;
      }
    }

    // Places between the end of a row and the next one are none.
    void write(const ConvPhase& phase, int64_t first, int64_t width) const {
      dispatch(p_.out_dtype, [&]<typename Out>() HWY_ATTR {
        if constexpr (!std::is_integral_v<Out>) {
          const int64_t plane = plan_.out_rows * plan_.out_columns;
          for (int64_t row = first / plan_.pitch; row * plan_.pitch < first + width; ++row) {
            const int64_t begin = std::max(first, row * plan_.pitch);
            const int64_t end = std::min(first + width, row * plan_.pitch + phase.columns);
            if (begin >= end) continue;
            const int64_t column = begin - row * plan_.pitch;
            Out* to = reinterpret_cast<Out*>(out_) +
                      (phase.first_row + (begin_ + row) * phase.row_step) * plan_.out_columns + phase.first_column +
                      column * phase.column_step;
            const T* from = sums_ + begin - first;
            for (int64_t o = 0; o < plan_.out_channels; ++o, to += plane, from += kGroup) {
              if constexpr (std::is_same_v<T, float> && std::is_same_v<Out, float>) {
                if (p_.bias) {
                  write_biased(p_.bias[group_ * plan_.out_channels + o], from, to, end - begin, phase.column_step);
                  continue;
                }
              }
              if (phase.column_step == 1) {
                convert_row(from, to, end - begin);
              } else {
                for (int64_t i = 0; i < end - begin; ++i) to[i * phase.column_step] = convert<Out>(from[i]);
              }
            }
          }
        }
      });
    }

    void write_biased(float bias, const float* from, float* to, int64_t n, int64_t step) const {
      if (step == 1) {
        if (p_.relu) return add_number<true>(bias, from, to, n);
        return add_number<false>(bias, from, to, n);
      }
      for (int64_t i = 0; i < n; ++i) {
        if (p_.relu)
          add_number<true>(bias, from + i, to + i * step, 1);
        else
          add_number<false>(bias, from + i, to + i * step, 1);
      }
    }

    const ConvProblem& p_;
    const ConvPlan& plan_;
    int64_t group_, begin_, rows_;
    const std::byte* in_ = nullptr;
    std::byte* out_ = nullptr;
    int64_t* offsets_ = nullptr;
    T *planes_ = nullptr, *panels_ = nullptr, *sums_ = nullptr;
    Scratch scratch_;
  };

  const ConvProblem& p_;
  const ConvPlan& plan_;
};

template <typename T>
size_t packed_bytes(ConvPlan& plan) {
  int64_t count = 0;
  for (ConvPhase& phase : plan.phases) {
    phase.weights_at = count;
    count += plan.groups * WindowRun<T>::packed_count(phase, plan);
  }
  return static_cast<size_t>(count) * sizeof(T);
}

size_t packed_weights_bytes(ConvPlan& plan, bool is_f64) {
  return is_f64 ? packed_bytes<double>(plan) : packed_bytes<float>(plan);
}

void run_windows(const ConvProblem& problem, bool is_f64) {
  if (is_f64) return WindowRun<double>(problem).run();
  WindowRun<float>(problem).run();
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(packed_weights_bytes);
HWY_EXPORT(run_windows);
HWY_EXPORT(add_channels);

size_t packed_weights_bytes(ConvPlan& plan, bool is_f64) {
  return HWY_DYNAMIC_DISPATCH(packed_weights_bytes)(plan, is_f64);
}
void run_windows(const ConvProblem& problem, bool is_f64) { HWY_DYNAMIC_DISPATCH(run_windows)(problem, is_f64); }
void add_channels(const float* bias, float* planes, int64_t images, int64_t channels, int64_t plane, bool relu) {
  HWY_DYNAMIC_DISPATCH(add_channels)(bias, planes, images, channels, plane, relu);
}

}  // namespace tenon::backends::cpu
#endif
