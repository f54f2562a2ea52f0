// Whose turn it is: threads of Python's use tensors one at a time, whatever they do to them.
//
// Python's lock sees to that where a call keeps it. A call that computes lets go of that lock, so that other threads
// run, and takes the turn with it: calls of other threads that touch tensors wait until it is given back, without
// Python's lock. Whoever calls a function of the user's, or waits for a device, gives the turn away meanwhile.
//
// The rules behind it: the turn is taken with Python's lock held, so that nobody takes it while another call works
// under that lock; nobody waits for the turn, or for a lock under which turns are given away, while he keeps Python's
// lock. Those who wait are served in the order in which they came.

#pragma once

#include <atomic>

namespace tenon::python::turn {

extern std::atomic<bool> is_taken;

/// Returns when nobody has the turn, with Python's lock, which is held. Throws KeyboardInterrupt and the like.
void wait_until_free();
inline void await() {
  if (is_taken.load(std::memory_order_acquire)) wait_until_free();
}
/// The same without exceptions, for destructors.
void await_quietly() noexcept;

/// With Python's lock held. take() may throw what wait_until_free() does.
void take();
void take_quietly() noexcept;
/// With or without it.
void give() noexcept;
/// Whether this thread has it.
bool is_mine();

/// While it lives, this thread gives the turn away when it waits for a device: nothing of what it does is half done.
class GivenWhileWaiting {
 public:
  GivenWhileWaiting();
  ~GivenWhileWaiting();
  GivenWhileWaiting(const GivenWhileWaiting&) = delete;
  GivenWhileWaiting& operator=(const GivenWhileWaiting&) = delete;
};

/// Tells the library.
void install();

}  // namespace tenon::python::turn
