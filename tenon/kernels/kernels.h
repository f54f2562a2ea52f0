// The calls that are worth a kernel of their own on a GPU, each written once as KernelIr.

#pragma once

#include <variant>
#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::kernels {

/// The calls without a kernel, for a device's limits: the planner takes them apart.
ir::EnumSet<ir::Op> missing_calls();
/// Buffers of the dispatches are the kernel's inputs, its outputs, then scratch memory if there is any.
codegen::Module lower(const ir::Call& call, const ir::Limits& limits);
codegen::Module lower(const std::variant<ir::Call, ir::LoopNest>& kernel, const ir::Limits& limits);
/// See device::Compiler.
bool takes(const ir::Call& call);
std::vector<ir::Way> ways(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
