// The calls that are worth a kernel of their own on a GPU, each written once as KernelIr.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

/// Whether there is a kernel for calls of this op. A device's limits name the others as missing, and the planner takes
/// them apart.
bool has(ir::Op op);
/// Buffers of the dispatches are the call's inputs, its outputs, then scratch memory if there is any.
codegen::Module lower(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
