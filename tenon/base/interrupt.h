// A way out of long waits: a program that has its own idea of Ctrl-C, as Python does, is asked now and then.

#pragma once

#include <chrono>

namespace tenon::base {

/// Called about every kInterruptEvery by threads that wait for a device, with no lock held; what it throws ends the
/// wait. The work that was waited for goes on. Null, as at the start: nobody is asked.
///   base::set_interrupt_check([] {
///     if (std::cin.eof()) throw std::runtime_error("nobody is there any more");
///   });
///   base::set_interrupt_check(nullptr);
void set_interrupt_check(void (*check)());
void check_interrupt();

/// How long a thread waits between two questions.
inline constexpr std::chrono::milliseconds kInterruptEvery{50};

/// For long work of many short steps: asked between them, asks no more often than that.
class InterruptClock {
 public:
  void check() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kInterruptEvery) return;
    check_interrupt();
    last_ = std::chrono::steady_clock::now();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace tenon::base
