// bf16 products with ARM's matrix instructions (BFMMLA), where there are any.

#pragma once

#include "tenon/backends/cpu/matmul/matmul.h"

namespace tenon::backends::cpu {

/// Whether this machine has the instructions.
bool has_bf16_products();

/// bf16 operands, results in f32 or bf16, on the calling thread. Sums are f32; cutting a product into rectangles
/// changes no bit.
void multiply_bf16(const Product& product);

}  // namespace tenon::backends::cpu
