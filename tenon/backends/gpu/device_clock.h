// The clock of a device against the host's.

#pragma once

#include <cstdint>
#include <limits>

#include "tenon/device/timeline.h"

namespace tenon::backends::gpu {

class DeviceClock {
 public:
  /// Compares them before a run is timed, where nobody has timed one for a second: they drift. `read` gives the time of
  /// the device at some moment while it is called, once all that was started before is done.
  template <typename Read>
  void align(const Read& read) {
    constexpr uint64_t kLongAgo = 1'000'000'000;
    constexpr int kTries = 4;  // the first waits for what runs
    const uint64_t now = device::now_ns();
    const bool is_fresh = last_used_ns_ != 0 && now - last_used_ns_ < kLongAgo;
    last_used_ns_ = now;
    if (is_fresh) return;
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (int i = 0; i < kTries; ++i) {
      const uint64_t before = device::now_ns(), there = read(), after = device::now_ns();
      if (after - before >= least) continue;
      least = after - before;
      const bool is_same = before <= there && there <= after;  // drivers for the host's processors have its clock
      offset_ns_ = is_same ? 0 : before + least / 2 - there;
    }
  }
  uint64_t on_host(uint64_t device_ns) const { return device_ns + offset_ns_; }

 private:
  uint64_t last_used_ns_ = 0;
  uint64_t offset_ns_ = 0;  // modulo 2^64
};

}  // namespace tenon::backends::gpu
