#include "tenon/backends/vulkan/memory.h"

#include <algorithm>

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

std::optional<Block> Memory::make(size_t bytes, bool is_for_host) {
  Block block;
  block.bytes = bytes;
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 (is_for_host ? 0 : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  if (vkCreateBuffer(device_, &create, nullptr, &block.buffer) != VK_SUCCESS) return std::nullopt;
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(device_, block.buffer, &needs);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  const auto type = type_for(on_.memory, needs.memoryTypeBits, is_for_host);
  allocate.memoryTypeIndex = type.value_or(0);
  void* host = nullptr;
  if (!type || vkAllocateMemory(device_, &allocate, nullptr, &block.memory) != VK_SUCCESS ||
      vkBindBufferMemory(device_, block.buffer, block.memory, 0) != VK_SUCCESS ||
      (is_for_host && vkMapMemory(device_, block.memory, 0, VK_WHOLE_SIZE, 0, &host) != VK_SUCCESS)) {
    destroy(block);
    return std::nullopt;
  }
  block.host = static_cast<std::byte*>(host);
  return block;
}

void Memory::destroy(const Block& block) const {
  vkDestroyBuffer(device_, block.buffer, nullptr);
  vkFreeMemory(device_, block.memory, nullptr);
}

Piece* Memory::take_from(Slab& slab, size_t bytes) {
  const auto fits =
      std::find_if(slab.free.begin(), slab.free.end(), [&](const auto& one) { return one.second >= bytes; });
  if (fits == slab.free.end()) return nullptr;
  const auto [offset, room] = *fits;
  slab.free.erase(fits);
  if (room > bytes) slab.free[offset + bytes] = room - bytes;
  return new Piece{&slab.block, offset, bytes};
}

Piece* Memory::take(size_t bytes) {
  bytes = (std::max<size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
  std::lock_guard lock(mutex_);
  for (Slab& slab : slabs_) {
    if (Piece* piece = take_from(slab, bytes)) return piece;
  }
  const size_t whole = bytes > kSlab / 2 ? bytes : std::min<size_t>(kSlab, memory_of(on_) / 8);
  std::optional<Block> block = make(std::max(whole, bytes), false);
  if (!block && whole > bytes) block = make(bytes, false);
  if (!block) return nullptr;
  block->address = next_address_;
  next_address_ += block->bytes;
  Slab& slab = slabs_.emplace_back(Slab{*block, {{0, block->bytes}}});
  return take_from(slab, bytes);
}

std::optional<Block> Memory::give_back(Piece* piece) {
  std::lock_guard lock(mutex_);
  const auto slab =
      std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& one) { return &one.block == piece->block; });
  auto [at, is_new] = slab->free.emplace(piece->offset, piece->bytes);
  delete piece;
  if (const auto next = std::next(at); next != slab->free.end() && at->first + at->second == next->first) {
    at->second += next->second;
    slab->free.erase(next);
  }
  if (at != slab->free.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      slab->free.erase(at);
    }
  }
  const auto is_empty = [](const Slab& one) {
    return one.free.size() == 1 && one.free.begin()->second == one.block.bytes;
  };
  if (!is_empty(*slab)) return std::nullopt;
  // One of the usual size stays for whoever comes next.
  const bool stays = slab->block.bytes == kSlab && std::count_if(slabs_.begin(), slabs_.end(), is_empty) == 1;
  if (stays) return std::nullopt;
  const Block left = slab->block;
  slabs_.erase(slab);
  return left;
}

void Memory::destroy_all() {
  for (const Slab& slab : slabs_) destroy(slab.block);
  slabs_.clear();
}

}  // namespace tenon::backends::vulkan
