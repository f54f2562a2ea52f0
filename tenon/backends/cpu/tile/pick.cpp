// Elements picked by index, one for each: plain loops, because what they cost is the way to memory.

#include <algorithm>

#include "tenon/backends/cpu/tile/tile.h"

namespace tenon::backends::cpu {
namespace {

template <typename Index>
bool is_inside(Index index, int64_t size) {
  return static_cast<uint64_t>(static_cast<int64_t>(index)) < static_cast<uint64_t>(size);
}

// Without branches and four at a time, so that checking stays cheaper than picking.
template <typename Index>
bool are_inside(const Index* index, int64_t size, size_t n) {
  const auto as_unsigned = [&](size_t i) { return static_cast<uint64_t>(static_cast<int64_t>(index[i])); };
  uint64_t largest[4] = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; ++k) largest[k] = std::max(largest[k], as_unsigned(i + k));
  }
  for (; i < n; ++i) largest[0] = std::max(largest[0], as_unsigned(i));
  return n == 0 || *std::max_element(largest, largest + 4) < static_cast<uint64_t>(size);
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
