// One transposition for each element size, compiled for each instruction set.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/calls/transpose.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/calls/transpose-inl.h"
#include "tenon/backends/cpu/calls/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

void transpose_bytes(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t rows,
                     int64_t columns, size_t element_bytes) {
  const auto run = [&]<typename T>(T) {
    transpose_block(reinterpret_cast<const T*>(from), from_stride, reinterpret_cast<T*>(to), to_stride, rows, columns);
  };
  switch (element_bytes) {
    case 8: return run(uint64_t{});
    case 4: return run(uint32_t{});
    case 2: return run(uint16_t{});
    default: return run(uint8_t{});
  }
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(transpose_bytes);

void transpose_bytes(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t rows,
                     int64_t columns, size_t element_bytes) {
  HWY_DYNAMIC_DISPATCH(transpose_bytes)(from, from_stride, to, to_stride, rows, columns, element_bytes);
}

}  // namespace tenon::backends::cpu
#endif
