// Batches of work in order, on a thread of their own or, when that is not worth it, on the thread that brings them.
//
// A thread hop costs 5 to 20 µs, so a small batch, or one that its owner waits for anyway, runs where it is submitted
// if nothing is under way. A fault stops its batch and everything submitted until somebody has been told.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tenon/device/device.h"
#include "tenon/device/faults.h"

namespace tenon::backends::cpu {

class Queue {
 public:
  /// A function and what it works on; not std::function, which would allocate for a counted pointer.
  struct Work {
    std::shared_ptr<const void> data;
    void (*run)(const void* data) = nullptr;
  };

  Queue();
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Runs `work` right here if `may_run_here` and nothing is under way; else after everything submitted before. Where
  /// no thread can be started, it waits for what runs and then runs it here.
  device::Ticket submit(Work work, bool may_run_here);
  /// Runs it right here if nothing is under way; nothing otherwise.
  std::optional<device::Ticket> try_here(const void* data, void (*run)(const void* data));
  bool is_done(device::Ticket ticket) const { return done_.load(std::memory_order_acquire) >= ticket.serial; }
  void wait(device::Ticket ticket);
  bool wait_at_most(device::Ticket ticket, std::chrono::milliseconds time);
  bool is_known_to_fail(device::Ticket ticket);
  bool has_failed(device::Ticket ticket);
  void wait_until_idle();

  /// Around a fork: the child has no thread but the one that forked, so that what is under way is finished first.
  void before_fork();
  void after_fork(bool is_child);

 private:
  static constexpr size_t kMostWaiting = 256;
  struct Batch {
    uint64_t serial;
    Work work;
  };

  void serve();
  template <typename Done>
  void wait_until(std::unique_lock<std::mutex>& lock, Done done);
  static std::exception_ptr run(const void* data, void (*work)(const void* data));
  device::Ticket run_here(std::unique_lock<std::mutex>& lock, const void* data, void (*work)(const void* data));
  void finish(uint64_t serial, std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable changed_;
  int callers_waiting_ = 0;  // not the thread, which waits for work
  bool is_held_for_fork_ = false;
  std::deque<Batch> waiting_;
  device::Faults faults_;
  bool is_running_ = false, stops_ = false;
  uint64_t submitted_ = 0;
  std::atomic<uint64_t> done_{0};
  std::thread thread_;
};

}  // namespace tenon::backends::cpu
