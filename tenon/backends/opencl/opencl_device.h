// The OpenCL devices of this machine: GPUs first, then CPUs (PoCL), over all platforms.

#pragma once

#include <vector>

#include "tenon/device/registry.h"

namespace tenon::backends::opencl {

/// `opencl` and its like, as gpu::backends_of names them.
std::vector<device::Backend> backends();

}  // namespace tenon::backends::opencl
