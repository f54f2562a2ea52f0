// Rows and blocks of one dtype written as another: how 16-bit and strided operands become panels of floats.

#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/calls/convert.h"

// Included once per instruction set: the guard flips.
#if defined(TENON_CALL_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CALL_PACK_INL_H_
#undef TENON_CALL_PACK_INL_H_
#else
#define TENON_CALL_PACK_INL_H_
#endif

#include "hwy/highway.h"
#include "tenon/backends/cpu/calls/transpose-inl.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using BitsTag = hn::Rebind<uint16_t, FloatTag>;

/// As many elements as a vector of floats has.
HWY_INLINE FloatVector load_floats(const float* from) { return hn::LoadU(FloatTag(), from); }
HWY_INLINE FloatVector load_floats(const base::BFloat16* from) {
  const auto bits = hn::LoadU(BitsTag(), reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<FloatTag>(), bits)));
}
HWY_INLINE FloatVector load_floats(const base::Half* from) {
  return widen_f16(FloatTag(), hn::LoadU(BitsTag(), reinterpret_cast<const uint16_t*>(from)));
}

HWY_INLINE void store_floats(FloatVector v, float* to) { hn::StoreU(v, FloatTag(), to); }
HWY_INLINE void store_floats(FloatVector v, base::BFloat16* to) {
  const auto bits = hn::ShiftRight<16>(hn::BitCast(hn::RebindToUnsigned<FloatTag>(), round_bf16(FloatTag(), v)));
  hn::StoreU(hn::DemoteTo(BitsTag(), hn::BitCast(hn::RebindToSigned<FloatTag>(), bits)), BitsTag(),
             reinterpret_cast<uint16_t*>(to));
}
HWY_INLINE void store_floats(FloatVector v, base::Half* to) {
  hn::StoreU(narrow_f16(FloatTag(), kNativeF16 ? v : round_f16(FloatTag(), v)), BitsTag(),
             reinterpret_cast<uint16_t*>(to));
}

template <typename T>
inline constexpr bool kHeldInFloats =
    std::is_same_v<T, float> || std::is_same_v<T, base::BFloat16> || std::is_same_v<T, base::Half>;

/// to[i] = from[i] in the other dtype, rounded to nearest even.
template <typename To, typename From>
HWY_INLINE void convert_row(const From* HWY_RESTRICT from, To* HWY_RESTRICT to, int64_t n) {
  int64_t i = 0;
  if constexpr (kHeldInFloats<From> && kHeldInFloats<To>) {
    constexpr auto kLanes = static_cast<int64_t>(kLanesOf<FloatTag>);
    for (; i + kLanes <= n; i += kLanes) store_floats(load_floats(from + i), to + i);
  } else if constexpr (std::is_same_v<From, To>) {
    if (n > 0) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(To));  // no elements may have no address
    return;
  }
  for (; i < n; ++i) to[i] = convert<To>(from[i]);
}

/// to[r * to_stride + c] = from[r * row_stride + c * column_stride].
template <typename To, typename From>
HWY_INLINE void pack_block(const From* HWY_RESTRICT from, int64_t row_stride, int64_t column_stride, int64_t rows,
                           int64_t columns, To* HWY_RESTRICT to, int64_t to_stride) {
  if (column_stride == 1) {
    for (int64_t r = 0; r < rows; ++r) convert_row(from + r * row_stride, to + r * to_stride, columns);
    return;
  }
  if (row_stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      transpose_block(from, column_stride, to, to_stride, columns, rows);
    } else {  // a strip at a time is converted, then turned
      constexpr int64_t kRows = 64, kColumns = 16;
      alignas(64) To strip[kColumns * kRows];
      for (int64_t r = 0; r < rows; r += kRows) {
        const int64_t height = std::min(kRows, rows - r);
        for (int64_t c = 0; c < columns; c += kColumns) {
          const int64_t width = std::min(kColumns, columns - c);
          for (int64_t i = 0; i < width; ++i)
            convert_row(from + r + (c + i) * column_stride, strip + i * kRows, height);
          transpose_block(strip, kRows, to + r * to_stride + c, to_stride, width, height);
        }
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[r * to_stride + c] = convert<To>(from[r * row_stride + c * column_stride]);
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
