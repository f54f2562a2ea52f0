// Copies: into row-major order, and into a view of a buffer.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

codegen::Module lower_contiguous(const ir::Call& call, const ir::Limits& limits);
/// Of 16-bit dtypes, whose bits a register would not keep: it holds the number, and of a NaN there are many.
codegen::Module lower_bitcast(const ir::Call& call, const ir::Limits& limits);
codegen::Module lower_store(const ir::Call& call, const ir::Limits& limits);

/// A dispatch that copies argument `from`, seen through `read`, to argument `to`, through `written`.
codegen::Module copy_kernel(DType dtype, uint32_t from, const ir::IndexMap& read, uint32_t to,
                            const ir::IndexMap& written, const ir::Limits& limits);

}  // namespace tenon::kernels
