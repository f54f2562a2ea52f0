// Which commands have to wait for those before: where one writes what the other reads or writes.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::backends::gpu {

/// Bytes in a space where no two buffers meet.
struct Range {
  uint64_t begin = 0, end = 0;
};

class Hazards {
 public:
  /// Notes a command; whether a barrier has to come before it.
  bool add(std::span<const Range> reads, std::span<const Range> writes) {
    const bool waits = is_unknown_ || reads_.size() + writes_.size() > kMost || meets(reads, writes_) ||
                       meets(writes, writes_) || meets(writes, reads_);
    if (waits) {
      is_unknown_ = false;
      reads_.clear();
      writes_.clear();
    }
    reads_.insert(reads_.end(), reads.begin(), reads.end());
    writes_.insert(writes_.end(), writes.begin(), writes.end());
    return waits;
  }
  /// Something ran that nobody noted: the next command waits for it.
  void forget() { is_unknown_ = true; }

 private:
  static constexpr size_t kMost = 128;  // what is kept in mind is gone through for every command

  static bool meets(std::span<const Range> some, std::span<const Range> others) {
    for (const Range& a : some) {
      for (const Range& b : others) {
        if (a.begin < b.end && b.begin < a.end) return true;
      }
    }
    return false;
  }

  std::vector<Range> reads_, writes_;  // since the last barrier
  bool is_unknown_ = false;
};

}  // namespace tenon::backends::gpu
