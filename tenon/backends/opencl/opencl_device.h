// The OpenCL devices of this machine: GPUs first, then CPUs (PoCL), over all platforms.

#pragma once

#include <vector>

#include "tenon/device/registry.h"

namespace tenon::backends::opencl {

/// `opencl` is the first device; it brings `opencl:1`, `opencl:2` ... where there are more. `opencl_unfused`, for
/// tests, is the first one again, with a kernel for each op.
std::vector<device::Backend> backends();

}  // namespace tenon::backends::opencl
