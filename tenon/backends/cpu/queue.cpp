// One lock; whoever runs a batch lets go of it.

#include "tenon/backends/cpu/queue.h"

#include <pthread.h>

#include <algorithm>
#include <new>

#include "tenon/base/error.h"
#include "tenon/base/thread.h"

namespace tenon::backends::cpu {
namespace {

thread_local bool is_working = false;  // inside of a batch

struct Queues {
  std::mutex mutex;
  std::vector<Queue*> all;
};
Queues& queues() {
  static Queues& queues = *new Queues;  // forks may come at any time
  return queues;
}

void watch_forks() {
  pthread_atfork(
      [] {
        queues().mutex.lock();
        for (Queue* queue : queues().all) queue->before_fork();
      },
      [] {
        for (Queue* queue : queues().all) queue->after_fork(false);
        queues().mutex.unlock();
      },
      [] {
        for (Queue* queue : queues().all) queue->after_fork(true);
        queues().mutex.unlock();
      });
}

}  // namespace

Queue::Queue() {
  static const bool watches = (watch_forks(), true);
  static_cast<void>(watches);
  const std::lock_guard lock(queues().mutex);
  queues().all.push_back(this);
}

Queue::~Queue() {
  {
    const std::lock_guard lock(queues().mutex);
    std::erase(queues().all, this);
  }
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::exception_ptr Queue::run(const void* data, void (*work)(const void* data)) {
  is_working = true;
  std::exception_ptr error;
  try {
    work(data);
  } catch (...) {
    error = std::current_exception();
  }
  is_working = false;
  return error;
}

// With the lock held.
template <typename Done>
void Queue::wait_until(std::unique_lock<std::mutex>& lock, Done done) {
  ++callers_waiting_;
  changed_.wait(lock, done);
  --callers_waiting_;
}

// With the lock held. The thread is not woken for work that a caller has done itself: waking it takes longer than a
// small plan.
void Queue::finish(uint64_t serial, std::exception_ptr error) {
  if (error) faults_.set(serial, std::move(error));
  done_.store(serial, std::memory_order_release);
  is_running_ = false;
  if (callers_waiting_ > 0 || !waiting_.empty()) changed_.notify_all();
}

device::Ticket Queue::run_here(std::unique_lock<std::mutex>& lock, const void* data, void (*work)(const void* data)) {
  const uint64_t serial = ++submitted_;
  is_running_ = true;
  const bool skips = faults_.has_failed(serial);
  lock.unlock();
  const std::exception_ptr error = skips ? nullptr : run(data, work);
  lock.lock();
  finish(serial, error);
  return {serial};
}

std::optional<device::Ticket> Queue::try_here(const void* data, void (*work)(const void* data)) {
  std::unique_lock lock(mutex_);
  if (is_running_ || !waiting_.empty()) return std::nullopt;
  return run_here(lock, data, work);
}

device::Ticket Queue::submit(Work work, bool may_run_here) {
  std::unique_lock lock(mutex_);
  if (may_run_here && !is_running_ && waiting_.empty()) return run_here(lock, work.data.get(), work.run);
  // Whoever runs far ahead of the device waits: what is submitted takes memory.
  wait_until(lock, [&] { return waiting_.size() < kMostWaiting; });
  if (!thread_.joinable()) {  // first: without one, nothing is waiting
    auto started = base::try_start_thread([this] { serve(); });
    if (!started) {
      wait_until(lock, [&] { return !is_running_; });
      return run_here(lock, work.data.get(), work.run);
    }
    thread_ = std::move(*started);
  }
  const uint64_t serial = ++submitted_;
  waiting_.push_back({serial, std::move(work)});
  changed_.notify_all();
  return {serial};
}

void Queue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return (!waiting_.empty() && !is_running_) || (stops_ && waiting_.empty()); });
    if (waiting_.empty()) return;
    const Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    is_running_ = true;
    const bool skips = faults_.has_failed(batch.serial);
    lock.unlock();
    const std::exception_ptr error = skips ? nullptr : run(batch.work.data.get(), batch.work.run);
    lock.lock();
    finish(batch.serial, error);
  }
}

void Queue::wait(device::Ticket ticket) {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return done_ >= ticket.serial; });
  faults_.raise(ticket.serial, submitted_);
}

bool Queue::wait_at_most(device::Ticket ticket, std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  ++callers_waiting_;
  const bool is_done = changed_.wait_for(lock, time, [&] { return done_ >= ticket.serial; });
  --callers_waiting_;
  return is_done;
}

bool Queue::is_known_to_fail(device::Ticket ticket) {
  std::lock_guard lock(mutex_);
  return faults_.is_known_to_fail(ticket.serial);
}
bool Queue::has_failed(device::Ticket ticket) {
  std::lock_guard lock(mutex_);
  return faults_.has_failed(ticket.serial);
}

void Queue::wait_until_idle() {
  if (is_working) return;  // exit was called in the midst of a batch, which would wait for itself
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return done_ == submitted_; });
}

// The lock is kept until the fork is done, so that it is in a known state on either side.
void Queue::before_fork() {
  if (is_working) return;
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return done_ == submitted_; });
  lock.release();
  is_held_for_fork_ = true;
}

void Queue::after_fork(bool is_child) {
  if (!is_held_for_fork_) return;
  is_held_for_fork_ = false;
  if (!is_child) {
    mutex_.unlock();
    return;
  }
  // What waited on these is not there any more; a fresh thread is started for the next batch that needs one.
  new (&mutex_) std::mutex;
  new (&changed_) std::condition_variable;
  new (&thread_) std::thread;
  callers_waiting_ = 0;
}

}  // namespace tenon::backends::cpu
