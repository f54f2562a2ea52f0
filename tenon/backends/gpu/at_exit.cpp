// Handlers run in reverse order, so the one that was registered last does the work and the others find it done.

#include "tenon/backends/gpu/at_exit.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace tenon::backends::gpu {
namespace {

struct Waits {
  std::mutex mutex;
  std::map<const void*, std::function<void()>> all;
  std::atomic<bool> is_ending{false};
};

Waits& waits() {
  static Waits& all = *new Waits;
  return all;
}

}  // namespace

void wait_at_exit(const void* who, std::function<void()> wait) {
  {
    std::lock_guard lock(waits().mutex);
    waits().all[who] = std::move(wait);
  }
  wait_first_at_exit();
}

void wait_first_at_exit() {
  std::atexit([] {
    if (process_is_ending()) return;
    std::lock_guard lock(waits().mutex);
    for (const auto& [who, wait] : waits().all) wait();
    waits().is_ending.store(true, std::memory_order_release);
  });
}

void do_not_wait_at_exit(const void* who) {
  std::lock_guard lock(waits().mutex);
  waits().all.erase(who);
}

bool process_is_ending() { return waits().is_ending.load(std::memory_order_acquire); }

}  // namespace tenon::backends::gpu
