// A copy into state: it must not happen after a fault, and only a kernel can look.

#pragma once

#include "tenon/codegen/kernel_ir.h"

namespace tenon::backends::gpu {

/// Copies units of 1, 4 or 16 bytes from its first buffer to its second one; its numbers say how many, and how many to
/// skip at the beginning of each. Blocks are for whoever starts it to count.
codegen::Dispatch copy_kernel(uint32_t unit, uint32_t threads);

}  // namespace tenon::backends::gpu
