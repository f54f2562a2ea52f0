// The Vulkan devices of this machine: GPUs first, then those that a CPU stands in for (lavapipe, SwiftShader).

#pragma once

#include <vector>

#include "tenon/device/registry.h"

namespace tenon::backends::vulkan {

/// `vulkan` and its like, as gpu::backends_of names them.
std::vector<device::Backend> backends();

}  // namespace tenon::backends::vulkan
