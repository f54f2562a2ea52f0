// The queue of one device: commands in order, a ticket for each batch, and what became of it.
//
// What is enqueued waits here until it is submitted, because a fault that becomes known in between must not touch it:
// the fault words are cleared on the queue behind everything that was submitted while nobody knew. A batch with a
// kernel that may fault ends with a read of these words into memory of the host; whoever waits for it finds them there.

#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tenon/backends/opencl/compiler.h"
#include "tenon/backends/opencl/pinned.h"
#include "tenon/device/batch.h"
#include "tenon/device/faults.h"

namespace tenon::backends::opencl {

/// Thrown when the device was found to be gone.
struct Gone {
  std::string why;
};

/// A command whose kernel, if it is a launch, has its arguments already.
struct Prepared {
  const Step* step = nullptr;
  cl_kernel kernel = nullptr;
  const Compiled* program = nullptr;
  device::Command other;  // without a step
};

class Queue {
 public:
  Queue(const Found& on, cl_context context);
  Queue(const Queue&) = delete;
  ~Queue();

  void enqueue(std::span<const device::Command> commands);
  /// Starts what was enqueued, then these, then those that were prepared.
  device::Ticket submit(std::span<const device::Command> commands = {}, std::span<const Prepared> prepared = {});
  bool is_done(device::Ticket ticket) const { return known_.load(std::memory_order_acquire) >= ticket.serial; }
  void wait(device::Ticket ticket);
  bool is_known_to_fail(device::Ticket ticket);
  bool has_failed(device::Ticket ticket);
  void wait_until_idle();
  /// What still runs when the process ends is waited for, before anything is taken apart that was there by now.
  void finish_before_exit();

  /// Makes sure that memory is really there, which some drivers leave to its first use. Whether it is.
  bool settle(cl_mem memory);
  /// Lets go of memory when nothing needs it any more.
  void release(cl_mem memory);
  cl_mem fault_words() const { return fault_; }

 private:
  struct InFlight {
    uint64_t serial = 0;
    cl_event done = nullptr;
    bool reads_fault = false;
  };
  struct Timed {
    uint64_t serial;
    cl_event event;
    std::string what;
  };

  void run(const device::Launch& c);
  void run(const device::Copy& c);
  void run(const device::Upload& c);
  void run(const device::Download& c);
  void run(const device::Fill& c);
  void run_all(std::span<const device::Command> commands);
  void copy(cl_mem from, size_t from_offset, cl_mem to, size_t to_offset, size_t bytes, bool writes_state);
  void copy_unless_fault(cl_mem from, size_t from_offset, cl_mem to, size_t to_offset, size_t bytes);
  void start(const Step& step, cl_kernel kernel, const std::string& what);
  device::Ticket give_ticket();
  void retire(uint64_t serial);
  void retire_oldest();
  void check(cl_int code, const char* what);
  void settle_first_run(std::atomic<bool>& has_run);

  std::byte* fault_slot(uint64_t serial) const;

  static constexpr size_t kMostInFlight = 64;  // whoever runs far ahead waits: what is submitted takes memory

  const Found& on_;
  cl_context context_;
  cl_command_queue queue_ = nullptr;
  cl_mem fault_ = nullptr;
  cl_program copy_program_ = nullptr;  // made when first needed
  cl_kernel copy_kernel_ = nullptr;
  std::atomic<bool> copy_has_run_{false};
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<Pinned> fault_slots_;

  std::mutex mutex_;
  device::Batch waiting_;  // enqueued, not submitted
  std::deque<InFlight> in_flight_;
  std::vector<Timed> timed_;  // for the profile
  device::Faults faults_;
  uint64_t submitted_ = 0;
  std::atomic<uint64_t> known_{0};
  bool may_fault_ = false;    // something of the batch
  bool has_refused_ = false;  // some command, for want of resources
};

}  // namespace tenon::backends::opencl
