// Owned buffers and their totals.

#include "tenon/device/storage.h"

#include <atomic>
#include <mutex>

#include "tenon/device/pool.h"

namespace tenon::device {
namespace {

struct Totals {
  std::atomic<size_t> buffers{0}, bytes{0}, peak{0}, allocations{0};
  std::atomic<uint64_t> next_id{1};
};

Totals& totals() {
  static Totals all;
  return all;
}

// Several threads may record over the same weights.
std::mutex& seats_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Storage::Storage(Device& device, size_t bytes)
    : device_(device), buffer_(device.pool().take(bytes)), id_(totals().next_id++), version_(next_version()) {
  buffer_.bytes = bytes;  // what was asked for: the pool may have given a little more
  Totals& t = totals();
  ++t.buffers;
  ++t.allocations;
  const size_t now = t.bytes += buffer_.bytes;
  size_t peak = t.peak.load();
  while (peak < now && !t.peak.compare_exchange_weak(peak, now)) {
  }
}

Storage::Storage(Device& device, const Buffer& adopted, std::shared_ptr<const void> owner)
    : device_(device), buffer_(adopted), owner_(std::move(owner)), id_(totals().next_id++), version_(next_version()) {}

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
  try {
    device_.wait({seen});
    serial.compare_exchange_strong(seen, 0);
  } catch (...) {
    if (overwrites_) serial.compare_exchange_strong(seen, 0);
    throw;
  }
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
  --totals().buffers;
  totals().bytes -= buffer_.bytes;
  buffer_.bytes = size_class(buffer_.bytes);
  device_.pool().give_back(buffer_);
}

MemoryStats memory_stats() {
  const Totals& t = totals();
  return {t.buffers, t.bytes, t.peak, t.allocations};
}

void reset_peak() { totals().peak = totals().bytes.load(); }

}  // namespace tenon::device
