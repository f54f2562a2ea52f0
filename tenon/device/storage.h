// Device memory with an owner: what an evaluated value points at.

#pragma once

#include <cstdint>

#include "tenon/device/device.h"
#include "tenon/ir/data.h"

namespace tenon::device {

class Storage : public ir::Data {
 public:
  Storage(Device& device, size_t bytes);
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

  /// When what lies in it is there. `overwrites`: if that fails, what lay in it before is still there.
  void set_ready(Ticket ticket, bool overwrites) {
    ready_ = ticket;
    overwrites_ = overwrites;
  }
  /// Waits for that; throws what went wrong. A state that a failed step should have overwritten says so once.
  void wait();

 private:
  Device& device_;
  Buffer buffer_;
  uint64_t id_, version_;
  Ticket ready_;
  bool overwrites_ = false;
};

/// A name that no value has had yet.
uint64_t next_version();

using StorageRef = std::shared_ptr<Storage>;

inline StorageRef storage_of(const ir::DataRef& data) { return std::static_pointer_cast<Storage>(data); }

struct MemoryStats {
  size_t live_buffers = 0;
  size_t live_bytes = 0;
  size_t peak_bytes = 0;
  size_t allocations = 0;
};

/// Totals over all devices of this process.
MemoryStats memory_stats();
void reset_peak();

}  // namespace tenon::device
