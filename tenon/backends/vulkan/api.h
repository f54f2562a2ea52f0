// Vulkan's functions, which volk looks up when a device is first asked for: a program that was built with Vulkan starts
// without it.

#pragma once

#include <volk.h>

#include <string>

namespace tenon::backends::vulkan {

/// The name of an error, as Vulkan has it.
std::string error_name(VkResult code);
/// Fails, with what could not be done, unless the code says success; a device that is lost is gpu::Gone.
void require(VkResult code, const char* what);

}  // namespace tenon::backends::vulkan
