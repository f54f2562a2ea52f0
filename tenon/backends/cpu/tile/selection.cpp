// Comparisons, which make bytes of 0 and 1, and where, which reads them.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/selection.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using ir::Op;

struct Less {
  template <class V>
  static HWY_INLINE auto run(V a, V b) {
    return hn::Lt(a, b);
  }
};

struct Equal {
  template <class V>
  static HWY_INLINE auto run(V a, V b) {
    return hn::Eq(a, b);
  }
};

/// A mask as bytes of 0 and 1.
template <class D, class M>
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> bytes_of(D d, M mask) {
  const hn::RebindToUnsigned<D> du;
  using Bits = hn::TFromD<decltype(du)>;
  const hn::Rebind<uint8_t, D> d8;
  const auto ones = hn::And(hn::BitCast(du, hn::VecFromMask(d, mask)), hn::Set(du, Bits{1}));
  if constexpr (sizeof(Bits) == 1)
    return ones;
  else
    return hn::TruncateTo(d8, ones);
}

template <class F, typename T>
void compare(void* out, const void* const* in, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  uint8_t* to = static_cast<uint8_t*>(out);
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    hn::StoreU(bytes_of(d, F::run(hn::LoadU(d, a + i), hn::LoadU(d, b + i))), d8, to + i);
  }
  if (i == n) return;
  store_tail(d8, bytes_of(d, F::run(load_tail(d, a + i, n - i), load_tail(d, b + i, n - i))), to + i, n - i);
}

/// The mask of the bytes that are not 0.
template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, hn::Vec<hn::Rebind<uint8_t, D>> bytes) {
  using Bits = hwy::MakeSigned<hn::TFromD<D>>;
  const hn::Rebind<Bits, D> di;
  if constexpr (sizeof(Bits) == 1) {
    const hn::RebindToUnsigned<D> du;
    return hn::RebindMask(d, hn::Ne(bytes, hn::Zero(du)));
  } else if constexpr (sizeof(Bits) == 4) {
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(di, bytes), hn::Zero(di)));
  } else {
    const hn::Rebind<int32_t, D> di32;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(di, hn::PromoteTo(di32, bytes)), hn::Zero(di)));
  }
}

#if HWY_TARGET != HWY_SCALAR  // which has nothing to interleave
/// Sixteen words at a time: bytes doubled twice are masks, for less than widening them four by four.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void choose_16(D d, T* to, const uint8_t* condition, const T* a, const T* b) {
  const hn::Repartition<uint16_t, D> d16;
  const hn::Repartition<uint8_t, D> d8;
  const auto bytes = hn::VecFromMask(d8, hn::Ne(hn::LoadU(d8, condition), hn::Zero(d8)));
  const auto low = hn::BitCast(d16, hn::InterleaveLower(d8, bytes, bytes));
  const auto high = hn::BitCast(d16, hn::InterleaveUpper(d8, bytes, bytes));
  const auto choose = [&](size_t at, auto twice) HWY_ATTR {
    const auto mask = hn::MaskFromVec(hn::BitCast(d, twice));
    hn::StoreU(hn::IfThenElse(mask, hn::LoadU(d, a + at), hn::LoadU(d, b + at)), d, to + at);
  };
  choose(0, hn::InterleaveLower(d16, low, low));
  choose(4, hn::InterleaveUpper(d16, low, low));
  choose(8, hn::InterleaveLower(d16, high, high));
  choose(12, hn::InterleaveUpper(d16, high, high));
}
#endif

template <typename T>
void where(void* out, const void* const* in, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const auto* condition = static_cast<const uint8_t*>(in[0]);
  const T *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]);
  T* to = static_cast<T*>(out);
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4 && kStep == 4) {
    for (; i + 16 <= n; i += 16) choose_16(d, to + i, condition + i, a + i, b + i);
  }
#endif
  for (; i + kStep <= n; i += kStep) {
    const auto mask = mask_of(d, hn::LoadU(d8, condition + i));
    hn::StoreU(hn::IfThenElse(mask, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
  }
  if (i == n) return;
  const auto mask = mask_of(d, load_tail(d8, condition + i, n - i));
  store_tail(d, hn::IfThenElse(mask, load_tail(d, a + i, n - i), load_tail(d, b + i, n - i)), to + i, n - i);
}

template <class F>
TileFn compare_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return compare<F, double>;
    case DType::i32: return compare<F, int32_t>;
    case DType::i64: return compare<F, int64_t>;
    case DType::u8:
    case DType::boolean: return compare<F, uint8_t>;
    default: return compare<F, float>;
  }
}

// Choosing looks at no bits, so only the width counts.
TileFn where_of(DType dtype) {
  switch (tile_element_size(dtype)) {
    case 8: return where<int64_t>;
    case 4: return where<int32_t>;
    default: return where<uint8_t>;
  }
}

}  // namespace

TileFn find_selection_here(Op op, DType dtype) {
  switch (op) {
    case Op::less: return compare_of<Less>(dtype);
    case Op::equal: return compare_of<Equal>(dtype);
    case Op::where: return where_of(dtype);
    default: return nullptr;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(find_selection_here);

TileFn find_selection(ir::Op op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_selection_here)(op, dtype); }

}  // namespace tenon::backends::cpu
#endif
