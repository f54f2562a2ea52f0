// Stands for the whole backend where volk or glslang were not there when this was built.

#include "tenon/backends/vulkan/vulkan_device.h"

namespace tenon::backends::vulkan {

std::vector<device::Backend> backends() {
  const auto why = [] { return std::string("built without Vulkan's headers (volk) or without glslang"); };
  return {{"vulkan", nullptr, false, why}, {"vulkan_unfused", nullptr, true, why}};
}

}  // namespace tenon::backends::vulkan
