// A way out of long waits: a program that has its own idea of Ctrl-C, as Python does, is asked now and then.

#pragma once

#include <chrono>

namespace tenon::base {

/// Called about every kInterruptEvery by threads that wait for a device, with no lock held; what it throws ends the
/// wait. The work that was waited for goes on. Null, as at the start: nobody is asked.
void set_interrupt_check(void (*check)());
void check_interrupt();

inline constexpr std::chrono::milliseconds kInterruptEvery{50};

}  // namespace tenon::base
