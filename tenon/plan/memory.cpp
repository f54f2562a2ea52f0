// Sweeps over the launches with a list of holes, giving each temporary the smallest hole that fits. n log n: a chain of
// a million temporaries lays out in a second. Where that wastes something and there are few, they are also laid out by
// size, in two ways that know of pieces which are written later, and the best is taken.

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

// Bytes and launches that are taken.
struct Taken {
  size_t offset = 0, end = 0;
  uint32_t first = 0, last = 0;
};

class BySize {
 public:
  BySize(std::span<const Interval> intervals, std::span<const size_t> bytes, size_t alignment, size_t slab)
      : intervals_(intervals), bytes_(bytes), alignment_(alignment), slab_(slab) {}

  // Largest first, each at a place that is free all its life, the lowest one or the highest: within a few percent of
  // the live bytes, but quadratic. The gradient of all weights is written from its end; highest is best below it, where
  // the logits then lie in what is written first and layers in what is written by the time that they are done.
  size_t lay_out(bool highest, std::vector<size_t>& offsets) {
    std::vector<uint32_t> order(intervals_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return bytes_[a] > bytes_[b]; });
    for (const uint32_t i : order) {
      offsets[i] = highest ? highest_place(i) : lowest_place(i);
      take(i, offsets[i]);
    }
    return end_;
  }

 private:
  bool meets(const Taken& other, const Interval& life) const {
    return life.first <= other.last && other.first <= life.last;
  }

  size_t lowest_place(uint32_t i) const {
    size_t at = 0;
    for (const Taken& other : taken_) {
      if (!meets(other, intervals_[i])) continue;
      if (other.offset >= at + bytes_[i]) break;
      at = behind(std::max(at, other.end), bytes_[i]);
    }
    return at;
  }

  // The upper end of the highest gap; behind everything if there is none.
  size_t highest_place(uint32_t i) const {
    constexpr size_t kNowhere = ~size_t{0};
    const size_t bytes = bytes_[i];
    size_t at = 0, best = kNowhere;
    const auto look_at_gap_to = [&](size_t end) {
      if (end < at + bytes) return;
      const size_t high = (end - bytes) / alignment_ * alignment_;
      best = within_slab(high, bytes, slab_) == high ? high : at;
    };
    for (const Taken& other : taken_) {
      if (!meets(other, intervals_[i])) continue;
      look_at_gap_to(other.offset);
      at = behind(std::max(at, other.end), bytes);
    }
    look_at_gap_to(end_);
    return best == kNowhere ? at : best;
  }

  // The first aligned place from there on that lies in one slab.
  size_t behind(size_t at, size_t bytes) const {
    return within_slab((at + alignment_ - 1) / alignment_ * alignment_, bytes, slab_);
  }

  void take(uint32_t i, size_t at) {
    const Interval& life = intervals_[i];
    size_t begin = 0;
    const auto add = [&](size_t from, size_t to, uint32_t first) {
      if (from < to) insert({at + from, at + to, first, life.last});
    };
    for (const Stretch& piece : life.later) {
      add(begin, piece.begin, life.first);
      add(piece.begin, piece.begin + piece.bytes, piece.first);
      begin = piece.begin + piece.bytes;
    }
    add(begin, bytes_[i], life.first);
    end_ = std::max(end_, at + bytes_[i]);
  }

  void insert(const Taken& one) {
    const auto before = std::upper_bound(taken_.begin(), taken_.end(), one.offset,
                                         [](size_t offset, const Taken& other) { return offset < other.offset; });
    taken_.insert(before, one);
  }

  std::span<const Interval> intervals_;
  std::span<const size_t> bytes_;
  size_t alignment_, slab_;
  std::vector<Taken> taken_;  // in ascending order of offsets
  size_t end_ = 0;
};

size_t most_alive(std::span<const Interval> intervals, std::span<const size_t> bytes) {
  std::vector<std::pair<uint32_t, size_t>> births, deaths;
  for (size_t i = 0; i < intervals.size(); ++i) {
    size_t at_first = bytes[i];
    for (const Stretch& piece : intervals[i].later) {
      births.emplace_back(piece.first, piece.bytes);
      at_first -= piece.bytes;
    }
    births.emplace_back(intervals[i].first, at_first);
    deaths.emplace_back(intervals[i].last, bytes[i]);
  }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  size_t live = 0, most = 0;
  auto death = deaths.begin();
  for (const auto& [launch, born] : births) {
    for (; death != deaths.end() && death->first < launch; ++death) live -= death->second;
    live += born;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

Arena lay_out(std::span<const Interval> intervals, size_t alignment, size_t slab) {
  Arena arena;
  slab = slab / alignment * alignment;
  arena.offsets.resize(intervals.size());
  std::vector<size_t> bytes;  // with padding
  for (const Interval& interval : intervals)
    bytes.push_back((std::max<size_t>(interval.bytes, 1) + alignment - 1) / alignment * alignment);
  using Ending = std::pair<uint32_t, uint32_t>;  // last launch, interval
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  Holes holes(slab);
  for (size_t i = 0; i < intervals.size(); ++i) {
    while (!alive.empty() && alive.top().first < intervals[i].first) {
      const size_t ended = alive.top().second;
      alive.pop();
      holes.give_back(arena.offsets[ended], bytes[ended]);
    }
    if (bytes[i] > slab)
      base::fail("memory",
                 "a value of {} bytes is larger than the {} bytes that a kernel of the device can reach at once",
                 intervals[i].bytes, slab);
    arena.offsets[i] = holes.take(bytes[i]);
    alive.emplace(intervals[i].last, static_cast<uint32_t>(i));
  }
  arena.bytes = holes.end();
  arena.peak_live_bytes = most_alive(intervals, bytes);
  // A step of a deep network has a thousand temporaries: worth a millisecond.
  constexpr size_t kFew = 3000;
  size_t total = 0;  // so far could the end lie
  for (size_t i = 0; i < bytes.size() && total <= kMostBytes; ++i) total += bytes[i];
  if (intervals.size() > kFew || total > kMostBytes) return arena;
  for (const bool highest : {false, true}) {
    if (arena.bytes == arena.peak_live_bytes) break;
    std::vector<size_t> offsets(intervals.size());
    const size_t end = BySize(intervals, bytes, alignment, slab).lay_out(highest, offsets);
    if (end >= arena.bytes) continue;
    arena.bytes = end;
    arena.offsets = std::move(offsets);
  }
  return arena;
}

}  // namespace tenon::plan
