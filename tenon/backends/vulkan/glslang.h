// glslang, in this process.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::backends::vulkan {

/// A compute shader as SPIR-V; throws gpu::Refused. Several threads may call it at once.
std::vector<uint32_t> spirv_of(const std::string& source);

}  // namespace tenon::backends::vulkan
