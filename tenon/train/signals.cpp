// A SIGHUP is a first wish and never a second one: a shell and the system may both send it when a terminal closes. Nor
// is what comes within a moment of the first: `timeout` and job managers signal a process and then its group.

#include "tenon/train/signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "tenon/base/error.h"

namespace tenon::train {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int kInterrupted = 130;  // what shells call a program that Ctrl-C ended
constexpr int64_t kMoment = 250;   // ms; signals closer to the first one are part of it

std::atomic<int> first_signal{0};
std::atomic<int64_t> first_time{0};  // ms
std::atomic<bool> is_alive{false}, has_checkpoint{false};
std::array<struct sigaction, kSignals.size()> before;

static_assert(std::atomic<int64_t>::is_always_lock_free, "a handler may not wait");

int64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void handle(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    first_time = milliseconds();
    return;
  }
  // Another thread may handle the second signal before the first one's time is noted.
  if (number == SIGHUP || first_time == 0 || milliseconds() - first_time < kMoment) return;
  static constexpr std::string_view kSaved = "\nstopped at once; the last checkpoint stands\n",
                                    kNothing = "\nstopped at once; there was no checkpoint yet\n";
  const std::string_view text = has_checkpoint ? kSaved : kNothing;
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  _exit(kInterrupted);
}

}  // namespace

StopRequest::StopRequest() {
  if (is_alive.exchange(true)) base::fail("stop_request", "another one is alive; a program needs one");
  first_signal = 0;
  first_time = 0;
  has_checkpoint = false;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;  // reading data must not fail because someone wants to stop
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

StopRequest::~StopRequest() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
  is_alive = false;
}

int StopRequest::signal() const { return first_signal; }

PipesMayClose::PipesMayClose() {
  struct sigaction now {};
  sigaction(SIGPIPE, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  ::signal(SIGPIPE, SIG_IGN);
  is_ours_ = true;
}

PipesMayClose::~PipesMayClose() {
  if (is_ours_) ::signal(SIGPIPE, SIG_DFL);
}

void tell_of_checkpoint() { has_checkpoint = true; }

}  // namespace tenon::train
