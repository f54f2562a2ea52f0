// Which Vulkan devices this machine has, and what each can do.

#pragma once

#include <string>
#include <vector>

#include "tenon/backends/vulkan/api.h"
#include "tenon/codegen/legalise.h"
#include "tenon/ir/limits.h"
#include "tenon/render/glsl_device.h"

namespace tenon::backends::vulkan {

struct Found {
  VkPhysicalDevice device = nullptr;
  uint32_t queue_family = 0;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  std::string driver;  // name and version, for people
  bool has_i64 = false, has_f64 = false, has_bytes = false, has_halves = false;
  uint32_t processors = 64;  // as many keep a large GPU busy, where nobody says how many there are
  bool has_full_subgroups = false, chooses_subgroup = false;  // of one size; it has to be told which
  bool has_shuffles = false;
  ir::EnumSet<DType> tiles;  // 16 x 16 x 16 products of these, summed in f32 by a subgroup
  uint32_t subgroup = 1;
  render::GlslDevice shaders;
  bool fuses = false;  // a multiply-add rounds once, which Vulkan does not promise

  bool is_cpu() const { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  std::string name() const { return properties.deviceName; }
};

struct Inventory {
  std::vector<Found> devices;  // GPUs before CPUs, those with memory of their own first
  std::string why_none;        // empty where there is a device
};

/// Looked up once.
const Inventory& inventory();

ir::Limits limits_of(const Found& found);
/// What kernels must do without there.
codegen::Lacks lacks_of(const Found& found);
/// Bytes of push constants that kernels may have.
uint32_t pushed_bytes(const Found& found);
/// Bytes of the largest heap of its own.
uint64_t memory_of(const Found& found);
/// One line for people.
std::string describe(const Found& found);

}  // namespace tenon::backends::vulkan
