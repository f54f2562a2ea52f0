// A lock of one byte for what takes a few instructions, such as copying a counted reference.

#pragma once

#include <atomic>
#include <thread>

namespace tenon::base {

/// Works with std::lock_guard. A copy is a lock of its own, which nobody holds: what is guarded may be copied.
class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) {}
  SpinLock& operator=(const SpinLock&) { return *this; }

  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace tenon::base
