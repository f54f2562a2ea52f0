// The gradient of a convolution's weights: for every tap the product of all results with all that the tap has read.
//
// Sums run over places, so both operands are wanted place by place with channels side by side: a band of rows of the
// image and of the results is transposed once, and then every tap reads it at another distance. Images are shared out
// among a number of sums that follows from the shape alone, and these are added in order.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/convolution/weights.cpp"
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

// Places that are summed before they are added to the sums so far: what they read fits into the first-level cache.
constexpr int64_t kDepth = 128;
// Of the transposed image: the rows that a band shares with the next one are transposed twice.
constexpr int64_t kBandBytes = 256 << 10;
// Products that a task should have, so that there are some for every thread.
constexpr int64_t kEnoughTasks = 16;

template <typename T>
class WeightRun {
 public:
  explicit WeightRun(const ConvWeightProblem& problem) : p_(problem), plan_(*problem.plan) {}

  static int64_t width(const ConvPlan& plan) { return round_up(plan.in_channels, kVectorSize<T>); }
  /// Elements of the sums of one group: taps, channels of the result, channels of the image.
  static int64_t group_count(const ConvPlan& plan) {
    return static_cast<int64_t>(plan.phases[0].taps.size()) * plan.out_channels * width(plan);
  }

  void run() {
    const int64_t by_images = p_.parts * plan_.groups, tiles = ceil_div(plan_.out_channels, kTileRows);
    const int64_t cuts = std::clamp<int64_t>(ceil_div(kEnoughTasks, by_images), 1, tiles);
    base::parallel_tasks(by_images * cuts, [&](int64_t i) {
      const int64_t cut = i % cuts, group = i / cuts % plan_.groups, part = i / cuts / plan_.groups;
      const int64_t first = std::min(plan_.out_channels, tiles * cut / cuts * kTileRows);
      const int64_t end = std::min(plan_.out_channels, tiles * (cut + 1) / cuts * kTileRows);
      Part(*this, part, group, first, end).run();
    });
    add_parts();
  }

 private:
  static constexpr int64_t kLanes = kVectorSize<T>;

  T* sums_of(int64_t part, int64_t group) const {
    return reinterpret_cast<T*>(p_.sums) + (part * plan_.groups + group) * group_count(plan_);
  }

  // Some images, some channels of the result.
  class Part {
   public:
    Part(const WeightRun& run, int64_t part, int64_t group, int64_t first, int64_t end)
        : p_(run.p_),
          plan_(run.plan_),
          phase_(run.plan_.phases[0]),
          group_(group),
          first_(first),
          channels_(end - first),
          width_(WeightRun::width(run.plan_)),
          sums_(run.sums_of(part, group)),
          rows_(band_rows()),
          scratch_(carve(nullptr)) {
      carve(scratch_.data());
      begin_ = plan_.images * part / p_.parts;
      end_ = plan_.images * (part + 1) / p_.parts;
    }

    void run() {
      bool is_first = true;
      for (int64_t image = begin_; image < end_; ++image) {
        for (int64_t row = 0; row < phase_.rows; row += rows_) {
          const int64_t rows = std::min(rows_, phase_.rows - row);
          turn_image(image, row, rows);
          turn_results(image, row, rows);
          const int64_t places = (rows - 1) * plan_.pitch + phase_.columns;
          for (int64_t q = 0; q < places; q += kDepth, is_first = false)
            multiply(q, std::min(kDepth, places - q), rows, !is_first);
        }
      }
      if (is_first) clear();
    }

   private:
    int64_t band_rows() const {
      const int64_t row_bytes = plan_.sub_planes() * plan_.pitch * width_ * static_cast<int64_t>(sizeof(T));
      const int64_t halo = plan_.rows_for(0);
      const int64_t rows = std::max(kBandBytes / std::max<int64_t>(1, row_bytes) - halo, 2 * halo);
      return std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, phase_.rows));
    }

    size_t carve(std::byte* base) {
      Carver carver(base);
      image_ =
          carver.take<T>((plan_.in_front + plan_.sub_planes() * plan_.plane(rows_)) * width_) + plan_.in_front * width_;
      results_ = carver.take<T>(rows_ * plan_.pitch * channels_ + kLanes);
      return carver.used();
    }

    // Row `at` of a plane of channels side by side, all its places.
    template <typename From>
    HWY_INLINE static void turn_row(const From* from, int64_t channel_stride, int64_t channels, int64_t step,
                                    int64_t places, T* to, int64_t to_stride) {
      pack_block(from, step, channel_stride, places, channels, to, to_stride);
    }

    void turn_image(int64_t image, int64_t row, int64_t rows) {
      std::fill(image_ - plan_.in_front * width_, image_, T(0));
      const int64_t plane = plan_.in_rows * plan_.in_columns, channels = plan_.in_channels;
      dispatch(p_.dtype, [&]<typename From>() HWY_ATTR {
        if constexpr (!std::is_integral_v<From>) {
          const From* from = reinterpret_cast<const From*>(p_.in) + (image * plan_.groups + group_) * channels * plane;
          T* to = image_;
          for (int64_t y = 0; y < plan_.row_step; ++y) {
            for (int64_t x = 0; x < plan_.column_step; ++x) {
              const int64_t filled =
                  std::clamp<int64_t>(ceil_div(plan_.in_columns - x, plan_.column_step), 0, plan_.filled);
              for (int64_t r = 0; r < plan_.rows_for(rows); ++r, to += plan_.pitch * width_) {
                const int64_t at = (row + plan_.least_row_shift + r) * plan_.row_step + y;
                const bool is_inside = at >= 0 && at < plan_.in_rows;
                if (is_inside)
                  turn_row(from + at * plan_.in_columns + x, plane, channels, plan_.column_step, filled, to, width_);
                const int64_t places = is_inside ? filled : 0;
                for (int64_t i = 0; i < places && channels < width_; ++i)
                  std::fill(to + i * width_ + channels, to + (i + 1) * width_, T(0));
                std::fill(to + places * width_, to + plan_.pitch * width_, T(0));
              }
            }
          }
        }
      });
    }

    void turn_results(int64_t image, int64_t row, int64_t rows) {
      const int64_t plane = plan_.out_rows * plan_.out_columns;
      dispatch(p_.dtype, [&]<typename From>() HWY_ATTR {
        if constexpr (!std::is_integral_v<From>) {
          const From* from = reinterpret_cast<const From*>(p_.out) +
                             ((image * plan_.groups + group_) * plan_.out_channels + first_) * plane +
                             row * plan_.out_columns;
          T* to = results_;
          for (int64_t r = 0; r < rows; ++r, from += plan_.out_columns, to += plan_.pitch * channels_) {
            turn_row(from, plane, channels_, 1, phase_.columns, to, channels_);
            std::fill(to + phase_.columns * channels_, to + plan_.pitch * channels_, T(0));
          }
        }
      });
    }

    void multiply(int64_t q, int64_t depth, int64_t rows, bool accumulate) const {
      const auto taps = static_cast<int64_t>(phase_.taps.size());
      for (int64_t t = 0; t < taps; ++t) {
        const T* right = image_ + (q + plan_.offset(phase_.taps[static_cast<size_t>(t)], rows)) * width_;
        T* to = sums_ + (t * plan_.out_channels + first_) * width_;
        int64_t left = width_ / kLanes;
        for (int64_t c = 0; left > 0;) {
          const int64_t vectors = next_panel(left);
          for (int64_t o = 0; o < channels_; o += kTileRows) {
            multiply_panel<T, true>(std::min<int64_t>(kTileRows, channels_ - o), vectors, depth,
                                    results_ + q * channels_ + o, 1, channels_, right + c, width_, to + o * width_ + c,
                                    width_, accumulate);
          }
          left -= vectors;
          c += vectors * kLanes;
        }
      }
    }

    void clear() const {
      for (size_t t = 0; t < phase_.taps.size(); ++t)
        std::fill_n(sums_ + (static_cast<int64_t>(t) * plan_.out_channels + first_) * width_, channels_ * width_, T(0));
    }

    const ConvWeightProblem& p_;
    const ConvPlan& plan_;
    const ConvPhase& phase_;
    int64_t group_, first_, channels_, width_;
    T* sums_;
    int64_t rows_;  // of a band
    int64_t begin_ = 0, end_ = 0;
    T *image_ = nullptr, *results_ = nullptr;
    Scratch scratch_;
  };

  // (taps, channels of the result, channels of the image) to (channels of the result, channels of the image, taps).
  void add_parts() const {
    const int64_t count = group_count(plan_), width = WeightRun::width(plan_), outer = plan_.out_channels;
    const std::vector<ConvTap>& taps = plan_.phases[0].taps;
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p_.kernel * width * p_.parts));
    dispatch(p_.weights_dtype, [&]<typename Out>() {
      if constexpr (!std::is_integral_v<Out>) {
        base::parallel_for(plan_.groups * outer, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            Out* to = reinterpret_cast<Out*>(p_.weights) + i * plan_.in_channels * p_.kernel;
            T* row = sums_of(0, i / outer) + i % outer * width;
            for (size_t t = 0; t < taps.size(); ++t, row += outer * width) {
              for (int64_t part = 1; part < p_.parts; ++part) {
                const T* more = row + part * plan_.groups * count;
                for (int64_t c = 0; c < width; ++c) row[c] += more[c];
              }
              for (int64_t c = 0; c < plan_.in_channels; ++c) to[c * p_.kernel + taps[t].weight] = convert<Out>(row[c]);
            }
          }
        });
      }
    });
  }

  const ConvWeightProblem& p_;
  const ConvPlan& plan_;
};

size_t weight_sums_bytes(const ConvPlan& plan, bool is_f64) {
  return is_f64 ? static_cast<size_t>(plan.groups * WeightRun<double>::group_count(plan)) * sizeof(double)
                : static_cast<size_t>(plan.groups * WeightRun<float>::group_count(plan)) * sizeof(float);
}

void run_weights(const ConvWeightProblem& problem, bool is_f64) {
  if (is_f64) return WeightRun<double>(problem).run();
  WeightRun<float>(problem).run();
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(weight_sums_bytes);
HWY_EXPORT(run_weights);

size_t weight_sums_bytes(const ConvPlan& plan, bool is_f64) {
  return HWY_DYNAMIC_DISPATCH(weight_sums_bytes)(plan, is_f64);
}
void run_weights(const ConvWeightProblem& problem, bool is_f64) { HWY_DYNAMIC_DISPATCH(run_weights)(problem, is_f64); }

}  // namespace tenon::backends::cpu
#endif
