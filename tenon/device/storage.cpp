// Owned buffers and their totals.

#include "tenon/device/storage.h"

#include <atomic>
#include <mutex>

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

}  // namespace

Storage::Storage(Device& device, size_t bytes)
    : device_(device), buffer_(device.pool().take(bytes)), id_(next_id()), version_(next_version()) {
  buffer_.bytes = bytes;  // what was asked for: the pool may have given a little more
  of_all_devices().add(bytes);
  device.memory().add(bytes);
}

Storage::Storage(Device& device, const Buffer& adopted, std::shared_ptr<const void> owner)
    : device_(device), buffer_(adopted), owner_(std::move(owner)), id_(next_id()), version_(next_version()) {}

std::shared_ptr<Storage> Storage::give_address_away() {
  auto taken = std::make_shared<Storage>(device_, buffer_.bytes);
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

// Several threads may wait for the same value; who is done first clears the ticket, unless it is a newer one by now.
void Storage::wait() {
  const std::atomic_ref<uint64_t> serial(ready_.serial);
  uint64_t seen = serial.load(std::memory_order_acquire);
  if (seen == 0) return;
  const bool is_old_news = overwrites_ && device_.is_known_to_fail({seen});
  try {
    device_.wait({seen});
  } catch (const Lost&) {  // what lay here before is gone too
    throw;
  } catch (...) {
    if (!overwrites_) throw;
    if (beneath_.serial != 0 && device_.is_known_to_fail(beneath_)) throw;  // there is no old value either
    serial.compare_exchange_strong(seen, 0);
    if (!is_old_news) throw;
    return;
  }
  serial.compare_exchange_strong(seen, 0);
}

void Storage::require_computed() const {
  const Ticket first = overwrites_ ? beneath_ : ready_;
  if (first.serial != 0 && device_.is_known_to_fail(first)) device_.wait(first);
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
  buffer_.bytes = size_class(buffer_.bytes);
  device_.pool().give_back(buffer_);
}

MemoryStats memory_stats() { return of_all_devices().stats(); }
MemoryStats memory_stats(Device& device) { return device.memory().stats(); }

void reset_peak() {
  of_all_devices().reset_peak();
  for (Device* device : opened()) device->memory().reset_peak();
}

}  // namespace tenon::device
