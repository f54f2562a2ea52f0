#include "tenon/data/fork_gate.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "tenon/base/turn.h"

namespace tenon::data {
namespace {

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool forking = false;
};

// Never freed: workers may outlive what is destroyed at the end of the process.
Gate* gate = new Gate;
thread_local bool is_inside = false;

void before_fork() {
  const base::TurnPaused others_run(base::Turns::Wait::thread);  // samples of Python's need its lock to come to an end
  std::unique_lock lock(gate->mutex);
  gate->changed.wait(lock, [] { return !gate->forking; });  // another thread's
  gate->forking = true;
  // A sample may fork itself.
  gate->changed.wait(lock, [] { return gate->inside == (is_inside ? 1 : 0); });
}

void after_fork_in_parent() {
  {
    const std::lock_guard lock(gate->mutex);
    gate->forking = false;
  }
  gate->changed.notify_all();
}

// Threads that wait at the gate are not in the child, so that it begins with another.
void after_fork_in_child() {
  gate = new Gate;
  gate->inside = is_inside ? 1 : 0;
}

}  // namespace

NoForkMeanwhile::NoForkMeanwhile() {
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  static_cast<void>(registered);
  std::unique_lock lock(gate->mutex);
  gate->changed.wait(lock, [] { return !gate->forking; });
  ++gate->inside;
  is_inside = true;
}

NoForkMeanwhile::~NoForkMeanwhile() {
  {
    const std::lock_guard lock(gate->mutex);
    --gate->inside;
    is_inside = false;
  }
  gate->changed.notify_all();
}

}  // namespace tenon::data
