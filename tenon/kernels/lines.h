// Lines along an axis of a tensor, and the elements of an operand by their place in row-major order.

#pragma once

#include "tenon/base/error.h"
#include "tenon/codegen/address.h"
#include "tenon/codegen/builder.h"
#include "tenon/ir/call.h"

namespace tenon::kernels {

/// The elements of a line lie `inner` apart in row-major order.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;

  Lines(const Dims& shape, int64_t axis) : length(shape[static_cast<size_t>(axis)]) {
    const auto at = static_cast<size_t>(axis);
    for (size_t i = 0; i < at; ++i) outer *= shape[i];
    for (size_t i = at + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  int64_t count() const { return outer * inner; }
  int64_t elements() const { return outer * length * inner; }
};

/// Where `length` elements of a line would be more than positions of 32 bits can count.
inline void require_countable(ir::Op op, int64_t length) {
  if (length >= int64_t{1} << 31) base::fail(ir::name(op), "{} elements along one axis are too many for a GPU", length);
}

/// The type in which the places of all these elements can be computed.
inline codegen::Scalar index_type(int64_t elements, std::initializer_list<const ir::IndexMap*> maps) {
  bool fits = elements < int64_t{1} << 31;
  for (const ir::IndexMap* map : maps) fits = fits && codegen::fits_32(*map);
  return fits ? codegen::Scalar::u32 : codegen::Scalar::u64;
}

/// What lies in memory for element `place` (in row-major order) of an operand; 0 where `mask`, if given, is false.
inline codegen::Id load_at(codegen::Builder& b, uint32_t buffer, const ir::IndexMap& map, codegen::Id place,
                           codegen::Id mask = codegen::kNoValue) {
  if (map.is_contiguous()) return b.load(buffer, place, mask);
  const Dims& shape = map.shape();
  const auto indices = codegen::unravel(b, place, {shape.data(), shape.size()});
  const codegen::Located at = codegen::locate(b, b.type_of(place), map, indices);
  return b.load(buffer, at.at, b.both(at.valid, mask));
}

}  // namespace tenon::kernels
