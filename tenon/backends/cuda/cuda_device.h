// The NVIDIA GPUs of this machine, by CUDA's driver, compiler and library, all of them opened at run time.

#pragma once

#include <vector>

#include "tenon/device/registry.h"

namespace tenon::backends::cuda {

/// `cuda` and its like, as gpu::backends_of names them.
std::vector<device::Backend> backends();

}  // namespace tenon::backends::cuda
