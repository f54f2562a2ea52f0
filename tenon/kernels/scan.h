// Running sums and products.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

codegen::Module lower_scan(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
