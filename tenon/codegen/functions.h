// The functions of mathematics (tenon/math) as instructions of a kernel, where a language has no such function, or none
// that is as quick or as close to the exact value.

#pragma once

#include <span>

#include "tenon/codegen/builder.h"

namespace tenon::codegen {

/// Whether tenon/math has the op.
bool is_function(ir::Op op);

/// Whether every kernel has tenon/math's, whatever its language: straight lines of multiply-adds without a division,
/// and a remainder that is exact. Of f32 the others are an instruction or a few around one of the GPU's own.
bool is_function_of_ours(ir::Op op, Scalar type);

/// The op on f32 or f64 in sums, products, quotients and bits; of f32 also in the GPU's own powers of two and
/// reciprocals. Within 2 units of the last place where these are exact, mod exact; what is not finite, zeros and signs
/// as C has them. `fuses`: a multiply-add rounds once. Fails on other ops.
Id function(Builder& b, ir::Op op, std::span<const Id> args, bool fuses = true);

}  // namespace tenon::codegen
