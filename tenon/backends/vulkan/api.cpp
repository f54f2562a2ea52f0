#define VOLK_IMPLEMENTATION
#include "tenon/backends/vulkan/api.h"

#include <utility>

#include "tenon/backends/gpu/driver.h"
#include "tenon/base/error.h"

namespace tenon::backends::vulkan {

std::string error_name(VkResult code) {
  constexpr std::pair<VkResult, const char*> kNames[] = {
      {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
      {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"},
      {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
      {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED"},
      {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT"},
      {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"},
      {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
      {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
      {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
      {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},
      {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV"},
      {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN"},
  };
  for (const auto& [known, name] : kNames) {
    if (known == code) return name;
  }
  return fmt::format("error {}", static_cast<int>(code));
}

void require(VkResult code, const char* what) {
  if (code == VK_ERROR_DEVICE_LOST) throw gpu::Gone{fmt::format("{} ({})", error_name(code), what)};
  if (code < 0) base::fail("vulkan", "{}: {}", what, error_name(code));
}

}  // namespace tenon::backends::vulkan
