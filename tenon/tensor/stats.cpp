// Sums over the devices that are open.

#include "tenon/tensor/stats.h"

#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/device/storage.h"

namespace tenon {

MemoryStats memory_stats() {
  MemoryStats stats{device::memory_stats(), 0};
  for (const device::Device* one : device::opened()) stats.cached_bytes += one->pool().stats().cached;
  return stats;
}

MemoryStats memory_stats(Device device) {
  device::Device& one = device::open(device.id);
  return {device::memory_stats(one), one.pool().stats().cached};
}

std::optional<size_t> available_memory(Device device) { return device::open(device.id).available(); }

void set_memory_limit(size_t bytes, Device device) { device::open(device.id).pool().set_limit(bytes); }

void trim_memory() {
  for (const device::Device* one : device::opened()) one->pool().trim();
}

void trim_memory(Device device) { device::open(device.id).pool().trim(); }

}  // namespace tenon
