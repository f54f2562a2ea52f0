// Memory to tile and back. Contiguous f16 and bf16 are converted by vectors; a stride is walked element by element.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/memory.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

struct F16 {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
    return widen_f16(d, bits);
  }
  template <class D>
  static HWY_INLINE auto narrow(D d, hn::Vec<D> x) {
    return narrow_f16(d, x);
  }
};

struct Bf16 {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), bits)));
  }
  template <class D>
  static HWY_INLINE auto narrow(D, hn::Vec<D> x) {
    const hn::RebindToUnsigned<D> du;
    return hn::TruncateTo(hn::Rebind<uint16_t, D>(), hn::ShiftRight<16>(hn::BitCast(du, x)));
  }
};

template <class Format>
void widen_all(float* tile, const uint16_t* from, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) hn::StoreU(Format::widen(d, hn::LoadU(d16, from + i)), d, tile + i);
  if (i < n) store_tail(d, Format::widen(d, load_tail(d16, from + i, n - i)), tile + i, n - i);
}

template <class Format>
void narrow_all(uint16_t* to, const float* tile, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) hn::StoreU(Format::narrow(d, hn::LoadU(d, tile + i)), d16, to + i);
  if (i < n) store_tail(d16, Format::narrow(d, load_tail(d, tile + i, n - i)), to + i, n - i);
}

template <typename T>
void fill_all(T* tile, T value, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const auto values = hn::Set(d, value);
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) hn::StoreU(values, d, tile + i);
  for (; i < n; ++i) tile[i] = value;
}

// Unsigned, because it wraps.
template <typename T>
void ramp_all(T* tile, T start, T step, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  alignas(64) T first[kStep];
  for (size_t j = 0; j < kStep; ++j) first[j] = static_cast<T>(start + j * step);
  auto numbers = hn::Load(d, first);
  const auto further = hn::Set(d, static_cast<T>(kStep * step));
  size_t i = 0;
  for (; i + kStep <= n; i += kStep, numbers = hn::Add(numbers, further)) hn::StoreU(numbers, d, tile + i);
  if (i < n) store_tail(d, numbers, tile + i, n - i);
}

template <typename T>
void gather_all(T* to, const T* from, int64_t stride, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = from[static_cast<int64_t>(i) * stride];
}

template <typename T>
void scatter_all(T* to, int64_t stride, const T* from, size_t n) {
  for (size_t i = 0; i < n; ++i) to[static_cast<int64_t>(i) * stride] = from[i];
}

template <typename T>
void load(void* tile, const std::byte* from, int64_t stride, size_t n) {
  T* to = static_cast<T*>(tile);
  const T* elements = reinterpret_cast<const T*>(from);
  if (stride == 1)
    std::memcpy(to, elements, n * sizeof(T));
  else if (stride == 0 && n > 0)
    fill_all(to, *elements, n);
  else
    gather_all(to, elements, stride, n);
}

template <typename T>
void store(std::byte* to, int64_t stride, const void* tile, size_t n) {
  T* elements = reinterpret_cast<T*>(to);
  const T* from = static_cast<const T*>(tile);
  if (stride == 1)
    std::memcpy(elements, from, n * sizeof(T));
  else
    scatter_all(elements, stride, from, n);
}

template <typename T>
void stream(std::byte* to, int64_t stride, const void* tile, size_t n) {
  if (stride != 1) return store<T>(to, stride, tile, n);
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  T* elements = reinterpret_cast<T*>(to);
  const T* from = static_cast<const T*>(tile);
  size_t i = 0;
  for (; i < n && reinterpret_cast<uintptr_t>(elements + i) % (kStep * sizeof(T)) != 0; ++i) elements[i] = from[i];
  for (; i + kStep <= n; i += kStep) hn::Stream(hn::LoadU(d, from + i), d, elements + i);
  for (; i < n; ++i) elements[i] = from[i];
}

// Strided 16-bit elements are collected first, so that their conversion is the vectors' too.
template <class Format>
void load_half(void* tile, const std::byte* from, int64_t stride, size_t n) {
  auto* to = static_cast<float*>(tile);
  const auto* elements = reinterpret_cast<const uint16_t*>(from);
  if (stride == 1) return widen_all<Format>(to, elements, n);
  if (n == 0) return;
  if (stride == 0) {
    widen_all<Format>(to, elements, 1);
    return fill_all(to, to[0], n);
  }
  uint16_t gathered[kTile];
  for (size_t i = 0; i < n; i += kTile) {
    const size_t count = n - i < kTile ? n - i : kTile;
    gather_all(gathered, elements + static_cast<int64_t>(i) * stride, stride, count);
    widen_all<Format>(to + i, gathered, count);
  }
}

template <class Format>
void store_half(std::byte* to, int64_t stride, const void* tile, size_t n) {
  auto* elements = reinterpret_cast<uint16_t*>(to);
  const auto* from = static_cast<const float*>(tile);
  if (stride == 1) return narrow_all<Format>(elements, from, n);
  uint16_t narrowed[kTile];
  for (size_t i = 0; i < n; i += kTile) {
    const size_t count = n - i < kTile ? n - i : kTile;
    narrow_all<Format>(narrowed, from + i, count);
    scatter_all(elements + static_cast<int64_t>(i) * stride, stride, narrowed, count);
  }
}

}  // namespace

LoadFn find_load_here(DType dtype) {
  if (dtype == DType::f16) return load_half<F16>;
  if (dtype == DType::bf16) return load_half<Bf16>;
  return size_of(dtype) == 8 ? load<uint64_t> : size_of(dtype) == 4 ? load<uint32_t> : load<uint8_t>;
}

StoreFn find_store_here(DType dtype) {
  if (dtype == DType::f16) return store_half<F16>;
  if (dtype == DType::bf16) return store_half<Bf16>;
  return size_of(dtype) == 8 ? store<uint64_t> : size_of(dtype) == 4 ? store<uint32_t> : store<uint8_t>;
}

StoreFn find_stream_here(DType dtype) {
  return size_of(dtype) == 8 ? stream<uint64_t> : size_of(dtype) == 4 ? stream<uint32_t> : stream<uint8_t>;
}

void ramp_i32_here(void* tile, int64_t start, int64_t step, size_t n) {
  ramp_all(static_cast<uint32_t*>(tile), static_cast<uint32_t>(start), static_cast<uint32_t>(step), n);
}
void ramp_i64_here(void* tile, int64_t start, int64_t step, size_t n) {
  ramp_all(static_cast<uint64_t*>(tile), static_cast<uint64_t>(start), static_cast<uint64_t>(step), n);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

HWY_EXPORT(find_load_here);
HWY_EXPORT(find_store_here);
HWY_EXPORT(find_stream_here);
HWY_EXPORT(ramp_i32_here);
HWY_EXPORT(ramp_i64_here);

// The i64 or f64 number as one element in tile form.
template <DType kFrom, typename T>
void convert_one(void* element, DType to, T value) {
  const void* from = &value;
  tile_cast(kFrom, to)(element, &from, 1);
}

}  // namespace

LoadFn tile_load(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_load_here)(dtype); }
StoreFn tile_stream(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_stream_here)(dtype); }
void tile_fence() { hwy::FlushStream(); }
StoreFn tile_store(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_store_here)(dtype); }

void tile_fill(void* tile, DType dtype, double real, int64_t whole, size_t n) {
  alignas(8) std::byte element[8];
  if (is_float(dtype))
    convert_one<DType::f64>(element, dtype, real);
  else
    convert_one<DType::i64>(element, dtype, whole);
  // Inside a tile an f16 or bf16 is stored like an f32.
  tile_load(accumulator(dtype))(tile, element, 0, n);
}

void tile_ramp(void* tile, DType dtype, int64_t start, int64_t step, size_t n) {
  if (dtype == DType::i32) return HWY_DYNAMIC_DISPATCH(ramp_i32_here)(tile, start, step, n);
  if (dtype == DType::i64) return HWY_DYNAMIC_DISPATCH(ramp_i64_here)(tile, start, step, n);
  const TileFn convert = tile_cast(DType::i64, dtype);
  const size_t element_size = tile_element_size(dtype);
  int64_t numbers[kTile];
  const auto first = static_cast<uint64_t>(start), stride = static_cast<uint64_t>(step);  // wraps
  for (size_t i = 0; i < n; i += kTile) {
    const size_t count = n - i < kTile ? n - i : kTile;
    HWY_DYNAMIC_DISPATCH(ramp_i64_here)(numbers, static_cast<int64_t>(first + i * stride), step, count);
    const void* from = numbers;
    convert(static_cast<std::byte*>(tile) + i * element_size, &from, count);
  }
}

}  // namespace tenon::backends::cpu
#endif
