// Rows of values written or added to picked rows.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

codegen::Module lower_scatter(const ir::Call& call, const ir::Limits& limits);
codegen::Module lower_scatter_add(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
