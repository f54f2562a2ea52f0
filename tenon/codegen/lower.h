// A loop nest as GPU kernels.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::codegen {

/// Buffers of the dispatches are the nest's inputs, its outputs, then scratch memory if there is any.
Module lower(const ir::LoopNest& nest, const ir::Limits& limits);

}  // namespace tenon::codegen
