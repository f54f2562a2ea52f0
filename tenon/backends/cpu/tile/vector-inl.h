// What the vector instructions share: loops over tiles, and f16 and bf16 inside f32 vectors.
//
// Highway compiles this once per instruction set, hence the guard that flips. The tail of a tile takes the same vector
// code as the rest, so an element's bits depend neither on n nor on its position.

#if defined(TENON_BACKENDS_CPU_TILE_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKENDS_CPU_TILE_VECTOR_INL_H_
#undef TENON_BACKENDS_CPU_TILE_VECTOR_INL_H_
#else
#define TENON_BACKENDS_CPU_TILE_VECTOR_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/tile.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Lanes of a vector; a constant, because the sizeless targets are disabled.
template <class D>
inline constexpr size_t kLanesOf = hn::MaxLanes(D());

// Whether Highway imitates vectors by plain C++.
inline constexpr bool kEmulated = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;

// Whether f16 conversion is an instruction that rounds to nearest even. Highway's own emulation elsewhere is not exact.
inline constexpr bool kNativeF16 = HWY_TARGET <= HWY_AVX2 || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64);

/// The element type of a dtype inside a tile.
template <DType kDType>
struct ElementOf {
  using type = typename StorageOf<kDType>::type;
};
template <>
struct ElementOf<DType::f16> {
  using type = float;
};
template <>
struct ElementOf<DType::bf16> {
  using type = float;
};
template <>
struct ElementOf<DType::boolean> {
  using type = uint8_t;
};
template <DType kDType>
using Element = typename ElementOf<kDType>::type;

// A NaN stays one when its low bits are dropped, because it is made quiet first.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_bf16(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto nearest = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFFu)), odd);
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000u));
  const auto is_number = hn::RebindMask(du, hn::Eq(x, x));
  return hn::BitCast(d, hn::And(hn::IfThenElse(is_number, nearest, quiet), hn::Set(du, 0xFFFF0000u)));
}

// Below 2^-14 the unit of f16 is 2^-24 throughout, which is the unit of f32 between 1/2 and 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_f16(D d, V x) {
  if constexpr (kNativeF16) {
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::DemoteTo(d16, x));
  } else {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1u));
    const auto nearest = hn::Add(hn::Add(bits, hn::Set(du, 0xFFFu)), odd);
    const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000u));
    const auto is_number = hn::RebindMask(du, hn::Eq(x, x));
    const V large = hn::BitCast(d, hn::And(hn::IfThenElse(is_number, nearest, quiet), hn::Set(du, 0xFFFFE000u)));
    const V magnitude = hn::Abs(x);
    const V half = hn::Set(d, 0.5f);
    const V small = hn::CopySign(hn::Sub(hn::Add(magnitude, half), half), x);
    const V infinity = hn::CopySign(hn::Inf(d), x);
    const V bounded = hn::IfThenElse(hn::Ge(hn::Abs(large), hn::Set(d, 65536.0f)), infinity, large);
    return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x1p-14f)), small, bounded);
  }
}

/// An f32 result rounded to the dtype it stands for.
template <DType kDType, class D, class V = hn::Vec<D>>
HWY_INLINE V rounded(D d, V x) {
  if constexpr (kDType == DType::f16) return round_f16(d, x);
  if constexpr (kDType == DType::bf16) return round_bf16(d, x);
  return x;
}

/// f16 bits as f32: rebiasing the exponent by a multiplication also makes subnormals normal.
template <class D, class V16>
HWY_INLINE hn::Vec<D> widen_f16(D d, V16 half_bits) {
  if constexpr (kNativeF16) {
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::BitCast(d16, half_bits));
  } else {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::PromoteTo(du, half_bits);
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFu));
    const auto sign = hn::ShiftLeft<16>(hn::Sub(bits, magnitude));
    const auto value = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
    const auto top = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(du, 0x7BFFu)), hn::Set(du, 0x7F800000u));
    return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, value), top), sign));
  }
}

/// The f16 bits of an f32 that f16 can represent.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> narrow_f16(D d, V x) {
  const hn::Rebind<uint16_t, D> d16;
  if constexpr (kNativeF16) {
    const hn::Rebind<hwy::float16_t, D> df16;
    return hn::BitCast(d16, hn::DemoteTo(df16, x));
  } else {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(du, x);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
    const V magnitude = hn::Abs(x);
    const auto finite = hn::ShiftRight<13>(hn::BitCast(du, hn::Mul(magnitude, hn::Set(d, 0x1p-112f))));
    const auto other = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 0x7FFFu));
    const auto is_finite = hn::RebindMask(du, hn::Lt(magnitude, hn::Inf(d)));
    return hn::DemoteTo(d16, hn::BitCast(di, hn::Or(hn::IfThenElse(is_finite, finite, other), sign)));
  }
}

/// Copies n < 2 * kCount elements, by powers of two: much cheaper than memcpy for so few.
template <size_t kCount, typename T>
HWY_INLINE void copy_few(T* to, const T* from, size_t n) {
  const size_t count = n & kCount;
  if (count) std::memcpy(to, from, kCount * sizeof(T));
  if constexpr (kCount > 1) copy_few<kCount / 2>(to + count, from + count, n);
}

/// Up to one vector of elements, the rest zero.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_tail(D d, const T* from, size_t n) {
  alignas(64) T padded[kLanesOf<D>] = {};
  copy_few<kLanesOf<D>>(padded, from, n);
  return hn::Load(d, padded);
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_tail(D d, hn::Vec<D> v, T* to, size_t n) {
  alignas(64) T padded[kLanesOf<D>];
  hn::Store(v, d, padded);
  copy_few<kLanesOf<D>>(to, padded, n);
}

/// Whether a function takes several vectors at once, so that none of its operations waits for the one before.
template <class F, class V>
concept TakesSeveral = requires(hn::DFromV<V> d, V (&x)[2]) {
  F::run_all(d, x);
};

/// Vectors that such a function takes: what the registers hold of four or two.
inline constexpr size_t kSeveral = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;

/// out[i] = F::run(d, in[0][i]), rounded to kDType. `out` may be the operand: the last vector, which overlaps the one
/// before it, is loaded ahead of the first store.
template <class F, DType kDType>
void map_one(void* out, const void* const* in, size_t n) {
  using T = Element<kDType>;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t kStep = kLanesOf<decltype(d)>, kCount = TakesSeveral<F, V> ? kSeveral : 2;
  const T* a = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  if (n < kStep) return store_tail(d, rounded<kDType>(d, F::run(d, load_tail(d, a, n))), to, n);
  const auto tail = hn::LoadU(d, a + n - kStep);
  size_t i = 0;
  for (; i + kCount * kStep <= n; i += kCount * kStep) {
    V v[kCount];
#pragma GCC unroll 4
    for (size_t k = 0; k < kCount; ++k) v[k] = hn::LoadU(d, a + i + k * kStep);
    if constexpr (TakesSeveral<F, V>) {
      F::run_all(d, v);
    } else {
#pragma GCC unroll 4
      for (size_t k = 0; k < kCount; ++k) v[k] = F::run(d, v[k]);
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < kCount; ++k) hn::StoreU(rounded<kDType>(d, v[k]), d, to + i + k * kStep);
  }
  for (; i + kStep < n; i += kStep) hn::StoreU(rounded<kDType>(d, F::run(d, hn::LoadU(d, a + i))), d, to + i);
  if (i < n) hn::StoreU(rounded<kDType>(d, F::run(d, tail)), d, to + n - kStep);
}

/// out[i] = F::run(d, in[0][i], in[1][i]), rounded to kDType. `out` may be one of the operands.
template <class F, DType kDType>
void map_two(void* out, const void* const* in, size_t n) {
  using T = Element<kDType>;
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  T* to = static_cast<T*>(out);
  if (n < kStep) {
    const auto x = load_tail(d, a, n), y = load_tail(d, b, n);
    return store_tail(d, rounded<kDType>(d, F::run(d, x, y)), to, n);
  }
  const auto tail_a = hn::LoadU(d, a + n - kStep), tail_b = hn::LoadU(d, b + n - kStep);
  size_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    const auto first = rounded<kDType>(d, F::run(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    const auto second = rounded<kDType>(d, F::run(d, hn::LoadU(d, a + i + kStep), hn::LoadU(d, b + i + kStep)));
    hn::StoreU(first, d, to + i);
    hn::StoreU(second, d, to + i + kStep);
  }
  if (i + kStep < n) hn::StoreU(rounded<kDType>(d, F::run(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i))), d, to + i);
  if (i < n) hn::StoreU(rounded<kDType>(d, F::run(d, tail_a, tail_b)), d, to + n - kStep);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
