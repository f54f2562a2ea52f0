// Sweeps over the launches with a list of holes, giving each temporary the smallest hole that fits. n log n: a chain of
// a million temporaries lays out in a second. Where that wastes something and there are few, they are also laid out by
// size, and the better of the two is taken.

#include "tenon/plan/memory.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "tenon/base/error.h"

namespace tenon::plan {
namespace {

// More than any device has, and far enough from what a size_t holds that sizes can be rounded up.
constexpr size_t kMostBytes = size_t{1} << 62;

// The first place from `at` on where so many bytes lie in one slab.
size_t within_slab(size_t at, size_t bytes, size_t slab) {
  return at / slab == (at + bytes - 1) / slab ? at : (at / slab + 1) * slab;
}

class Holes {
 public:
  explicit Holes(size_t slab) : slab_(slab) {}

  // Takes the smallest hole in which so many bytes fit, or grows the arena.
  size_t take(size_t bytes) {
    for (auto hole = by_size_.lower_bound({bytes, 0}); hole != by_size_.end(); ++hole) {
      const auto [size, offset] = *hole;
      const size_t at = within_slab(offset, bytes, slab_);
      if (at + bytes > offset + size) continue;
      remove(offset, size);
      if (at > offset) insert(offset, at - offset);
      if (offset + size > at + bytes) insert(at + bytes, offset + size - at - bytes);
      return at;
    }
    size_t offset = end_;
    if (!by_offset_.empty()) {  // a hole at the very end is extended instead of left behind
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    if (bytes > kMostBytes - offset)
      base::fail("memory", "what is alive at once takes more than {} bytes, more than any device has", kMostBytes);
    const size_t at = within_slab(offset, bytes, slab_);
    if (at > offset) insert(offset, at - offset);
    end_ = at + bytes;
    return at;
  }

  void give_back(size_t offset, size_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + bytes == next->first) {
      const auto [neighbour, size] = *next;
      remove(neighbour, size);
      bytes += size;
    }
    auto previous = by_offset_.lower_bound(offset);
    if (previous != by_offset_.begin()) {
      --previous;
      const auto [neighbour, size] = *previous;
      if (neighbour + size == offset) {
        remove(neighbour, size);
        offset = neighbour;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  size_t end() const { return end_; }

 private:
  void insert(size_t offset, size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(size_t offset, size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t end_ = 0, slab_;
};

}  // namespace

namespace {

// Largest first, each at the lowest place that is free all its life: within a few percent of the live bytes, but
// quadratic.
size_t lay_out_by_size(std::span<const Interval> intervals, std::span<const size_t> bytes, size_t slab,
                       std::vector<size_t>& offsets) {
  std::vector<uint32_t> order(intervals.size()), placed;
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return bytes[a] > bytes[b]; });
  size_t end = 0;
  for (const uint32_t i : order) {  // `placed` is in ascending order of offsets
    size_t at = 0;
    for (const uint32_t other : placed) {
      if (intervals[other].last < intervals[i].first || intervals[i].last < intervals[other].first) continue;
      if (offsets[other] >= at + bytes[i]) break;
      at = within_slab(std::max(at, offsets[other] + bytes[other]), bytes[i], slab);
    }
    offsets[i] = at;
    end = std::max(end, at + bytes[i]);
    const auto before = std::upper_bound(placed.begin(), placed.end(), at,
                                         [&](size_t offset, uint32_t other) { return offset < offsets[other]; });
    placed.insert(before, i);
  }
  return end;
}

}  // namespace

Arena lay_out(std::span<const Interval> intervals, size_t alignment, size_t slab) {
  Arena arena;
  slab = slab / alignment * alignment;
  arena.offsets.resize(intervals.size());
  const auto padded = [&](size_t i) {
    return (std::max<size_t>(intervals[i].bytes, 1) + alignment - 1) / alignment * alignment;
  };
  using Ending = std::pair<uint32_t, uint32_t>;  // last launch, interval
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  Holes holes(slab);
  size_t live_bytes = 0;
  for (size_t i = 0; i < intervals.size(); ++i) {
    while (!alive.empty() && alive.top().first < intervals[i].first) {
      const size_t ended = alive.top().second;
      alive.pop();
      holes.give_back(arena.offsets[ended], padded(ended));
      live_bytes -= padded(ended);
    }
    if (padded(i) > slab)
      base::fail("memory",
                 "a value of {} bytes is larger than the {} bytes that a kernel of the device can reach at once",
                 intervals[i].bytes, slab);
    arena.offsets[i] = holes.take(padded(i));
    alive.emplace(intervals[i].last, static_cast<uint32_t>(i));
    live_bytes += padded(i);
    arena.peak_live_bytes = std::max(arena.peak_live_bytes, live_bytes);
  }
  arena.bytes = holes.end();
  // A step of a deep network has a thousand temporaries: worth a millisecond.
  constexpr size_t kFew = 3000;
  if (intervals.size() <= kFew && arena.bytes > arena.peak_live_bytes) {
    std::vector<size_t> bytes(intervals.size()), offsets(intervals.size());
    size_t total = 0;  // so far could the end lie
    for (size_t i = 0; i < bytes.size() && total <= kMostBytes; ++i) total += bytes[i] = padded(i);
    const size_t end = total <= kMostBytes ? lay_out_by_size(intervals, bytes, slab, offsets) : total;
    if (end < arena.bytes) {
      arena.bytes = end;
      arena.offsets = std::move(offsets);
    }
  }
  return arena;
}

}  // namespace tenon::plan
