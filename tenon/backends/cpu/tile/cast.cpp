// Conversions by vector instructions: those between f32, f16, bf16, f64, i32 and bytes that a step is full of.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/cast.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

struct Identity {
  template <class D, class V>
  static HWY_INLINE V run(D, V x) {
    return x;
  }
};

// Toward zero, saturating, NaN to 0. What the instruction says beyond the range differs between machines.
struct ToI32 {
  template <class DTo, class V>
  static HWY_INLINE auto run(DTo di, V x) {
    const hn::Rebind<float, DTo> d;
    const auto is_number = hn::RebindMask(di, hn::Eq(x, x));
    const auto is_over = hn::RebindMask(di, hn::Ge(x, hn::Set(d, 0x1p31f)));
    const auto is_under = hn::RebindMask(di, hn::Lt(x, hn::Set(d, -0x1p31f)));
    const auto inside = hn::IfThenElse(is_under, hn::Set(di, INT32_MIN), hn::ConvertTo(di, x));
    return hn::IfThenElseZero(is_number, hn::IfThenElse(is_over, hn::Set(di, INT32_MAX), inside));
  }
};

struct I32ToF32 {
  template <class DTo, class V>
  static HWY_INLINE auto run(DTo d, V x) {
    return hn::ConvertTo(d, x);
  }
};

struct Promote {
  template <class DTo, class V>
  static HWY_INLINE auto run(DTo d, V x) {
    return hn::PromoteTo(d, x);
  }
};

struct BytesToF32 {
  template <class DTo, class V>
  static HWY_INLINE auto run(DTo d, V x) {
    return hn::ConvertTo(d, hn::PromoteTo(hn::Rebind<int32_t, DTo>(), x));
  }
};

/// 0 or 1 for zero or not: -0 is zero, NaN is not.
struct IsTrue {
  template <class DTo, class V>
  static HWY_INLINE auto run(DTo d8, V x) {
    using From = hn::TFromV<V>;
    const hn::Rebind<From, DTo> d;
    if constexpr (sizeof(From) == 1) {
      return hn::Min(x, hn::Set(d, From{1}));
    } else {
      const hn::Rebind<uint32_t, DTo> du;
      const auto is_zero = hn::Eq(x, hn::Zero(d));
      const auto zeros = hn::And(hn::BitCast(du, hn::VecFromMask(d, is_zero)), hn::Set(du, 1u));
      return hn::TruncateTo(d8, hn::Xor(zeros, hn::Set(du, 1u)));
    }
  }
};

/// out[i] = F::run(in[0][i]) between element types; vectors as long as the wider of the two allows.
template <class F, typename From, typename To>
void convert(void* out, const void* const* in, size_t n) {
  using Wider = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
  const hn::ScalableTag<Wider> widest;
  const hn::Rebind<From, decltype(widest)> from;
  const hn::Rebind<To, decltype(widest)> to;
  constexpr size_t kStep = kLanesOf<decltype(widest)>;
  const From* a = static_cast<const From*>(in[0]);
  To* result = static_cast<To*>(out);
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) hn::StoreU(F::run(to, hn::LoadU(from, a + i)), to, result + i);
  if (i < n) store_tail(to, F::run(to, load_tail(from, a + i, n - i)), result + i, n - i);
}

TileFn from_f32(DType to) {
  switch (to) {
    case DType::f16: return map_one<Identity, DType::f16>;
    case DType::bf16: return map_one<Identity, DType::bf16>;
    case DType::f64: return convert<Promote, float, double>;
    case DType::i32: return convert<ToI32, float, int32_t>;
    case DType::boolean: return convert<IsTrue, float, uint8_t>;
    default: return nullptr;
  }
}

TileFn from_i32(DType to) {
  switch (to) {
    case DType::f32: return convert<I32ToF32, int32_t, float>;
    case DType::f64: return convert<Promote, int32_t, double>;
    case DType::i64: return convert<Promote, int32_t, int64_t>;
    case DType::boolean: return convert<IsTrue, int32_t, uint8_t>;
    default: return nullptr;
  }
}

TileFn from_bytes(DType to) {
  switch (to) {
    case DType::f32:
    case DType::f16: return convert<BytesToF32, uint8_t, float>;
    case DType::bf16: return convert<BytesToF32, uint8_t, float>;
    case DType::i32: return convert<Promote, uint8_t, int32_t>;
    case DType::u8:
    case DType::boolean: return convert<IsTrue, uint8_t, uint8_t>;
    default: return nullptr;
  }
}

}  // namespace

TileFn find_vector_cast_here(DType from, DType to) {
  switch (from) {
    case DType::i32: return from_i32(to);
    case DType::u8:
    case DType::boolean: return from_bytes(to);
    case DType::f64:
    case DType::i64: return nullptr;
    default: return from_f32(to);
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(find_vector_cast_here);

TileFn find_vector_cast(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_vector_cast_here)(from, to); }

}  // namespace tenon::backends::cpu
#endif
