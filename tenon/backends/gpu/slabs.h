// Memory of a device in few large blocks: drivers take milliseconds for each, and some give no more than 4096.
//
// What a block is, is the backend's matter; of a `Block` this knows how many bytes it has.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace tenon::backends::gpu {

/// A part of a block; a driver's handles may point to them.
template <typename Block>
struct Piece {
  const Block* block = nullptr;
  size_t offset = 0, bytes = 0;
  uint64_t address = 0;  // of its first byte, in a space of our own: no two pieces that are taken meet there
};

template <typename Block>
class Slabs {
 public:
  using Make = std::function<std::optional<Block>(size_t bytes)>;
  using Taken = Piece<Block>;
  static constexpr size_t kUsual = size_t{64} << 20, kUnit = 256;

  /// `make` gives a block, or none where there is no memory left; `all` is the memory of the device.
  Slabs(Make make, uint64_t all) : make_(std::move(make)), whole_(std::min<uint64_t>(kUsual, all / 8)) {}

  /// None where there is none left. It may be given to somebody else while commands still use it: those that come later
  /// run later.
  Taken* take(size_t bytes) {
    bytes = (std::max<size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
    std::lock_guard lock(mutex_);
    for (Slab& slab : slabs_) {
      if (Taken* piece = take_from(slab, bytes)) return piece;
    }
    const size_t whole = bytes > kUsual / 2 ? bytes : std::max(whole_, bytes);
    std::optional<Block> block = make_(whole);
    if (!block && whole > bytes) block = make_(bytes);
    if (!block) return nullptr;
    slabs_.push_back({*block, next_address_, {{0, block->bytes}}});
    next_address_ += block->bytes;
    return take_from(slabs_.back(), bytes);
  }

  /// The block that is left over, if there is one, to be destroyed when the device is done with it.
  std::optional<Block> give_back(Taken* piece) {
    std::lock_guard lock(mutex_);
    const auto slab =
        std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& one) { return &one.block == piece->block; });
    const auto at = slab->free.emplace(piece->offset, piece->bytes).first;
    delete piece;
    join(slab->free, at);
    if (at != slab->free.begin()) join(slab->free, std::prev(at));
    const auto is_empty = [](const Slab& one) {
      return one.free.size() == 1 && one.free.begin()->second == one.block.bytes;
    };
    if (!is_empty(*slab)) return std::nullopt;
    // One of the usual size stays for whoever comes next.
    if (slab->block.bytes == kUsual && std::count_if(slabs_.begin(), slabs_.end(), is_empty) == 1) return std::nullopt;
    const Block left = slab->block;
    slabs_.erase(slab);
    return left;
  }

  /// All blocks, in use or not.
  void for_each(const std::function<void(const Block&)>& what) const {
    for (const Slab& slab : slabs_) what(slab.block);
  }

 private:
  using Free = std::map<size_t, size_t>;  // bytes by offset
  struct Slab {
    Block block;
    uint64_t address;
    Free free;
  };

  static Taken* take_from(Slab& slab, size_t bytes) {
    const auto fits =
        std::find_if(slab.free.begin(), slab.free.end(), [&](const auto& one) { return one.second >= bytes; });
    if (fits == slab.free.end()) return nullptr;
    const auto [offset, room] = *fits;
    slab.free.erase(fits);
    if (room > bytes) slab.free[offset + bytes] = room - bytes;
    return new Taken{&slab.block, offset, bytes, slab.address + offset};
  }
  /// One with the next, if that begins where it ends.
  static void join(Free& free, typename Free::iterator one) {
    const auto next = std::next(one);
    if (next == free.end() || one->first + one->second != next->first) return;
    one->second += next->second;
    free.erase(next);
  }

  const Make make_;
  const size_t whole_;
  std::mutex mutex_;
  std::list<Slab> slabs_;
  uint64_t next_address_ = 0;
};

}  // namespace tenon::backends::gpu
