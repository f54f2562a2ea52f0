// Memory of a device in few large blocks: drivers take milliseconds for each, and some give no more than 4096.

#pragma once

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "tenon/backends/vulkan/inventory.h"

namespace tenon::backends::vulkan {

/// Memory with one buffer over all of it.
struct Block {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  size_t bytes = 0;
  std::byte* host = nullptr;  // where the host sees it
  uint64_t address = 0;       // of its first byte, in a space of our own: no two blocks meet there
};

/// A part of a block; gpu::Driver's handles point to them.
struct Piece {
  const Block* block = nullptr;
  size_t offset = 0, bytes = 0;

  uint64_t address() const { return block->address + offset; }
};

class Memory {
 public:
  Memory(VkDevice device, const Found& on) : device_(device), on_(on) {}
  Memory(const Memory&) = delete;

  /// A block of the device's own memory, or of memory that both see. None where there is none left.
  std::optional<Block> make(size_t bytes, bool is_for_host);
  void destroy(const Block& block) const;

  /// None where there is none left. It may be given to somebody else while commands still use it: those that come later
  /// run later.
  Piece* take(size_t bytes);
  /// The block that is left over, if there is one, to be destroyed when the device is done with it.
  std::optional<Block> give_back(Piece* piece);
  void destroy_all();

 private:
  struct Slab {
    Block block;
    std::map<size_t, size_t> free;  // bytes by offset
  };
  static constexpr size_t kSlab = size_t{64} << 20, kUnit = 256;

  Piece* take_from(Slab& slab, size_t bytes);

  VkDevice device_;
  const Found& on_;
  std::mutex mutex_;
  std::list<Slab> slabs_;
  uint64_t next_address_ = 0;
};

}  // namespace tenon::backends::vulkan
