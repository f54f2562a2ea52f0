// The end of the process, as drivers see it.
//
// From the end of main on nobody may call a driver: PoCL and others have taken themselves apart by then. So what still
// runs is waited for before, and what is still held then is left to the system.

#pragma once

#include <functional>

namespace tenon::backends::gpu {

/// Calls `wait` when the process ends, before anything is taken apart that was there by now.
void wait_at_exit(const void* who, std::function<void()> wait);
/// Moves that before what was arranged for the end since.
void wait_first_at_exit();
void do_not_wait_at_exit(const void* who);

/// Whether nobody may call a driver any more: the process is ending, or it was forked from the one that opened it.
bool process_is_ending();
bool process_was_forked();

}  // namespace tenon::backends::gpu
