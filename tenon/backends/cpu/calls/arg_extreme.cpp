// Where the first largest or smallest number of a line stands, and which it is: argmax() and max() along a dim in one
// pass.
//
// New extremes are few: whole vectors without one are passed over.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/calls/arg_extreme.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

// Whether no number of `x` goes beyond `y`, which a NaN does.
template <class D, class V>
bool are_within(D d, V x, V y) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>())
    return hn::AllTrue(d, hn::Le(x, y));
  else
    return hn::AllFalse(d, hn::Gt(x, y));
}

// How many numbers, in whole vectors, do not go beyond `best`.
template <typename T>
size_t count_within(const T* from, T best, bool largest, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const auto bound = hn::Set(d, best);
  size_t i = 0;
  if (largest) {
    while (i + kStep <= n && are_within(d, hn::LoadU(d, from + i), bound)) i += kStep;
  } else {
    while (i + kStep <= n && are_within(d, bound, hn::LoadU(d, from + i))) i += kStep;
  }
  return i;
}

}  // namespace

size_t within_f32_here(const float* from, float best, bool largest, size_t n) {
  return count_within(from, best, largest, n);
}
size_t within_f64_here(const double* from, double best, bool largest, size_t n) {
  return count_within(from, best, largest, n);
}
size_t within_i32_here(const int32_t* from, int32_t best, bool largest, size_t n) {
  return count_within(from, best, largest, n);
}
size_t within_i64_here(const int64_t* from, int64_t best, bool largest, size_t n) {
  return count_within(from, best, largest, n);
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

HWY_EXPORT(within_f32_here);
HWY_EXPORT(within_f64_here);
HWY_EXPORT(within_i32_here);
HWY_EXPORT(within_i64_here);

size_t count_within(const float* from, float best, bool largest, size_t n) {
  return HWY_DYNAMIC_DISPATCH(within_f32_here)(from, best, largest, n);
}
size_t count_within(const double* from, double best, bool largest, size_t n) {
  return HWY_DYNAMIC_DISPATCH(within_f64_here)(from, best, largest, n);
}
size_t count_within(const int32_t* from, int32_t best, bool largest, size_t n) {
  return HWY_DYNAMIC_DISPATCH(within_i32_here)(from, best, largest, n);
}
size_t count_within(const int64_t* from, int64_t best, bool largest, size_t n) {
  return HWY_DYNAMIC_DISPATCH(within_i64_here)(from, best, largest, n);
}

template <typename T>
class ArgExtreme : public CallKernel {
 public:
  explicit ArgExtreme(const ir::Call& call)
      : input_(call.inputs[0], Input::Wanted::contiguous),
        lines_(input_.shape(), settings(call)[0]),
        largest_(settings(call)[1] != 0),
        has_values_(call.outputs.size() == 2) {}

  void run(const Arguments& args) const override {
    if (input_.count() == 0) return;
    const Input::Bound input(input_, args[0]);
    T* values = has_values_ ? reinterpret_cast<T*>(args[1]) : nullptr;
    auto* places = reinterpret_cast<int64_t*>(args[has_values_ ? 2 : 1]);
    constexpr int64_t kGrainElements = 16 << 10;
    const int64_t bundles = (lines_.inner + kAbreast - 1) / kAbreast;
    const int64_t bundle_elements = lines_.length * std::min(lines_.inner, kAbreast);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / bundle_elements);
    base::parallel_for(lines_.outer * bundles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t line = i / bundles, first = i % bundles * kAbreast;
        const T* from = input.as<T>() + line * lines_.length * lines_.inner + first;
        const int64_t to = line * lines_.inner + first;
        T* const value = has_values_ ? values + to : nullptr;
        if (lines_.inner == 1)
          search(from, value, places + to);
        else
          search_abreast(from, value, places + to, std::min(kAbreast, lines_.inner - first));
      }
    });
  }

 private:
  static constexpr int64_t kAbreast = 128;  // lines that lie side by side are searched together
  static constexpr bool kIsHalf = std::is_same_v<T, base::Half> || std::is_same_v<T, base::BFloat16>;
  using Wide = std::conditional_t<kIsHalf, float, T>;

  static const std::vector<int64_t>& settings(const ir::Call& call) {
    return std::get<ir::ComposedAttrs>(call.attrs).what->settings;
  }
  static Wide widened(T x) {
    if constexpr (kIsHalf)
      return convert<float>(x);
    else
      return x;
  }
  static bool is_nan(Wide x) { return x != x; }
  bool goes_beyond(Wide x, Wide best) const { return (largest_ ? x > best : x < best) || (is_nan(x) && !is_nan(best)); }

  void search(const T* from, T* value, int64_t* place) const {
    constexpr int64_t kOneByOne = 16;  // before it pays to look at whole vectors again
    Wide best = widened(from[0]);
    int64_t at = 0;
    for (int64_t i = 1; i < lines_.length && !is_nan(best);) {
      const int64_t end = std::min(i + kOneByOne, lines_.length);
      for (; i < end; ++i) {
        if (!goes_beyond(widened(from[i]), best)) continue;
        best = widened(from[i]);
        at = i;
      }
      if constexpr (!kIsHalf && sizeof(T) >= 4)
        i += static_cast<int64_t>(count_within(from + i, best, largest_, static_cast<size_t>(lines_.length - i)));
    }
    *place = at;
    if (value) *value = from[at];
  }

  void search_abreast(const T* from, T* values, int64_t* places, int64_t abreast) const {
    std::array<Wide, kAbreast> best;
    for (int64_t n = 0; n < abreast; ++n) {
      best[static_cast<size_t>(n)] = widened(from[n]);
      places[n] = 0;
    }
    const T* row = from;
    for (int64_t i = 1; i < lines_.length; ++i) {
      row += lines_.inner;
      for (int64_t n = 0; n < abreast; ++n) {
        const Wide x = widened(row[n]);
        Wide& now = best[static_cast<size_t>(n)];
        if (!goes_beyond(x, now)) continue;
        now = x;
        places[n] = i;
      }
    }
    for (int64_t n = 0; values && n < abreast; ++n) values[n] = from[places[n] * lines_.inner + n];
  }

  Input input_;
  Lines lines_;
  bool largest_, has_values_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_arg_extreme(const ir::Call& call) {
  return dispatch(call.inputs[0].dtype,
                  [&]<typename T>() -> std::unique_ptr<CallKernel> { return std::make_unique<ArgExtreme<T>>(call); });
}

}  // namespace tenon::backends::cpu
#endif
