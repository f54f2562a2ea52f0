// Elements picked by index, one for each: plain loops, because what they cost is the way to memory (hardware that gathers
// does it one by one as well). Only whether all indices are good is asked by vectors.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/pick.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/tile.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

// A negative index is a large one without its sign.
template <typename T>
bool are_below(const T* index, uint64_t size, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  auto first = hn::Zero(d), second = first;
  size_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    first = hn::Max(first, hn::LoadU(d, index + i));
    second = hn::Max(second, hn::LoadU(d, index + i + kStep));
  }
  alignas(64) T largest[kStep];
  hn::Store(hn::Max(first, second), d, largest);
  T most = 0;
  for (const T one : largest) most = one > most ? one : most;
  for (; i < n; ++i) most = index[i] > most ? index[i] : most;
  return n == 0 || most < size;
}

}  // namespace

bool are_below_i32_here(const int32_t* index, uint64_t size, size_t n) {
  return are_below(reinterpret_cast<const uint32_t*>(index), size, n);
}
bool are_below_i64_here(const int64_t* index, uint64_t size, size_t n) {
  return are_below(reinterpret_cast<const uint64_t*>(index), size, n);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace tenon::backends::cpu {
namespace {

HWY_EXPORT(are_below_i32_here);
HWY_EXPORT(are_below_i64_here);

template <typename Index>
bool is_inside(Index index, int64_t size) {
  return static_cast<uint64_t>(static_cast<int64_t>(index)) < static_cast<uint64_t>(size);
}

// An i32 below a size beyond 2^31 may still be negative.
bool are_inside(const int32_t* index, int64_t size, size_t n) {
  return HWY_DYNAMIC_DISPATCH(are_below_i32_here)(index, std::min<uint64_t>(static_cast<uint64_t>(size), 1U << 31), n);
}
bool are_inside(const int64_t* index, int64_t size, size_t n) {
  return HWY_DYNAMIC_DISPATCH(are_below_i64_here)(index, static_cast<uint64_t>(size), n);
}

template <typename T, typename Index>
bool pick_all(T* to, const T* from, int64_t step, const Index* index, int64_t stride, int64_t size, size_t n) {
  if (!are_inside(index, size, n)) {
    for (size_t i = 0; i < n; ++i)
      to[i] = is_inside(index[i], size) ? from[static_cast<int64_t>(i) * step + index[i] * stride] : T{0};
    return false;
  }
  if (step == 0 && stride == 1) {  // the elements of a row
    for (size_t i = 0; i < n; ++i) to[i] = from[index[i]];
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = from[static_cast<int64_t>(i) * step + index[i] * stride];
  }
  return true;
}

template <typename T, typename Index>
bool pick(void* tile, const std::byte* from, int64_t step, const std::byte* index, int64_t stride, int64_t size,
          size_t n) {
  return pick_all(static_cast<T*>(tile), reinterpret_cast<const T*>(from), step, reinterpret_cast<const Index*>(index),
                  stride, size, n);
}

// Collected first, so that their conversion is the vectors'.
template <DType kDType, typename Index>
bool pick_half(void* tile, const std::byte* from, int64_t step, const std::byte* index, int64_t stride, int64_t size,
               size_t n) {
  static const LoadFn kLoad = tile_load(kDType);
  bool all_inside = true;
  uint16_t picked[kTile];
  for (size_t i = 0; i < n; i += kTile) {
    const size_t count = std::min(n - i, kTile);
    all_inside &= pick_all(picked, reinterpret_cast<const uint16_t*>(from) + static_cast<int64_t>(i) * step, step,
                           reinterpret_cast<const Index*>(index) + i, stride, size, count);
    kLoad(static_cast<float*>(tile) + i, reinterpret_cast<const std::byte*>(picked), 1, count);
  }
  return all_inside;
}

template <typename Index>
PickFn pick_by(DType dtype) {
  if (dtype == DType::f16) return pick_half<DType::f16, Index>;
  if (dtype == DType::bf16) return pick_half<DType::bf16, Index>;
  switch (size_of(dtype)) {
    case 8: return pick<uint64_t, Index>;
    case 4: return pick<uint32_t, Index>;
    default: return pick<uint8_t, Index>;
  }
}

}  // namespace

PickFn tile_pick(DType dtype, DType index) {
  return index == DType::i64 ? pick_by<int64_t>(dtype) : pick_by<int32_t>(dtype);
}

}  // namespace tenon::backends::cpu
#endif
