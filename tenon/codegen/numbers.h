// What a dtype and an op mean in KernelIr: which register holds an element, how it is read and written, and the exact
// meaning of every elementwise op and reduction, in instructions whose meaning all languages share.
//
// f16 and bf16 are f32 in registers, rounded after every op; u8 is a u32 below 256.

#pragma once

#include <span>

#include "tenon/codegen/builder.h"
#include "tenon/ir/dtype.h"

namespace tenon::codegen {

/// What a register holds for an element, and what memory does.
Scalar in_register(DType dtype);
Scalar in_memory(DType dtype);

/// An element of what a load gave, and what is to be stored of an element.
Id from_memory(Builder& b, DType dtype, Id loaded);
Id to_memory(Builder& b, DType dtype, Id value);

/// A number as ConstantAttrs keeps it.
Id number_of(Builder& b, DType dtype, uint64_t bits);

/// The elementwise op on elements of dtype `from` (of `where`: of what is chosen), rounded to `to`.
Id apply(Builder& b, ir::Op op, DType from, DType to, std::span<const Id> args);
/// The value as another dtype.
Id cast(Builder& b, DType from, DType to, Id value);
/// Rounded to the dtype, of a register that holds more.
Id rounded(Builder& b, DType dtype, Id value);

/// What pack_bf16 and larger do, in instructions that every language has.
Id pack_bf16_by_bits(Builder& b, Id x);
Id larger_by_choice(Builder& b, Id x, Id y);

/// Reductions work in accumulator(dtype); what they start from, and two partial results as one.
Id identity_of(Builder& b, ir::Op op, DType dtype);
Id join(Builder& b, ir::Op op, DType dtype, Id a, Id c);

}  // namespace tenon::codegen
