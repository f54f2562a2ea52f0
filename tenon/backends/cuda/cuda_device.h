// The NVIDIA GPUs of this machine, by CUDA's driver, compiler and library, all of them opened at run time.

#pragma once

#include <vector>

#include "tenon/device/registry.h"

namespace tenon::backends::cuda {

/// `cuda` is the first GPU; it brings `cuda:1`, `cuda:2` ... where there are more. `cuda_unfused`, for tests, is the
/// first one again, with a kernel for each op.
std::vector<device::Backend> backends();

}  // namespace tenon::backends::cuda
