// A kernel for a language or a device that lacks something, written anew with what there is.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/limits.h"

namespace tenon::codegen {

/// What is not there.
struct Lacks {
  bool wide_integers = false;  // i64 and u64
  bool bytes = false;          // u8 and truths in buffers
  bool halves = false;         // u16 in buffers
  bool pack_bf16 = false, larger = false;
  bool fused = false;             // multiply-adds that round once alone
  ir::EnumSet<ir::Op> functions;  // of f32: not there at all, or too far from the exact value
  ir::EnumSet<ir::Op> f64_functions;
  bool open_loops = false;  // loops with a barrier that is not their last instruction
  bool f64 = false;         // refused: kernels with it are to be avoided by Limits::missing_dtypes

  bool operator==(const Lacks&) const = default;
};

/// The same kernel without it. Buffers keep their number and their place; what was an element of 8 or 16 bits lies in
/// words of 32, so that a buffer begins at a word and its last word belongs to it as a whole. An index of 64 bits is
/// taken by its lower half. Integers and what memory holds are the same to the last bit; functions are within 4 units
/// of the last place, those of f64 within 1e-13. A loop with a barrier gets one more as its end.
KernelIr legalise(const KernelIr& kernel, const Lacks& lacks);

}  // namespace tenon::codegen
