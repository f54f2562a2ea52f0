// Shapes and the arithmetic on them: sizes per axis, outermost first; () is a single number, any 0 makes it empty.

#pragma once

#include <cstdint>
#include <string>

#include "tenon/base/small_vector.h"

namespace tenon {

/// A list of sizes, strides or axes. Five fit without the heap: (batch, heads, time, head size) and one spare.
using Dims = base::SmallVector<int64_t, 5>;

namespace ir {

int64_t count(const Dims& shape);  // number of elements
Dims row_major_strides(const Dims& shape);
std::string to_string(const Dims& shape);  // "(8, 1024, 768)", "(3,)", "()"
Dims iota_dims(size_t rank);               // 0, 1, ... rank - 1
Dims inverse_permutation(const Dims& axes);

}  // namespace ir
}  // namespace tenon
