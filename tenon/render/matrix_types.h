// Types of cooperative matrices as SPIR-V wants them.
//
// glslang 12 writes the operands of a type that a shader spells by its number (spirv_type) as they stand there: as
// numbers. OpTypeCooperativeMatrixKHR takes a type and constants. And there is no way to name bf16, so that shaders
// write float16_t.

#pragma once

#include <cstdint>
#include <vector>

namespace tenon::render {

/// Which numbers a matrix is made of, as its type names them in a shader.
struct MatrixComponent {
  static constexpr uint32_t kF16 = 0, kBf16 = 1, kF32 = 2;
};

/// The module with such types put right; in one with matrices of bf16, every 16-bit float is bf16. A module without
/// matrices stays as it is.
std::vector<uint32_t> with_matrix_types(std::vector<uint32_t> module);

}  // namespace tenon::render
