// What VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16 declare, for headers that are older than both.

#pragma once

#include "tenon/backends/vulkan/api.h"

namespace tenon::backends::vulkan {

inline constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";
inline constexpr const char* kBf16Extension = "VK_KHR_shader_bfloat16";

struct MatrixFeatures {
  VkStructureType type = static_cast<VkStructureType>(1000506000);
  void* next = nullptr;
  VkBool32 has_matrices = VK_FALSE, has_robust_access = VK_FALSE;
};

struct Bf16Features {
  VkStructureType type = static_cast<VkStructureType>(1000141000);
  void* next = nullptr;
  VkBool32 has_type = VK_FALSE, has_dot_product = VK_FALSE, has_matrices = VK_FALSE;
};

/// The product of an m x k and a k x n matrix, added to an m x n one.
struct MatrixProduct {
  static constexpr uint32_t kF16 = 0, kF32 = 1, kBf16 = 1000141000, kSubgroup = 3;
  VkStructureType type = static_cast<VkStructureType>(1000506001);
  void* next = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t a = 0, b = 0, c = 0, result = 0;  // what they are made of
  VkBool32 saturates = VK_FALSE;
  uint32_t scope = 0;
};
/// "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", of an instance.
using ListMatrixProducts = VkResult(VKAPI_PTR*)(VkPhysicalDevice device, uint32_t* count, MatrixProduct* products);

}  // namespace tenon::backends::vulkan
