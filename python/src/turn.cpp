// A line of waiting threads; the first of them is told when the turn is free.

#include "turn.h"

#include <cxxabi.h>
#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>

#include "convert.h"

namespace tenon::python::turn {

std::atomic<bool> is_taken{false};

namespace {

thread_local bool has_turn = false;
thread_local bool gives_while_waiting = false;

struct Waiting {
  std::condition_variable told;
};

// Guarded by the mutex, which is never held for long: with and without Python's lock.
struct Line {
  std::mutex mutex;
  std::deque<Waiting*> threads;
  std::atomic<size_t> count{0};

  bool is_next(const Waiting& me) const { return threads.front() == &me && !is_taken.load(); }
  void join(Waiting& me) {
    const std::lock_guard lock(mutex);
    threads.push_back(&me);
    ++count;
  }
  void leave(Waiting& me) {
    const std::lock_guard lock(mutex);
    std::erase(threads, &me);
    --count;
    if (!threads.empty()) threads.front()->told.notify_one();
  }
  // Whether it was the turn of this one, who then takes it or only goes on.
  bool go(Waiting& me, bool takes) {
    const std::lock_guard lock(mutex);
    if (!is_next(me)) return false;
    threads.pop_front();
    --count;
    if (takes)
      is_taken.store(true);
    else if (!threads.empty())
      threads.front()->told.notify_one();
    return true;
  }
  void sleep(Waiting& me) {
    std::unique_lock lock(mutex);
    me.told.wait_for(lock, base::kInterruptEvery, [&] { return is_next(me); });
  }
  void wake() {
    const std::lock_guard lock(mutex);
    if (!threads.empty()) threads.front()->told.notify_one();
  }
};
Line& line() {
  static auto* threads = new Line;  // threads may wait as long as the process lives
  return *threads;
}

// A thread that comes back when the interpreter is gone leaves everything to others before it sleeps.
template <typename F>
void with_python(F&& come_back, Waiting* me) {
  try {
    come_back();
  } catch (abi::__forced_unwind&) {
    if (me) line().leave(*me);
    if (has_turn) give();
    sleep_until_the_end();
  }
}

/// False: a signal has raised an exception.
bool wait_in_line(bool takes, bool asks_for_signals) {
  Waiting me;
  line().join(me);
  for (;;) {
    PyThreadState* state = PyEval_SaveThread();
    line().sleep(me);
    with_python([&] { PyEval_RestoreThread(state); }, &me);
    if (line().go(me, takes)) return true;
    if (asks_for_signals && PyErr_CheckSignals() != 0) {
      line().leave(me);
      return false;
    }
  }
}

void take_with(bool asks_for_signals) {
  if (is_taken.load() || line().count.load() > 0) {
    if (!wait_in_line(true, asks_for_signals)) throw py::error_already_set();
  } else {
    is_taken.store(true);
  }
  has_turn = true;
}

}  // namespace

void wait_until_free() {
  if (!has_turn && !wait_in_line(false, true)) throw py::error_already_set();
}
void await_quietly() noexcept {
  if (is_taken.load(std::memory_order_acquire) && !has_turn) wait_in_line(false, false);
}
void take() { take_with(true); }
void take_quietly() noexcept { take_with(false); }
void give() noexcept {
  has_turn = false;
  is_taken.store(false);
  if (line().count.load() > 0) line().wake();
}
bool is_mine() { return has_turn; }

GivenWhileWaiting::GivenWhileWaiting() { gives_while_waiting = true; }
GivenWhileWaiting::~GivenWhileWaiting() { gives_while_waiting = false; }

namespace {

// ---- what the library asks ----

// What pause() has done, for resume().
char gave_turn;  // only its address is used
char took_turn;

bool has_python() { return Py_IsInitialized() && PyGILState_Check(); }

void take_without_python() {
  PyGILState_STATE before{};
  with_python([&] { before = PyGILState_Ensure(); }, nullptr);
  take_quietly();
  PyGILState_Release(before);
}

thread_local PyThreadState* let_go_of = nullptr;  // by pause(), which is not called again before resume()

void* pause(base::Turns::Wait what) {
  const bool is_for_thread = what == base::Turns::Wait::thread;
  if (has_turn) {
    if (!is_for_thread && !gives_while_waiting) return nullptr;
    give();
    return &gave_turn;
  }
  if (!has_python()) return nullptr;
  // Somebody who computes under Python's lock: others may run, but a wait for a device may be in the midst of anything.
  if (!is_for_thread) take_quietly();
  let_go_of = PyEval_SaveThread();
  return &took_turn;
}

void resume(void* paused) {
  if (paused == &gave_turn) {
    take_without_python();
  } else if (paused == &took_turn) {
    PyThreadState* state = std::exchange(let_go_of, nullptr);
    with_python([&] { PyEval_RestoreThread(state); }, nullptr);
    if (has_turn)
      give();
    else
      await_quietly();
  }
}

bool take_for_library() {
  if (has_turn || has_python() || !Py_IsInitialized()) return false;
  take_without_python();
  return true;
}

void start_anew_in_child() {
  new (&line().mutex) std::mutex;  // threads that are not there any more may have held it
  line().threads.clear();
  line().count = 0;
  is_taken = false;
  has_turn = false;
}

}  // namespace

void install() {
  static const base::Turns turns{pause, resume, take_for_library, give};
  base::set_turns(&turns);
  pthread_atfork(nullptr, nullptr, start_anew_in_child);
  // A child has all that the thread which forks has; what others are in the midst of it would have for ever.
  py::module_::import("os").attr("register_at_fork")(py::arg("before") = py::cpp_function([] { await(); }));
}

}  // namespace tenon::python::turn
