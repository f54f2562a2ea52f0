// Arithmetic that is one or two machine instructions: the same bits on every instruction set.

#include <cmath>
#include <type_traits>

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/arithmetic.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using ir::Op;

// Integers wrap, so arithmetic is done on unsigned lanes.
template <class D>
using Wrapping = std::conditional_t<hwy::IsFloat<hn::TFromD<D>>(), D, hn::RebindToUnsigned<D>>;

struct Neg {
  template <class D, class V>
  static HWY_INLINE V run(D d, V x) {
    const Wrapping<D> w;
    if constexpr (hwy::IsFloat<hn::TFromD<D>>())
      return hn::Neg(x);
    else
      return hn::BitCast(d, hn::Sub(hn::Zero(w), hn::BitCast(w, x)));
  }
};

// The smallest integer is its own absolute value, as everywhere; u8 has no sign.
struct Abs {
  template <class D, class V>
  static HWY_INLINE V run(D d, V x) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>())
      return hn::Abs(x);
    else if constexpr (!hwy::IsSigned<hn::TFromD<D>>())
      return x;
    else
      return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), Neg::run(d, x), x);
  }
};

struct Sqrt {
  template <class D, class V>
  static HWY_INLINE V run(D, V x) {
    return hn::Sqrt(x);
  }
};

// Emulated rounding loses the sign of -0.
struct Floor {
  template <class D, class V>
  static HWY_INLINE V run(D d, V x) {
    const V down = hn::Floor(x);
    if constexpr (kEmulated) return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, down);
    return down;
  }
};

// Ties to even; the result has the sign of the operand, zeros included.
struct Round {
  template <class D, class V>
  static HWY_INLINE V run(D, V x) {
    const V nearest = hn::Round(x);
    if constexpr (kEmulated) return hn::CopySign(nearest, x);
    return nearest;
  }
};

struct Add {
  template <class D, class V>
  static HWY_INLINE V run(D d, V a, V b) {
    const Wrapping<D> w;
    return hn::BitCast(d, hn::Add(hn::BitCast(w, a), hn::BitCast(w, b)));
  }
};

struct Mul {
  template <class D, class V>
  static HWY_INLINE V run(D d, V a, V b) {
    const Wrapping<D> w;
    return hn::BitCast(d, hn::Mul(hn::BitCast(w, a), hn::BitCast(w, b)));
  }
};

struct Div {
  template <class D, class V>
  static HWY_INLINE V run(D, V a, V b) {
    return hn::Div(a, b);
  }
};

// Any NaN, and 0 rather than -0; Highway's Max leaves both to the machine. Equals agree in all bits but for that sign.
struct Maximum {
  template <class D, class V>
  static HWY_INLINE V run(D, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V larger = hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
      return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
    } else
      return hn::IfThenElse(hn::Lt(a, b), b, a);
  }
};

// The larger of x and a number that is neither NaN nor -0: the same bits in one comparison.
struct MaximumOfNumber {
  template <class D, class V>
  static HWY_INLINE V run(D, V x, V number) {
    return hn::IfThenElse(hn::Le(x, number), number, x);
  }
};

struct And {
  template <class D, class V>
  static HWY_INLINE V run(D, V a, V b) {
    return hn::And(a, b);
  }
};

struct Or {
  template <class D, class V>
  static HWY_INLINE V run(D, V a, V b) {
    return hn::Or(a, b);
  }
};

struct Xor {
  template <class D, class V>
  static HWY_INLINE V run(D, V a, V b) {
    return hn::Xor(a, b);
  }
};

// Results that have to be rounded to a 16-bit dtype.
template <class F>
TileFn real_one(DType dtype) {
  switch (dtype) {
    case DType::f32: return map_one<F, DType::f32>;
    case DType::f16: return map_one<F, DType::f16>;
    case DType::bf16: return map_one<F, DType::bf16>;
    case DType::f64: return map_one<F, DType::f64>;
    default: return nullptr;
  }
}
template <class F>
TileFn real_two(DType dtype) {
  switch (dtype) {
    case DType::f32: return map_two<F, DType::f32>;
    case DType::f16: return map_two<F, DType::f16>;
    case DType::bf16: return map_two<F, DType::bf16>;
    case DType::f64: return map_two<F, DType::f64>;
    default: return nullptr;
  }
}

// Results that a 16-bit dtype represents whenever it represents the operands.
template <class F>
TileFn exact_one(DType dtype) {
  switch (dtype) {
    case DType::f64: return map_one<F, DType::f64>;
    case DType::f32:
    case DType::f16:
    case DType::bf16: return map_one<F, DType::f32>;
    default: return nullptr;
  }
}

template <class F>
TileFn whole_one(DType dtype) {
  switch (dtype) {
    case DType::i32: return map_one<F, DType::i32>;
    case DType::i64: return map_one<F, DType::i64>;
    case DType::u8: return map_one<F, DType::u8>;
    default: return nullptr;
  }
}
template <class F>
TileFn whole_two(DType dtype) {
  switch (dtype) {
    case DType::i32: return map_two<F, DType::i32>;
    case DType::i64: return map_two<F, DType::i64>;
    case DType::u8: return map_two<F, DType::u8>;
    default: return nullptr;
  }
}

// The same with one number for all elements of a row of one operand.
template <class F, bool kFirst>
HWY_INLINE void map_row(float* to, const float* x, float one, size_t n) {
  const hn::ScalableTag<float> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const auto number = hn::Set(d, one);
  const auto run = [&](auto v) HWY_ATTR { return kFirst ? F::run(d, number, v) : F::run(d, v, number); };
  if (n < kStep) return store_tail(d, run(load_tail(d, x, n)), to, n);
  const auto tail = hn::LoadU(d, x + n - kStep);
  size_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    const auto first = run(hn::LoadU(d, x + i)), second = run(hn::LoadU(d, x + i + kStep));
    hn::StoreU(first, d, to + i);
    hn::StoreU(second, d, to + i + kStep);
  }
  if (i + kStep < n) hn::StoreU(run(hn::LoadU(d, x + i)), d, to + i);
  if (i < n) hn::StoreU(run(tail), d, to + n - kStep);
}
template <class F, bool kFirst>
void map_numbers(void* out, const void* const* in, size_t rows, size_t n) {
  const float* numbers = static_cast<const float*>(in[kFirst ? 0 : 1]);
  const float* x = static_cast<const float*>(in[kFirst ? 1 : 0]);
  float* to = static_cast<float*>(out);
  for (size_t row = 0; row < rows; ++row) {
    const float number = numbers[row];
    if constexpr (std::is_same_v<F, Maximum>) {
      if (number == number && (number != 0 || !std::signbit(number))) {
        map_row<MaximumOfNumber, false>(to + row * n, x + row * n, number, n);
        continue;
      }
    }
    map_row<F, kFirst>(to + row * n, x + row * n, number, n);
  }
}

TileFn maximum(DType dtype) {
  if (dtype == DType::boolean) return map_two<Maximum, DType::u8>;
  if (dtype == DType::f64) return map_two<Maximum, DType::f64>;
  return is_float(dtype) ? map_two<Maximum, DType::f32> : whole_two<Maximum>(dtype);
}

template <class F>
TileFn bits_two(DType dtype) {
  return dtype == DType::boolean ? map_two<F, DType::u8> : whole_two<F>(dtype);
}

}  // namespace

TileFn find_arithmetic_here(Op op, DType dtype) {
  const bool is_real = is_float(dtype);
  switch (op) {
    case Op::neg: return is_real ? exact_one<Neg>(dtype) : whole_one<Neg>(dtype);
    case Op::abs: return is_real ? exact_one<Abs>(dtype) : whole_one<Abs>(dtype);
    case Op::sqrt: return real_one<Sqrt>(dtype);
    case Op::floor: return exact_one<Floor>(dtype);
    case Op::round: return exact_one<Round>(dtype);
    case Op::add: return is_real ? real_two<Add>(dtype) : whole_two<Add>(dtype);
    case Op::mul: return is_real ? real_two<Mul>(dtype) : dtype == DType::i32 ? map_two<Mul, DType::i32> : nullptr;
    case Op::div: return real_two<Div>(dtype);
    case Op::maximum: return maximum(dtype);
    case Op::bit_and: return bits_two<And>(dtype);
    case Op::bit_or: return bits_two<Or>(dtype);
    case Op::bit_xor: return bits_two<Xor>(dtype);
    default: return nullptr;
  }
}

RowsFn find_numbers_here(Op op, size_t which) {
  switch (op) {
    case Op::add: return which == 0 ? map_numbers<Add, true> : map_numbers<Add, false>;
    case Op::mul: return which == 0 ? map_numbers<Mul, true> : map_numbers<Mul, false>;
    case Op::div: return which == 0 ? map_numbers<Div, true> : map_numbers<Div, false>;
    case Op::maximum: return which == 0 ? map_numbers<Maximum, true> : map_numbers<Maximum, false>;
    default: return nullptr;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(find_arithmetic_here);
HWY_EXPORT(find_numbers_here);

RowsFn find_numbers(ir::Op op, DType dtype, size_t which) {
  return dtype == DType::f32 ? HWY_DYNAMIC_DISPATCH(find_numbers_here)(op, which) : nullptr;
}

TileFn find_arithmetic(ir::Op op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_arithmetic_here)(op, dtype); }

}  // namespace tenon::backends::cpu
#endif
