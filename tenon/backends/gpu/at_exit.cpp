// Handlers run in reverse order, so the one that was registered last does the work and the others find it done.

#include "tenon/backends/gpu/at_exit.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace tenon::backends::gpu {
namespace {

struct Waits {
  std::mutex mutex;
  std::map<const void*, std::function<void()>> all;
  std::atomic<bool> is_ending{false}, was_forked{false};
};

Waits& waits() {
  static Waits& all = *new Waits;
  return all;
}

}  // namespace

void wait_at_exit(const void* who, std::function<void()> wait) {
  // What a driver has of its own, threads and maps of memory, stays with the parent.
  static const bool watches = pthread_atfork(nullptr, nullptr, [] {
                                waits().was_forked.store(true);
                                waits().is_ending.store(true);
                              }) == 0;
  static_cast<void>(watches);
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

bool process_was_forked() { return waits().was_forked.load(std::memory_order_acquire); }
bool process_is_ending() { return waits().is_ending.load(std::memory_order_acquire); }

}  // namespace tenon::backends::gpu
