// scan: running sums, products and maxima along an axis. Float dtypes run in double, as PyTorch's do on the CPU: a
// running f32 sum of a million numbers would keep only half of its digits.
//
// A running maximum mostly stays what it is: whole vectors below it are passed over. A row of 256 random numbers takes
// a fifth of the time that it takes number by number; where every number is a new maximum it takes no longer.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/calls/scan.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

// Writes `total` for the vectors of numbers from the first on that are all less, and tells how many numbers these are.
template <typename T>
size_t repeat_while_less(const T* from, T* to, T total, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const auto all = hn::Set(d, total);
  size_t i = 0;
  for (; i + kStep <= n && hn::AllTrue(d, hn::Lt(hn::LoadU(d, from + i), all)); i += kStep) hn::StoreU(all, d, to + i);
  return i;
}

}  // namespace

size_t repeat_f32_here(const float* from, float* to, float total, size_t n) {
  return repeat_while_less(from, to, total, n);
}
size_t repeat_f64_here(const double* from, double* to, double total, size_t n) {
  return repeat_while_less(from, to, total, n);
}
size_t repeat_i32_here(const int32_t* from, int32_t* to, int32_t total, size_t n) {
  return repeat_while_less(from, to, total, n);
}
size_t repeat_i64_here(const int64_t* from, int64_t* to, int64_t total, size_t n) {
  return repeat_while_less(from, to, total, n);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <limits>

#include "tenon/backends/cpu/calls/convert.h"
#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

HWY_EXPORT(repeat_f32_here);
HWY_EXPORT(repeat_f64_here);
HWY_EXPORT(repeat_i32_here);
HWY_EXPORT(repeat_i64_here);

size_t repeat_while_less(const float* from, float* to, float total, size_t n) {
  return HWY_DYNAMIC_DISPATCH(repeat_f32_here)(from, to, total, n);
}
size_t repeat_while_less(const double* from, double* to, double total, size_t n) {
  return HWY_DYNAMIC_DISPATCH(repeat_f64_here)(from, to, total, n);
}
size_t repeat_while_less(const int32_t* from, int32_t* to, int32_t total, size_t n) {
  return HWY_DYNAMIC_DISPATCH(repeat_i32_here)(from, to, total, n);
}
size_t repeat_while_less(const int64_t* from, int64_t* to, int64_t total, size_t n) {
  return HWY_DYNAMIC_DISPATCH(repeat_i64_here)(from, to, total, n);
}

constexpr int64_t kAbreast = 128;  // lines that lie side by side are scanned together
constexpr int64_t kGrainElements = 16 << 10;

template <typename T, ir::ScanKind kKind>
class Scan : public CallKernel {
 public:
  explicit Scan(const ir::Call& call)
      : input_(call.inputs[0], Input::Wanted::contiguous),
        lines_(input_.shape(), std::get<ir::ScanAttrs>(call.attrs).axis) {}

  void run(const Arguments& args) const override {
    if (input_.count() == 0) return;
    const Input::Bound input(input_, args[0]);
    T* out = reinterpret_cast<T*>(args[1]);
    const int64_t bundles = (lines_.inner + kAbreast - 1) / kAbreast;
    const int64_t bundle_elements = lines_.length * std::min(lines_.inner, kAbreast);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / bundle_elements);
    base::parallel_for(lines_.outer * bundles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % bundles * kAbreast;
        const int64_t start = i / bundles * lines_.length * lines_.inner + first;
        scan(input.as<T>() + start, out + start, std::min(kAbreast, lines_.inner - first));
      }
    });
  }

 private:
  static constexpr bool kIsHalf = std::is_same_v<T, base::Half> || std::is_same_v<T, base::BFloat16>;
  static constexpr bool kIsMax = kKind == ir::ScanKind::max;
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  using Total = std::conditional_t<!kIsMax, Wide, std::conditional_t<kIsHalf, float, T>>;

  static constexpr Total start() {
    if constexpr (!kIsMax)
      return kKind == ir::ScanKind::sum ? 0 : 1;
    else if constexpr (std::is_integral_v<Total>)
      return std::numeric_limits<Total>::lowest();
    else
      return -std::numeric_limits<Total>::infinity();
  }
  static Total widened(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<Total>(x);
    else
      return convert<Total>(x);
  }
  static T narrowed(Total x) {
    if constexpr (kIsHalf)
      return T(x);
    else
      return static_cast<T>(x);
  }
  static Total joined(Total total, Total x) {
    if constexpr (kKind == ir::ScanKind::sum) return total + x;
    if constexpr (kKind == ir::ScanKind::prod) return total * x;
    if (x < total) [[likely]]  // a branch that is foreseen, where a choice would wait for the one before
      return total;
    return x != x || total == total ? x : total;
  }

  void scan_maximum(const T* from, T* to) const {
    constexpr int64_t kOneByOne = 16;  // before it pays to look at whole vectors again
    Total total = start();
    for (int64_t i = 0; i < lines_.length;) {
      const int64_t end = std::min(i + kOneByOne, lines_.length);
      for (; i < end; ++i) to[i] = total = joined(total, from[i]);
      i += static_cast<int64_t>(repeat_while_less(from + i, to + i, total, static_cast<size_t>(lines_.length - i)));
    }
  }

  void scan(const T* from, T* to, int64_t abreast) const {
    if constexpr (kIsMax && sizeof(T) >= 4) {
      if (lines_.inner == 1) return scan_maximum(from, to);
    }
    if (abreast == 1) {
      Total total = start();
      for (int64_t i = 0; i < lines_.length; ++i) {
        total = joined(total, widened(from[i * lines_.inner]));
        to[i * lines_.inner] = narrowed(total);
      }
      return;
    }
    std::array<Total, kAbreast> totals;
    totals.fill(start());
    for (int64_t i = 0; i < lines_.length; ++i, from += lines_.inner, to += lines_.inner) {
      for (int64_t n = 0; n < abreast; ++n) {
        Total& total = totals[static_cast<size_t>(n)];
        total = joined(total, widened(from[n]));
        to[n] = narrowed(total);
      }
    }
  }

  Input input_;
  Lines lines_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_scan(const ir::Call& call) {
  const ir::ScanKind kind = std::get<ir::ScanAttrs>(call.attrs).kind;
  return dispatch(call.inputs[0].dtype, [&]<typename T>() -> std::unique_ptr<CallKernel> {
    if (kind == ir::ScanKind::sum) return std::make_unique<Scan<T, ir::ScanKind::sum>>(call);
    if (kind == ir::ScanKind::prod) return std::make_unique<Scan<T, ir::ScanKind::prod>>(call);
    return std::make_unique<Scan<T, ir::ScanKind::max>>(call);
  });
}

}  // namespace tenon::backends::cpu
#endif
