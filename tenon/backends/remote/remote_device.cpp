// One lock around queue and handles; the thread lets go of it while it runs a batch.

#include "tenon/backends/remote/remote_device.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/thread.h"
#include "tenon/device/batch.h"
#include "tenon/device/faults.h"

namespace tenon::backends::remote {
namespace {

using device::Arg;
using device::Buffer;
using device::Command;
using device::Ticket;

constexpr size_t kMostWaiting = 64;
// As f32 a NaN, as an index far outside of everything.
constexpr std::byte kGarbage{0xFF};

class RemoteDevice : public device::Device {
 public:
  RemoteDevice(std::unique_ptr<device::Device> inner, Behaviour behaviour)
      : inner_(std::move(inner)), behaviour_(std::move(behaviour)), random_(behaviour_.seed) {
    thread_ = base::start_thread([this] { serve(); });
    finish_before_exit(this);
  }
  ~RemoteDevice() override {
    all_devices().remove(this);
    {
      std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
    for (const auto& [handle, memory] : memory_) inner_->release(memory);
  }

  const ir::Limits& limits() const override { return inner_->limits(); }
  device::Compiler& compiler() override { return inner_->compiler(); }
  std::optional<size_t> available() const override {
    require_alive();
    return inner_->available();
  }
  std::optional<size_t> memory_in_all() const override { return inner_->memory_in_all(); }

  Buffer allocate(size_t bytes) override {
    require_alive();
    const Buffer memory = inner_->allocate(bytes);
    std::lock_guard lock(mutex_);
    const Buffer made{++last_handle_, bytes, nullptr};
    memory_.emplace(made.handle, memory);
    alive_.emplace(made.handle, bytes);
    fill_with_garbage(made);
    return made;
  }
  void release(const Buffer& buffer) override {
    std::lock_guard lock(mutex_);
    if (alive_.erase(buffer.handle) == 0) base::fail("remote", "buffer {} was released twice", buffer.handle);
    if (!waiting_.empty()) batches_.push_back({++submitted_, std::exchange(waiting_, {})});  // it may need the buffer
    leaving_.push_back({submitted_, buffer.handle});
    changed_.notify_all();
    release_memory();
  }
  void discard(const Buffer& buffer) override {
    std::lock_guard lock(mutex_);
    if (!is_lost()) fill_with_garbage(buffer);
  }

  void enqueue(std::span<const Command> commands) override {
    require_alive();
    std::lock_guard lock(mutex_);
    for (const Command& command : commands) std::visit([&](const auto& c) { check(c); }, command);
    waiting_.add(commands);
  }
  Ticket submit(bool) override {
    std::unique_lock lock(mutex_);
    // Whoever runs far ahead of the device waits: what is submitted takes memory.
    changed_.wait(lock, [&] { return batches_.size() < kMostWaiting || is_lost(); });
    require_alive();
    const uint64_t serial = ++submitted_;
    batches_.push_back({serial, std::exchange(waiting_, {})});
    changed_.notify_all();
    return {serial};
  }
  // What the host knows: what somebody has waited for.
  bool is_done(Ticket ticket) override { return known_.load(std::memory_order_acquire) >= ticket.serial; }
  void wait(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    wanted_ = std::max(wanted_, ticket.serial);
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= ticket.serial || (is_lost() && !is_running_); });
    require_alive();
    known_.store(std::max(known_.load(), ticket.serial), std::memory_order_release);
    faults_.raise(ticket.serial, submitted_);
  }

  bool is_known_to_fail(Ticket ticket) override {
    std::lock_guard lock(mutex_);
    return faults_.is_known_to_fail(ticket.serial);
  }
  bool has_failed(Ticket ticket) override {
    std::lock_guard lock(mutex_);
    return faults_.has_failed(ticket.serial);
  }

  void lose_now(const std::string& why) {
    std::lock_guard lock(mutex_);
    set_lost(behaviour_.name, why);
    batches_.clear();
    waiting_ = {};
    changed_.notify_all();
  }

 private:
  struct Submitted {
    uint64_t serial;
    device::Batch batch;
  };
  struct Leaving {
    uint64_t serial;  // the last batch that may use it
    uint64_t handle;
  };
  struct AllDevices {
    std::mutex mutex;
    std::vector<RemoteDevice*> list;
    void remove(RemoteDevice* device) {
      std::lock_guard lock(mutex);
      std::erase(list, device);
    }
  };

  static AllDevices& all_devices() {
    static AllDevices& all = *new AllDevices;
    return all;
  }
  // Devices live until the process ends; what they still run must not outlive what it runs on.
  static void finish_before_exit(RemoteDevice* device) {
    static const int registered = std::atexit([] {
      std::lock_guard lock(all_devices().mutex);
      for (RemoteDevice* each : all_devices().list) each->wait_until_idle();
    });
    static_cast<void>(registered);
    std::lock_guard lock(all_devices().mutex);
    all_devices().list.push_back(device);
  }
  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    wanted_ = submitted_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_running_ && (batches_.empty() || is_lost()); });
  }

  // ---- what is enqueued ----

  // With the lock held.
  void fill_with_garbage(const Buffer& buffer) {
    const Command fill = device::Fill{{buffer, 0, buffer.bytes}, kGarbage};
    waiting_.add({&fill, 1});
  }

  void check(const Arg& arg, size_t bytes) const {
    const auto found = alive_.find(arg.buffer.handle);
    if (found == alive_.end()) base::fail("remote", "buffer {} is not alive", arg.buffer.handle);
    if (bytes > arg.bytes || arg.offset > found->second || arg.bytes > found->second - arg.offset) {
      base::fail("remote", "bytes {}..{} lie outside of buffer {} of {} bytes", arg.offset,
                 arg.offset + std::max(bytes, arg.bytes), arg.buffer.handle, found->second);
    }
  }
  void check(const device::Launch& c) const {
    for (const Arg& arg : c.args) check(arg, arg.bytes);
  }
  void check(const device::Copy& c) const {
    check(c.from, c.to.bytes);
    check(c.to, c.to.bytes);
  }
  void check(const device::Upload& c) const { check(c.to, c.from.size()); }
  void check(const device::Download& c) const { check(c.from, c.to.size()); }
  void check(const device::Fill& c) const { check(c.to, c.to.bytes); }

  // ---- the device's thread ----

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !batches_.empty() || stops_; });
      if (batches_.empty()) return;
      std::uniform_int_distribution<int64_t> delay(0, behaviour_.latest.count());
      changed_.wait_for(lock, std::chrono::microseconds(delay(random_)), [&] {
        return stops_ || batches_.empty() || wanted_ >= batches_.front().serial || batches_.size() >= kMostWaiting;
      });
      if (batches_.empty()) continue;  // the device was lost meanwhile
      const Submitted now = std::move(batches_.front());
      batches_.pop_front();
      is_running_ = true;
      bool has_failed = faults_.has_failed(now.serial);
      lock.unlock();
      if (behaviour_.before) behaviour_.before();
      std::exception_ptr fault;
      for (const Command& command : now.batch.commands()) {
        if (has_failed && writes_state(command)) continue;
        try {
          run_inside(std::visit([&](const auto& c) -> Command { return inside(c); }, command));
        } catch (...) {  // goes on as if the kernel had stopped there
          if (!has_failed) fault = std::current_exception();
          has_failed = true;
        }
      }
      lock.lock();
      if (fault) faults_.set(now.serial, fault);
      is_running_ = false;
      done_ = now.serial;
      release_memory();
      changed_.notify_all();
    }
  }

  static bool writes_state(const Command& command) {
    if (const auto* launch = std::get_if<device::Launch>(&command)) return launch->writes_state;
    if (const auto* copy = std::get_if<device::Copy>(&command)) return copy->writes_state;
    return false;
  }

  // The same in the memory of the inner device.
  Arg inside(const Arg& arg) {
    std::lock_guard lock(mutex_);
    return {memory_.at(arg.buffer.handle), arg.offset, arg.bytes};
  }
  Command inside(const device::Launch& c) {
    device::Launch launch{c.program, {}, c.inputs, c.writes_state, c.numbers, c.label};
    for (const Arg& arg : c.args) launch.args.push_back(inside(arg));
    return launch;
  }
  Command inside(const device::Copy& c) { return device::Copy{inside(c.from), inside(c.to), c.writes_state}; }
  Command inside(const device::Upload& c) { return device::Upload{c.from, inside(c.to)}; }
  Command inside(const device::Download& c) { return device::Download{inside(c.from), c.to}; }
  Command inside(const device::Fill& c) { return device::Fill{inside(c.to), c.value}; }

  void run_inside(const Command& command) { inner_->wait(inner_->send({&command, 1}, true)); }

  // With the lock held: memory that nothing can reach any more.
  void release_memory() {
    while (!leaving_.empty() && (leaving_.front().serial <= done_ || is_lost()) && !is_running_) {
      const auto found = memory_.find(leaving_.front().handle);
      inner_->release(found->second);
      memory_.erase(found);
      leaving_.pop_front();
    }
  }

  std::unique_ptr<device::Device> inner_;
  Behaviour behaviour_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<uint64_t, Buffer> memory_;  // of the inner device, by handle
  std::unordered_map<uint64_t, size_t> alive_;   // handles that commands may name, with their bytes
  std::deque<Leaving> leaving_;
  uint64_t last_handle_ = 0;
  device::Batch waiting_;  // enqueued, not submitted
  std::deque<Submitted> batches_;
  device::Faults faults_;
  uint64_t submitted_ = 0, done_ = 0, wanted_ = 0;
  std::atomic<uint64_t> known_{0};
  bool is_running_ = false, stops_ = false;
  std::mt19937_64 random_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<device::Device> open(std::unique_ptr<device::Device> inner, const Behaviour& behaviour) {
  return std::make_unique<RemoteDevice>(std::move(inner), behaviour);
}

void lose(device::Device& remote, const std::string& why) { dynamic_cast<RemoteDevice&>(remote).lose_now(why); }

}  // namespace tenon::backends::remote
