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

 private:
  Device& device_;
  Buffer buffer_;
  uint64_t id_;
};

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
