// One instance for all devices, which stays until the process ends.

#include "tenon/backends/vulkan/inventory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tenon/backends/gpu/kind.h"
#include "tenon/backends/vulkan/cooperative_matrix.h"
#include "tenon/backends/vulkan/hidden_sve.h"
#include "tenon/base/error.h"
#include "tenon/codegen/kernel_ir.h"
#include "tenon/render/render.h"

namespace tenon::backends::vulkan {
namespace {

constexpr uint32_t kVersion = VK_API_VERSION_1_2;
constexpr uint32_t kLeastBuffers = 4;  // of a kernel, beside its scratch memory

std::optional<uint32_t> compute_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return i;
  }
  return std::nullopt;
}

bool has_extension(VkPhysicalDevice device, std::string_view wanted) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.extensionName == wanted; });
}

ir::EnumSet<DType> tiles_of(VkInstance instance, VkPhysicalDevice device) {
  if (!gpu::wants_tiles() || !has_extension(device, kMatrixExtension)) return {};
  const auto list = reinterpret_cast<ListMatrixProducts>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (!list) return {};
  MatrixFeatures features;
  Bf16Features of_bf16;
  if (has_extension(device, kBf16Extension)) features.next = &of_bf16;
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features};
  vkGetPhysicalDeviceFeatures2(device, &all);
  uint32_t count = 0;
  list(device, &count, nullptr);
  std::vector<MatrixProduct> products(count);
  list(device, &count, products.data());
  const auto has = [&](uint32_t component) {
    return features.has_matrices && std::any_of(products.begin(), products.end(), [&](const MatrixProduct& one) {
             return one.m == 16 && one.n == 16 && one.k == 16 && one.a == component && one.b == component &&
                    one.c == MatrixProduct::kF32 && one.result == MatrixProduct::kF32 && !one.saturates &&
                    one.scope == MatrixProduct::kSubgroup;
           });
  };
  ir::EnumSet<DType> made;
  if (has(MatrixProduct::kF16)) made.insert(DType::f16);
  if (has(MatrixProduct::kBf16) && of_bf16.has_type && of_bf16.has_matrices) made.insert(DType::bf16);
  return made;
}

// Of a kernel, without the one for faults. Push constants hold a word for each buffer, one of our own, and two for each
// of at least 8 numbers.
uint32_t buffers_of(const Found& found) {
  const VkPhysicalDeviceLimits& own = found.properties.limits;
  const uint32_t pushed = pushed_bytes(found) / 4;
  return std::min(
      {pushed - 1 - 2 * 8, own.maxPerStageDescriptorStorageBuffers - 1, own.maxDescriptorSetStorageBuffers - 1});
}

// Why it cannot be used; empty where it can.
std::string look_at(VkInstance instance, Found& found) {
  vkGetPhysicalDeviceProperties(found.device, &found.properties);
  vkGetPhysicalDeviceMemoryProperties(found.device, &found.memory);
  if (found.properties.apiVersion < kVersion) return "is older than Vulkan 1.2";
  const std::optional<uint32_t> family = compute_family(found.device);
  if (!family) return "has no queue that computes";
  found.queue_family = *family;
  if (buffers_of(found) < kLeastBuffers + ir::kScratchBuffers) return "has fewer than 9 storage buffers for a kernel";

  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, &floats};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  if (found.properties.apiVersion >= VK_API_VERSION_1_3) floats.pNext = &sizes;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV processors{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV, &driver};
  const bool has_count = has_extension(found.device, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                              has_count ? static_cast<void*>(&processors) : &driver};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup};
  vkGetPhysicalDeviceProperties2(found.device, &properties);
  found.driver = fmt::format("{} {}", driver.driverName, driver.driverInfo);
  found.subgroup = subgroup.subgroupSize;
  if (processors.shaderSMCount > 0) found.processors = processors.shaderSMCount;
  found.has_shuffles = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                       (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
  const auto has = [](VkBool32 asked) { return asked == VK_TRUE; };
  found.shaders.f32 = {has(floats.shaderDenormPreserveFloat32), has(floats.shaderSignedZeroInfNanPreserveFloat32),
                       has(floats.shaderRoundingModeRTEFloat32)};
  found.shaders.f64 = {has(floats.shaderDenormPreserveFloat64), has(floats.shaderSignedZeroInfNanPreserveFloat64),
                       has(floats.shaderRoundingModeRTEFloat64)};
  found.shaders.has_fma = !found.is_cpu();
  found.shaders.mistakes_zeros = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  found.shaders.loses_nan = driver.driverID == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  found.fuses = driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  // Asked for what it does anyway, its compiler takes six times as long.
  if (found.shaders.loses_nan) found.shaders.f32 = found.shaders.f64 = {};

  const bool is_13 = found.properties.apiVersion >= VK_API_VERSION_1_3;
  VkPhysicalDeviceVulkan13Features of_13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features of_12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                         is_13 ? &of_13 : nullptr};
  VkPhysicalDeviceVulkan11Features of_11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &of_12};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &of_11};
  vkGetPhysicalDeviceFeatures2(found.device, &features);
  // lavapipe has i64, but an i32 that becomes one may not be the same number any more (Mesa 22.3).
  found.has_i64 = features.features.shaderInt64 && !found.is_cpu();
  found.has_f64 = features.features.shaderFloat64;
  found.has_bytes = of_12.storageBuffer8BitAccess;
  found.has_halves = of_11.storageBuffer16BitAccess;
  found.chooses_subgroup = sizes.minSubgroupSize != sizes.maxSubgroupSize;
  found.has_full_subgroups =
      of_13.subgroupSizeControl && of_13.computeFullSubgroups &&
      (!found.chooses_subgroup || (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT));
  if (of_12.vulkanMemoryModel && of_12.shaderFloat16) found.tiles = tiles_of(instance, found.device);
  if (!of_12.timelineSemaphore) return "has no timeline semaphores";
  if (found.is_cpu() && compiler_assumes_hidden_sve())
    return "runs on a CPU whose SVE this system hides, and its compiler would use it";
  return {};
}

int rank_of(const Found& found) {
  switch (found.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 3;
    default: return 2;
  }
}

Inventory look() {
  Inventory all;
  if (volkInitialize() != VK_SUCCESS) {
    all.why_none = "no Vulkan loader (libvulkan.so.1 was not found)";
    return all;
  }
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "tenon";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &application;
  VkInstance instance = nullptr;
  if (const VkResult code = vkCreateInstance(&create, nullptr, &instance); code != VK_SUCCESS) {
    all.why_none = fmt::format("no Vulkan driver ({})", error_name(code));
    return all;
  }
  volkLoadInstance(instance);
  uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  vkEnumeratePhysicalDevices(instance, &count, devices.data());
  for (VkPhysicalDevice device : devices) {
    Found found{device};
    const std::string why_not = look_at(instance, found);
    if (why_not.empty())
      all.devices.push_back(std::move(found));
    else if (all.why_none.empty())
      all.why_none = fmt::format("Vulkan device {} {}", found.name(), why_not);
  }
  std::stable_sort(all.devices.begin(), all.devices.end(),
                   [](const Found& a, const Found& b) { return rank_of(a) < rank_of(b); });
  if (!all.devices.empty())
    all.why_none.clear();
  else if (all.why_none.empty())
    all.why_none = "no device of any Vulkan driver";
  return all;
}

}  // namespace

const Inventory& inventory() {
  static const Inventory& all = *new Inventory(look());
  return all;
}

ir::Limits limits_of(const Found& found) {
  const VkPhysicalDeviceLimits& own = found.properties.limits;
  ir::Limits limits = gpu::limits_of_gpu(found.is_cpu() ? 4 : found.processors);
  if (found.is_cpu()) {  // few threads at once, and none of them waits for memory
    const ir::Limits usual;
    limits.few_rows = usual.few_rows;
    limits.column_blocks = usual.column_blocks;
    limits.vector = 1;
  }
  limits.max_buffers = std::min(limits.max_buffers, buffers_of(found) - ir::kScratchBuffers);
  limits.max_binding = own.maxStorageBufferRange / limits.alignment * limits.alignment;
  if (!found.has_f64) limits.missing_dtypes.insert(DType::f64);
  limits.max_threads =
      std::min({found.is_cpu() ? 256u : 1024u, own.maxComputeWorkGroupInvocations, own.maxComputeWorkGroupSize[0]});
  limits.shared_bytes = own.maxComputeSharedMemorySize;
  if (!found.is_cpu() && found.has_shuffles && found.has_full_subgroups) limits.subgroup = found.subgroup;
  limits.has_fma = found.shaders.has_fma;
  if (!found.tiles.empty() && limits.subgroup > 1) {
    gpu::add_tiles(limits);
    limits.tile_dtypes = found.tiles;
    limits.scarce_shared = true;  // on an H200, 8192 x 768 x 3072 then takes 160 us, not 282
    limits.has_tile_places = limits.subgroup == codegen::TilePlace::kThreads;
  }
  return limits;
}

// Of exponentials and logarithms too, drivers promise a few places alone.
codegen::Lacks lacks_of(const Found& found) {
  codegen::Lacks lacks = render::lacks_of(render::Language::glsl);
  lacks.wide_integers = !found.has_i64;
  lacks.bytes = !found.has_bytes;
  lacks.halves = !found.has_halves;
  lacks.fused = !found.fuses;
  for (const ir::Op op : {ir::Op::exp, ir::Op::log, ir::Op::tanh}) lacks.functions.insert(op);
  return lacks;
}

uint32_t pushed_bytes(const Found& found) { return std::min(found.properties.limits.maxPushConstantsSize, 256u); }

uint64_t memory_of(const Found& found) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < found.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = found.memory.memoryHeaps[i];
    if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) most = std::max(most, heap.size);
  }
  return most;
}

namespace {

std::string tiles_in_words(const ir::Limits& limits) {
  std::string names;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    if (limits.tile_dtypes.contains(dtype)) names += fmt::format(" {}", name(dtype));
  }
  return names.empty() ? names : ", matrix tiles of" + names;
}

}  // namespace

std::string describe(const Found& found) {
  const ir::Limits limits = limits_of(found);
  std::string without;
  for (const auto& [has_it, what] : {std::pair(found.has_f64, " f64"), std::pair(found.has_i64, " i64"),
                                     std::pair(found.has_halves, " 16-bit"), std::pair(found.has_bytes, " 8-bit")}) {
    if (!has_it) without += (without.empty() ? ", no" : "") + std::string(what);
  }
  const uint64_t memory = memory_of(found);
  const std::string most =
      limits.max_binding < memory ? fmt::format(" (a tensor {} MB)", limits.max_binding / 1000000) : "";
  return fmt::format("{}, driver {}: {:.1f} GB{}, {} threads a block, {} KiB shared, subgroups of {}{}{}", found.name(),
                     found.driver, static_cast<double>(memory) / 1e9, most, limits.max_threads,
                     limits.shared_bytes >> 10, limits.subgroup, tiles_in_words(limits), without);
}

}  // namespace tenon::backends::vulkan
