// The parts of the instruction table, one per file; tile.cpp joins them.
//
// Each finder returns null where it has no instruction. The vector finders pick the code of the best instruction set
// once, so that a call through the pointer they return is direct.

#pragma once

#include "tenon/backends/cpu/tile/tile.h"

namespace tenon::backends::cpu {

/// neg abs sqrt floor round add mul div maximum bit_and bit_or bit_xor.
TileFn find_arithmetic(ir::Op op, DType dtype);
/// add mul div maximum with one f32 number per row as operand `which`.
RowsFn find_numbers(ir::Op op, DType dtype, size_t which);
/// The functions of tenon/math, in f32 arithmetic.
TileFn find_math(ir::Op op, DType dtype);
/// less equal where.
TileFn find_selection(ir::Op op, DType dtype);
/// What has no vector instruction worth having: divisions and shifts of integers, fmod, functions of f64.
TileFn find_scalar(ir::Op op, DType dtype);

/// Conversions by vector instructions, and the rest.
TileFn find_vector_cast(DType from, DType to);
TileFn find_scalar_cast(DType from, DType to);

}  // namespace tenon::backends::cpu
