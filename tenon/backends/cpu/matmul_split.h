// f32 products on Intel's matrix units, which multiply bf16.

#pragma once

#include "tenon/backends/cpu/matmul.h"

namespace tenon::backends::cpu {

/// Whether a whole product of f32 is better taken apart into bf16: asked once for all its rectangles.
bool is_split(int64_t m, int64_t n, int64_t k);

/// Rows and columns at whose multiples rectangles of such a product must begin.
inline constexpr int64_t kSplitUnit = 32;

/// On the calling thread, with other bits than multiply_f32, and its accuracy for operands above 2^-102; cutting a
/// product changes none of the bits.
void multiply_split(const Product& product);

}  // namespace tenon::backends::cpu
