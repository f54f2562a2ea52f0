// Device memory with an owner: what an evaluated value points at.

#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "tenon/device/device.h"
#include "tenon/ir/data.h"

namespace tenon::device {

class Storage : public ir::Data {
 public:
  Storage(Device& device, size_t bytes, Holder holder = Holder::values);
  /// Over memory that the device has adopted and `owner` keeps; it never enters the pool and no total counts it.
  Storage(Device& device, const Buffer& adopted, std::shared_ptr<const void> owner);
  ~Storage() override;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device& device() const { return device_; }
  const Buffer& buffer() const { return buffer_; }
  size_t bytes() const { return buffer_.bytes; }
  uint64_t id() const { return id_; }  // never reused in a process
  /// Names what lies in it now; a new name each time it is overwritten.
  uint64_t version() const { return version_; }
  void set_version(uint64_t version) { version_ = version; }

  /// Whether a loop has carried what lies in it from one of its steps to the next: see exec::add_unread().
  bool is_carried() const { return is_carried_; }
  void note_carried() { is_carried_ = true; }

  /// What lies in it, as profiles show it.
  Holder holder() const { return holder_; }
  void hold_as(Holder holder);

  /// Another storage takes over the memory, and this one gets memory of its own, which is not filled.
  std::shared_ptr<Storage> give_address_away();

  /// References that read and write it only as part of a recording: see Pin. All pins together are one.
  long pins() const { return pins_; }

  /// When what lies in it is there. `overwrites`: if that fails, what lay in it before is still there.
  void set_ready(Ticket ticket, bool overwrites);
  /// Where the old value of a state lies whose new one was written here: if that fails, it is the value again.
  void keep_before(std::shared_ptr<Storage> before);
  /// Whether wait() would return, or throw, at once. False is never wrong.
  bool is_there();
  /// Throws again what is known to have kept this value from being computed: whoever reads it would read anything.
  void require_computed();
  /// Waits for that; throws what went wrong. A state that a failed step should have overwritten says so once, and only
  /// if nobody knows.
  void wait();

 private:
  void forget_before(size_t depth);
  void take_back();

  Device& device_;
  Buffer buffer_;
  std::shared_ptr<const void> owner_;  // of adopted memory; null where the memory is the pool's
  std::atomic<Holder> holder_ = Holder::values;
  uint64_t id_, version_;
  Ticket ready_;
  Ticket beneath_;  // when what is overwritten was there
  bool overwrites_ = false, is_carried_ = false;
  std::shared_ptr<Storage> before_;  // until the new value is known to be there
  std::atomic<long> pins_{0};
  std::weak_ptr<struct Seat> seat_;  // what pins hold
  friend class Pin;
  friend struct Seat;
};

/// A name that no value has had yet.
uint64_t next_version();

using StorageRef = std::shared_ptr<Storage>;

/// Who has an address now; it is one for all pins, so that they follow at once.
struct Seat {
  explicit Seat(StorageRef storage) : memory(std::move(storage)) { ++memory->pins_; }
  ~Seat() { --memory->pins_; }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  void move_to(StorageRef storage) {
    ++storage->pins_;
    --memory->pins_;
    memory = std::move(storage);
  }
  StorageRef memory;
};

/// A reference of a recording. It keeps the memory where it is, but looks at no value in it: whoever counts who may
/// still read a value leaves it out. When the memory is given away, it stays with the address.
class Pin {
 public:
  Pin() = default;
  Pin(const StorageRef& memory);  // NOLINT: as good as the reference

  const StorageRef& memory() const { return seat_->memory; }
  Storage* operator->() const { return memory().get(); }
  bool operator==(const Pin& other) const { return memory() == other.memory(); }
  bool operator==(const StorageRef& other) const { return memory() == other; }

 private:
  std::shared_ptr<Seat> seat_;
};

inline StorageRef storage_of(const ir::DataRef& data) { return std::static_pointer_cast<Storage>(data); }

/// Totals of one device; memory_stats.h has those of all.
MemoryStats memory_stats(Device& device);
/// What is held of its memory now.
MemorySample sample_memory(Device& device);

}  // namespace tenon::device
