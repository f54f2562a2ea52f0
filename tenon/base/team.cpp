// Each helper has a state of its own on a cache line of its own, which it watches: calling fifteen of them is fifteen
// stores. Whoever was called and has not begun can be called off by the same word.

#include "tenon/base/team.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "tenon/base/thread.h"

namespace tenon::base {
namespace {

thread_local bool works_in_a_team = false;

enum State : uint32_t { kFree, kCalled, kBusy, kDismissed };
using Watched = std::atomic<uint32_t>;

// Of all teams: with more of them than cores, who waits awake takes the time of those that work.
std::atomic<unsigned> helpers_in_all = 0;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Awake for as long as the next launch of a step may take to come, then asleep.
void wait_while(const Watched& state, uint32_t is) {
  using namespace std::chrono_literals;
  static const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto most_awake = helpers_in_all.load(std::memory_order_relaxed) < cores ? 1ms : 5us;
  const auto until = std::chrono::steady_clock::now() + most_awake;
  do {
    for (int i = 0; i < 64; ++i) {
      if (state.load(std::memory_order_acquire) != is) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
  state.wait(is, std::memory_order_acquire);
}

}  // namespace

struct alignas(64) Team::Helper {
  Watched state = kFree;
  std::thread thread;
};

Team::Team() = default;

Team::~Team() {
  for (const auto& helper : helpers_) {
    helper->state = kDismissed;
    helper->state.notify_one();
  }
  for (const auto& helper : helpers_) helper->thread.join();
  helpers_in_all -= static_cast<unsigned>(helpers_.size());
}

bool Team::is_at_work() { return works_in_a_team; }

int Team::gather(int workers) {
  const auto missing = [&] { return static_cast<int>(helpers_.size()) + 1 < workers; };
  if (!missing()) return workers;
  // A limit that was reached may be so for a moment only; looking costs as much as a small piece of work.
  const auto now = std::chrono::steady_clock::now();
  if (now < tries_again_) return static_cast<int>(helpers_.size()) + 1;
  helpers_.reserve(static_cast<size_t>(workers) - 1);
  while (missing()) {
    auto helper = std::make_unique<Helper>();
    auto thread = try_start_thread(
        [this, &started = *helper, number = static_cast<int>(helpers_.size()) + 1] { serve(started, number); });
    if (!thread) {
      tries_again_ = now + std::chrono::seconds(1);
      break;
    }
    helper->thread = std::move(*thread);
    helpers_.push_back(std::move(helper));
    ++helpers_in_all;
  }
  return static_cast<int>(helpers_.size()) + 1;
}

void Team::serve(Helper& helper, int number) {
  works_in_a_team = true;
  while (true) {
    wait_while(helper.state, kFree);
    uint32_t state = kCalled;
    if (helper.state.compare_exchange_strong(state, kBusy)) {
      (*work_)(number);
      helper.state = kFree;
      helper.state.notify_one();
    } else if (state == kDismissed) {
      return;
    }
  }
}

void Team::run(int workers, const std::function<void(int)>& work) {
  const auto called = static_cast<size_t>(workers) - 1;
  work_ = &work;
  for (size_t i = 0; i < called; ++i) {
    helpers_[i]->state = kCalled;
    helpers_[i]->state.notify_one();
  }
  works_in_a_team = true;
  work(0);
  works_in_a_team = false;
  for (size_t i = 0; i < called; ++i) {
    uint32_t state = kCalled;
    if (!helpers_[i]->state.compare_exchange_strong(state, kFree)) wait_while(helpers_[i]->state, kBusy);
  }
}

}  // namespace tenon::base
