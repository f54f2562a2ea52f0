// The instruction table: asks the files that hold the instructions in turn.

#include "tenon/backends/cpu/tile/tile.h"

#include <cstring>

#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/base/error.h"

namespace tenon::backends::cpu {
namespace {

template <size_t kBytes>
void copy(void* out, const void* const* in, size_t n) {
  std::memmove(out, in[0], n * kBytes);
}

TileFn copy_of(DType dtype) {
  switch (tile_element_size(dtype)) {
    case 8: return copy<8>;
    case 4: return copy<4>;
    default: return copy<1>;
  }
}

// Where a condition holds for a whole row, nothing has to be looked at.
template <size_t kBytes>
void choose_rows(void* out, const void* const* in, size_t rows, size_t n) {
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row * n * kBytes;
    const auto* from = static_cast<const std::byte*>(in[static_cast<const uint8_t*>(in[0])[row] ? 1 : 2]) + at;
    std::byte* to = static_cast<std::byte*>(out) + at;
    if (to != from) std::memcpy(to, from, n * kBytes);
  }
}

RowsFn choice_of(DType dtype) {
  switch (tile_element_size(dtype)) {
    case 8: return choose_rows<8>;
    case 4: return choose_rows<4>;
    default: return choose_rows<1>;
  }
}

bool is_half(DType dtype) { return size_of(dtype) == 2; }

// Through the 16-bit pattern: f16 and bf16 share no other form.
template <DType kFrom, DType kTo>
void reinterpret_half(void* out, const void* const* in, size_t n) {
  static const StoreFn kStore = tile_store(kFrom);
  static const LoadFn kLoad = tile_load(kTo);
  std::byte bits[kTile * 2];
  for (size_t i = 0; i < n; i += kTile) {
    const size_t count = n - i < kTile ? n - i : kTile;
    kStore(bits, 1, static_cast<const float*>(in[0]) + i, count);
    kLoad(static_cast<float*>(out) + i, bits, 1, count);
  }
}

}  // namespace

size_t tile_element_size(DType dtype) { return is_half(dtype) ? 4 : size_of(dtype); }

TileFn tile_function(ir::Op op, DType dtype) {
  for (auto* find : {find_arithmetic, find_math, find_selection, find_scalar}) {
    if (TileFn function = find(op, dtype)) return function;
  }
  return nullptr;
}

RowsFn tile_function_with_numbers(ir::Op op, DType dtype, size_t which) {
  if (op == ir::Op::where) return which == 0 ? choice_of(dtype) : nullptr;
  return find_numbers(op, dtype, which);
}

TileFn tile_cast(DType from, DType to) {
  if (from == to || (is_half(from) && to == DType::f32)) return copy_of(to);
  if (TileFn function = find_vector_cast(from, to)) return function;
  return find_scalar_cast(from, to);
}

TileFn tile_bitcast(DType from, DType to) {
  if (size_of(from) != size_of(to)) return nullptr;
  if (!is_half(from) || from == to) return copy_of(to);
  return from == DType::f16 ? reinterpret_half<DType::f16, DType::bf16> : reinterpret_half<DType::bf16, DType::f16>;
}

TileFn tile_instruction(ir::Op op, DType operand, DType result) {
  const TileFn made = op == ir::Op::cast      ? tile_cast(operand, result)
                      : op == ir::Op::bitcast ? tile_bitcast(operand, result)
                                              : tile_function(op, operand);
  if (!made) base::fail(ir::name(op), "the cpu device has no such instruction on {}", tenon::name(operand));
  return made;
}

}  // namespace tenon::backends::cpu
