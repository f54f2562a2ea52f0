// The calls that are worth a kernel of their own on a GPU, each written once as KernelIr.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

/// The calls without a kernel, for a device's limits: the planner takes them apart.
ir::EnumSet<ir::Op> missing_calls();
/// Buffers of the dispatches are the call's inputs, its outputs, then scratch memory if there is any.
codegen::Module lower(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
