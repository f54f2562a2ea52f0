// Running extremes and the last place up to every element of a line where one was taken: the values of cummax(), by the
// kernel of scans, and beside them their places as one pass.
//
// Extremes are few: vectors without one repeat the place before them. 256 rows of 256 random numbers take a quarter of
// the time that comparing, choosing, scanning and widening take one after the other.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/calls/extremes.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

// NaN is an extreme wherever it stands.
template <typename T>
void find_places(const T* from, const T* extremes, int64_t* to, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<int64_t> di;
  constexpr size_t kStep = kLanesOf<decltype(d)>, kPlaces = kLanesOf<decltype(di)>;
  int64_t last = 0;
  size_t i = 0;
  const auto one_by_one = [&](size_t end) {
    for (; i < end; ++i) {
      if (from[i] == extremes[i] || from[i] != from[i]) last = static_cast<int64_t>(i);
      to[i] = last;
    }
  };
  while (i + kStep <= n) {
    const auto x = hn::LoadU(d, from + i);
    if (hn::AllTrue(d, hn::Lt(x, hn::LoadU(d, extremes + i)))) {
      const auto all = hn::Set(di, last);
      for (size_t k = 0; k < kStep; k += kPlaces) hn::StoreU(all, di, to + i + k);
      i += kStep;
    } else {
      one_by_one(i + kStep);
    }
  }
  one_by_one(n);
}

}  // namespace

void places_f32_here(const float* from, const float* extremes, int64_t* to, size_t n) {
  find_places(from, extremes, to, n);
}
void places_f64_here(const double* from, const double* extremes, int64_t* to, size_t n) {
  find_places(from, extremes, to, n);
}
void places_i32_here(const int32_t* from, const int32_t* extremes, int64_t* to, size_t n) {
  find_places(from, extremes, to, n);
}
void places_i64_here(const int64_t* from, const int64_t* extremes, int64_t* to, size_t n) {
  find_places(from, extremes, to, n);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>

#include "tenon/backends/cpu/calls/convert.h"
#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/parallel.h"
#include "tenon/ir/composition.h"

namespace tenon::backends::cpu {
namespace {

HWY_EXPORT(places_f32_here);
HWY_EXPORT(places_f64_here);
HWY_EXPORT(places_i32_here);
HWY_EXPORT(places_i64_here);

void find_places(const float* from, const float* extremes, int64_t* to, size_t n) {
  HWY_DYNAMIC_DISPATCH(places_f32_here)(from, extremes, to, n);
}
void find_places(const double* from, const double* extremes, int64_t* to, size_t n) {
  HWY_DYNAMIC_DISPATCH(places_f64_here)(from, extremes, to, n);
}
void find_places(const int32_t* from, const int32_t* extremes, int64_t* to, size_t n) {
  HWY_DYNAMIC_DISPATCH(places_i32_here)(from, extremes, to, n);
}
void find_places(const int64_t* from, const int64_t* extremes, int64_t* to, size_t n) {
  HWY_DYNAMIC_DISPATCH(places_i64_here)(from, extremes, to, n);
}

template <typename T>
class RunningExtremes : public CallKernel {
 public:
  explicit RunningExtremes(const ir::Call& call)
      : input_(call.inputs[0], Input::Wanted::contiguous),
        lines_(input_.shape(), axis_of(call)),
        scan_(compile_scan({.op = ir::Op::scan,
                            .attrs = ir::ScanAttrs{axis_of(call), ir::ScanKind::max},
                            .inputs = {call.inputs[0]},
                            .outputs = {call.outputs[0]}})) {}

  void run(const Arguments& args) const override {
    scan_->run(args);  // reads the input and writes the output that come first
    if (input_.count() == 0) return;
    const Input::Bound input(input_, args[0]);
    const T* extremes = reinterpret_cast<const T*>(args[1]);
    auto* out = reinterpret_cast<int64_t*>(args[2]);
    constexpr int64_t kAbreast = 128, kGrainElements = 16 << 10;  // lines that lie side by side are walked together
    const int64_t bundles = (lines_.inner + kAbreast - 1) / kAbreast;
    const int64_t bundle_elements = lines_.length * std::min(lines_.inner, kAbreast);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / bundle_elements);
    base::parallel_for(lines_.outer * bundles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % bundles * kAbreast, start = i / bundles * lines_.length * lines_.inner + first;
        const T *from = input.as<T>() + start, *largest = extremes + start;
        if constexpr (sizeof(T) >= 4) {
          if (lines_.inner == 1) {
            find_places(from, largest, out + start, static_cast<size_t>(lines_.length));
            continue;
          }
        }
        walk_abreast(from, largest, out + start, std::min(kAbreast, lines_.inner - first));
      }
    });
  }

 private:
  static int64_t axis_of(const ir::Call& call) { return std::get<ir::ComposedAttrs>(call.attrs).what->settings[0]; }
  static bool is_extreme(T x, T extreme) {
    if constexpr (std::is_integral_v<T>)
      return x == extreme;
    else
      return convert<double>(x) == convert<double>(extreme) || convert<double>(x) != convert<double>(x);
  }

  void walk_abreast(const T* from, const T* largest, int64_t* to, int64_t abreast) const {
    for (int64_t n = 0; n < abreast; ++n) to[n] = 0;
    for (int64_t i = 1; i < lines_.length; ++i) {
      from += lines_.inner, largest += lines_.inner, to += lines_.inner;
      for (int64_t n = 0; n < abreast; ++n) to[n] = is_extreme(from[n], largest[n]) ? i : to[n - lines_.inner];
    }
  }

  Input input_;
  Lines lines_;
  std::unique_ptr<CallKernel> scan_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_running_extremes(const ir::Call& call) {
  return dispatch(call.inputs[0].dtype, [&]<typename T>() -> std::unique_ptr<CallKernel> {
    return std::make_unique<RunningExtremes<T>>(call);
  });
}

}  // namespace tenon::backends::cpu
#endif
