// Shapes and the arithmetic on them: sizes per axis, outermost first; () is a single number, any 0 makes it empty.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/base/small_vector.h"

namespace tenon {

/// A list of sizes, strides or axes. Five fit without the heap: (batch, heads, time, head size) and one spare.
using Dims = base::SmallVector<int64_t, 5>;

namespace ir {

/// Most elements that a tensor may have. No memory holds them, but a view may show them. Every index is exact as a
/// double then, and strides, offsets, bytes and sums of a few of them stay far from what 64 bits hold.
constexpr int64_t kMostElements = int64_t{1} << 53;

/// Number of elements; nothing when a size is negative or there are more than kMostElements. Sizes of 0 do not hide the
/// others, whose products are strides all the same.
std::optional<int64_t> checked_count(const Dims& shape);
/// Fails, naming op and shape, unless a tensor may have this shape.
void require_shape(std::string_view op, const Dims& shape);
/// Number of elements; fails for a shape that no tensor may have.
int64_t count(const Dims& shape);
Dims row_major_strides(const Dims& shape);
/// A shape as messages show it.
///   ir::to_string({3});  // (3,)
std::string to_string(const Dims& shape);  // "(8, 1024, 768)", "(3,)", "()"
Dims iota_dims(size_t rank);               // 0, 1, ... rank - 1
Dims inverse_permutation(const Dims& axes);
/// (N, C, image...) as (N, image..., C), and back.
Dims channels_to_last(const Dims& dims);
Dims channels_to_second(const Dims& dims);

}  // namespace ir
}  // namespace tenon
