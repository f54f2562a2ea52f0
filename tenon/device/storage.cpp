// Owned buffers and their totals.

#include "tenon/device/storage.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "tenon/base/interrupt.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"

namespace tenon::device {
namespace {

MemoryCounter& of_all_devices() {
  static MemoryCounter counter;
  return counter;
}

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// Several threads may record over the same weights.
std::mutex& seats_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Several threads may find out that a step has failed. Taking one value back may take back the one before it.
std::recursive_mutex& before_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Values are what is held beside all others: most storages come and go without being counted once more.
void hold(Device& device, Holder holder, size_t bytes) {
  if (holder != Holder::values) device.memory().hold(holder, bytes);
}
void drop(Device& device, Holder holder, size_t bytes) {
  if (holder != Holder::values) device.memory().drop(holder, bytes);
}

void show_memory(Device& device) {
  if (wanted()) add(sample_memory(device));
}

}  // namespace

MemorySample sample_memory(Device& device) {
  MemorySample sample{device.name(), now_ns(), device.memory().held(), device.pool().cached_bytes()};
  const uint64_t named = std::accumulate(sample.held.begin(), sample.held.end(), uint64_t{0});
  const uint64_t in_all = device.memory().stats().live_bytes;
  sample.held[static_cast<size_t>(Holder::values)] = std::max(in_all, named) - named;
  return sample;
}

Storage::Storage(Device& device, size_t bytes, Holder holder)
    : device_(device), buffer_(device.pool().take(bytes)), holder_(holder), id_(next_id()), version_(next_version()) {
  buffer_.bytes = bytes;  // what was asked for: the pool may have given a little more
  of_all_devices().add(bytes);
  device.memory().add(bytes);
  hold(device, holder, bytes);
  show_memory(device);
}

Storage::Storage(Device& device, const Buffer& adopted, std::shared_ptr<const void> owner)
    : device_(device), buffer_(adopted), owner_(std::move(owner)), id_(next_id()), version_(next_version()) {}

void Storage::hold_as(Holder holder) {
  const Holder before = holder_.exchange(holder);
  if (owner_ || before == holder) return;
  drop(device_, before, buffer_.bytes);
  hold(device_, holder, buffer_.bytes);
  show_memory(device_);
}

std::shared_ptr<Storage> Storage::give_address_away() {
  auto taken = std::make_shared<Storage>(device_, buffer_.bytes);
  taken->holder_ = holder_.exchange(taken->holder_);
  std::swap(buffer_, taken->buffer_);
  std::swap(owner_, taken->owner_);
  taken->version_ = version_;  // what is recorded writes the same name there again
  std::lock_guard lock(seats_mutex());
  if (const auto seat = seat_.lock()) {
    seat->move_to(taken);
    taken->seat_ = seat;
    seat_.reset();
  }
  return taken;
}

Pin::Pin(const StorageRef& memory) {
  if (!memory) return;
  std::lock_guard lock(seats_mutex());
  seat_ = memory->seat_.lock();
  if (seat_) return;
  seat_ = std::make_shared<Seat>(memory);
  memory->seat_ = seat_;
}

void Storage::set_ready(Ticket ticket, bool overwrites) {
  std::lock_guard lock(before_mutex());
  beneath_ = !overwrites ? Ticket{} : overwrites_ ? beneath_ : ready_;
  ready_ = ticket;
  overwrites_ = overwrites;
  before_.reset();
}

// A loop that reads nothing for long keeps few old values.
void Storage::keep_before(std::shared_ptr<Storage> before) {
  if (before.get() == this || before->bytes() != bytes()) return;
  std::lock_guard lock(before_mutex());
  constexpr size_t kMost = 4;
  before->forget_before(kMost);
  before_ = std::move(before);
}

// Those of values that are there, and what lies deeper than this.
void Storage::forget_before(size_t depth) {
  Storage* at = this;
  for (; at->before_; at = at->before_.get()) {
    const bool is_there = at->ready_.serial == 0 || (device_.is_done(at->ready_) && !device_.has_failed(at->ready_));
    if (is_there || --depth == 0) return at->before_.reset();
  }
}

// The old value becomes the value: what was written here never counted.
void Storage::take_back() {
  const std::shared_ptr<Storage> old = std::exchange(before_, nullptr);
  old->require_computed();
  const Command copy = Copy{{old->buffer_, 0, bytes()}, {buffer_, 0, bytes()}, false};
  set_ready(device_.send({&copy, 1}, false), false);
}

bool Storage::is_there() {
  const uint64_t seen = std::atomic_ref<uint64_t>(ready_.serial).load(std::memory_order_acquire);
  return seen == 0 || device_.is_done({seen});
}

// Several threads may wait for the same value; who is done first clears the ticket, unless it is a newer one by now.
void Storage::wait() {
  const std::atomic_ref<uint64_t> serial(ready_.serial);
  uint64_t seen = serial.load(std::memory_order_acquire);
  if (seen == 0) return;
  const bool is_old_news = device_.is_known_to_fail({seen});
  while (!device_.wait_at_most({seen}, base::kInterruptEvery)) base::check_interrupt();  // which may throw
  try {
    device_.wait({seen});
  } catch (const Lost&) {  // what lay here before is gone too
    throw;
  } catch (...) {
    {
      std::lock_guard lock(before_mutex());
      if (serial.load() == seen) {
        if (before_)
          take_back();
        else if (!overwrites_ || (beneath_.serial != 0 && device_.is_known_to_fail(beneath_)))
          throw;  // there is no old value
        else
          serial = 0;
      }
    }
    if (!is_old_news) throw;
    return wait();
  }
  serial.compare_exchange_strong(seen, 0);
  std::lock_guard lock(before_mutex());
  if (ready_.serial == 0) before_.reset();
}

void Storage::require_computed() {
  std::lock_guard lock(before_mutex());
  const Ticket first = overwrites_ ? beneath_ : ready_;
  if (first.serial == 0 || !device_.is_known_to_fail(first)) return;
  if (before_) return take_back();
  device_.wait(first);
}

uint64_t next_version() {
  constexpr uint64_t kOutsideOfRuns = uint64_t{1} << 63;
  static std::atomic<uint64_t> last{0};
  return kOutsideOfRuns | ++last;
}

Storage::~Storage() {
  if (owner_) {
    device_.let_go(buffer_);
    return;
  }
  of_all_devices().remove(buffer_.bytes);
  device_.memory().remove(buffer_.bytes);
  drop(device_, holder_, buffer_.bytes);
  buffer_.bytes = device_.pool().bytes_taken(buffer_.bytes);
  device_.pool().give_back(buffer_);
  show_memory(device_);
}

MemoryStats memory_stats() { return of_all_devices().stats(); }
MemoryStats memory_stats(Device& device) { return device.memory().stats(); }

void reset_peak() {
  of_all_devices().reset_peak();
  for (Device* device : opened()) device->memory().reset_peak();
}

}  // namespace tenon::device
