// Memory that the device has of its own, and memory that the host sees too.

#pragma once

#include <optional>

#include "tenon/backends/gpu/slabs.h"
#include "tenon/backends/vulkan/inventory.h"

namespace tenon::backends::vulkan {

/// Memory with one buffer over all of it.
struct Block {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  size_t bytes = 0;
  std::byte* host = nullptr;  // where the host sees it
};
/// gpu::Driver's handles point to them.
using Piece = gpu::Piece<Block>;

/// None where there is no memory left.
std::optional<Block> make_block(VkDevice device, const Found& on, size_t bytes, bool is_for_host);
void destroy(VkDevice device, const Block& block);

}  // namespace tenon::backends::vulkan
