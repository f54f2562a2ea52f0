// The queue of one device: commands in order, a ticket for each batch, and what became of it.
//
// What is enqueued waits here until it is submitted, because a fault that becomes known in between must not touch it:
// the fault words are cleared on the stream behind everything that was submitted while nobody knew. A batch with a
// kernel that may fault ends with a read of these words into memory of the host; whoever waits for it finds them there.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/backends/gpu/compiler.h"
#include "tenon/backends/gpu/driver.h"
#include "tenon/backends/gpu/staging.h"
#include "tenon/device/about.h"
#include "tenon/device/batch.h"
#include "tenon/device/faults.h"

namespace tenon::backends::gpu {

class Queue {
 public:
  /// `device`: the name of its runs in a profile.
  Queue(std::string_view device, Driver& driver, Compiler& compiler, const ir::Limits& limits);
  Queue(const Queue&) = delete;
  ~Queue();

  void enqueue(std::span<const device::Command> commands);
  /// Starts what was enqueued, then these, then what `last` starts by the functions below.
  device::Ticket submit(std::span<const device::Command> commands = {}, const std::function<void()>& last = nullptr);
  bool is_done(device::Ticket ticket) const { return known_.load(std::memory_order_acquire) >= ticket.serial; }
  void wait(device::Ticket ticket);
  bool is_known_to_fail(device::Ticket ticket);
  bool has_failed(device::Ticket ticket);
  void wait_until_idle();
  /// Lets go of memory when nothing needs it any more.
  void release(uint64_t handle);
  uint64_t fault_words() const { return fault_; }

  // While it submits, with the lock held.
  void run(std::span<const device::Command> commands);
  /// Starts something, and times it while somebody listens; `span` is then asked what it is.
  template <typename Start, typename SpanOf>
  void timed(const Start& start, const SpanOf& span) {
    const EventRef run = device::wanted() ? driver_.begin_run() : nullptr;
    start();
    if (!run) return;
    driver_.end_run(*run);
    timed_.push_back({submitted_ + 1, run, span()});
  }
  std::string_view device() const { return device_; }
  /// Something was started that may find a fault.
  void note_may_fault() { may_fault_ = true; }

 private:
  struct InFlight {
    uint64_t serial = 0;
    EventRef done;
    bool reads_fault = false;
  };
  struct Timed {
    uint64_t serial;
    EventRef run;
    device::Span span;
  };

  template <typename What>
  void run_timed(const What& c);
  void run_one(const device::Launch& c);
  void run_steps(const device::Launch& c, const Program& program);
  bool is_odd(const device::Launch& c, const Program& program, size_t i) const;
  void run_beside(const device::Launch& c, const Program& program);
  uint64_t take_temporary(size_t bytes);
  void run_one(const device::Copy& c);
  void run_one(const device::Upload& c);
  size_t run_small_uploads(std::span<const device::Command> commands);
  void run_one(const device::Download& c);
  void run_one(const device::Fill& c);
  void copy(const Place& from, const Place& to, size_t bytes, bool writes_state);
  void copy_unless_fault(const Place& from, const Place& to, size_t bytes);
  device::Ticket give_ticket();
  void finish();
  void retire(uint64_t serial);
  void retire_oldest();
  std::byte* fault_slot(uint64_t serial) const;

  static constexpr size_t kMostInFlight = 64;  // whoever runs far ahead waits: what is submitted takes memory

  const std::string_view device_;  // its name, which lives for good
  Driver& driver_;
  Compiler& compiler_;
  const ir::Limits limits_;
  uint64_t fault_ = 0;
  Staging staging_;
  std::shared_ptr<std::byte> fault_slots_;
  std::map<uint32_t, Step> copies_;  // by unit, made when first needed

  std::mutex mutex_;
  device::Batch waiting_;  // enqueued, not submitted
  std::deque<InFlight> in_flight_;
  std::vector<Timed> timed_;  // for a profile
  device::Faults faults_;
  uint64_t submitted_ = 0;
  std::atomic<uint64_t> known_{0};
  bool may_fault_ = false;  // something of the batch
};

}  // namespace tenon::backends::gpu
