#include "tenon/backends/vulkan/memory.h"

namespace tenon::backends::vulkan {
namespace {

// The type that serves best: the first one with all of `wanted` and, if there is such a one, nothing of `unwanted`.
std::optional<uint32_t> find_type(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                  VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted) {
  for (const VkMemoryPropertyFlags avoided : {unwanted, VkMemoryPropertyFlags{0}}) {
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
      if ((allowed >> i & 1) && (flags & wanted) == wanted && !(flags & avoided)) return i;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> type_for(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, bool is_for_host) {
  constexpr VkMemoryPropertyFlags kOwn = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  kSeen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                  kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  if (!is_for_host) return find_type(memory, allowed, kOwn, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
  const auto cached = find_type(memory, allowed, kSeen | kCached, kOwn);
  return cached ? cached : find_type(memory, allowed, kSeen, kOwn);
}

}  // namespace

std::optional<Block> make_block(VkDevice device, const Found& on, size_t bytes, bool is_for_host) {
  Block block;
  block.bytes = bytes;
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 (is_for_host ? 0 : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  if (vkCreateBuffer(device, &create, nullptr, &block.buffer) != VK_SUCCESS) return std::nullopt;
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(device, block.buffer, &needs);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  const auto type = type_for(on.memory, needs.memoryTypeBits, is_for_host);
  allocate.memoryTypeIndex = type.value_or(0);
  void* host = nullptr;
  if (!type || vkAllocateMemory(device, &allocate, nullptr, &block.memory) != VK_SUCCESS ||
      vkBindBufferMemory(device, block.buffer, block.memory, 0) != VK_SUCCESS ||
      (is_for_host && vkMapMemory(device, block.memory, 0, VK_WHOLE_SIZE, 0, &host) != VK_SUCCESS)) {
    destroy(device, block);
    return std::nullopt;
  }
  block.host = static_cast<std::byte*>(host);
  return block;
}

void destroy(VkDevice device, const Block& block) {
  vkDestroyBuffer(device, block.buffer, nullptr);
  vkFreeMemory(device, block.memory, nullptr);
}

}  // namespace tenon::backends::vulkan
