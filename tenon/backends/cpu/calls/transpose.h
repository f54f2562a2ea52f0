// Transposition of a block of elements of any size.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

/// to[column * to_stride + row] = from[row * from_stride + column]; strides in elements.
void transpose_bytes(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t rows,
                     int64_t columns, size_t element_bytes);

}  // namespace tenon::backends::cpu
