// Turns of threads, for programs whose threads change over at any moment, as Python's do.
//
// A tensor that one thread writes needs a lock around it and everybody else's use; a program in C++ has its own. A
// program that cannot ask that of its users gives each thread a turn, and installs here how a thread lets go of its
// turn while it waits, and how a thread of the library's own gets one. Without such a program all of this is one load.

#pragma once

#include <mutex>

namespace tenon::base {

/// What a program with turns installs. None of them throws.
struct Turns {
  enum class Wait { device, thread };
  /// Before this thread waits: for a device, perhaps in the midst of something, or for another thread, with no lock
  /// held that others wait for in their turn. Gives what resume() takes.
  void* (*pause)(Wait what);
  void (*resume)(void* paused);
  /// A turn for a thread that has none. Whether it had to take one, which give() gives back.
  bool (*take)();
  void (*give)();
};
void set_turns(const Turns* turns);
const Turns* turns();

/// While it lives, others may have their turn; this thread touches nothing that they see.
class TurnPaused {
 public:
  explicit TurnPaused(Turns::Wait what) : turns_(turns()), paused_(turns_ ? turns_->pause(what) : nullptr) {}
  ~TurnPaused() {
    if (turns_) turns_->resume(paused_);
  }
  TurnPaused(const TurnPaused&) = delete;
  TurnPaused& operator=(const TurnPaused&) = delete;

 private:
  const Turns* turns_;
  void* paused_;
};

/// While it lives, tensors that belong to the program stay as they are.
class InTurn {
 public:
  InTurn() : turns_(turns()), took_(turns_ && turns_->take()) {}
  ~InTurn() {
    if (took_) turns_->give();
  }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  const Turns* turns_;
  bool took_;
};

/// A lock that is held while code of the program runs, which needs a turn: nobody waits for it in his own.
template <typename Mutex>
std::unique_lock<Mutex> lock_out_of_turn(Mutex& mutex) {
  std::unique_lock<Mutex> lock(mutex, std::try_to_lock);
  if (!lock) {
    const TurnPaused paused(Turns::Wait::thread);
    lock.lock();
  }
  return lock;
}

}  // namespace tenon::base
