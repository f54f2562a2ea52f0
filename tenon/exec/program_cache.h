// Compiled kernels by their content, so that the same kernel is compiled once in the life of a process, and, on devices
// where compiling takes long, once on a machine.

#pragma once

#include <list>
#include <unordered_map>

#include "tenon/device/device.h"
#include "tenon/exec/disk_cache.h"

namespace tenon::exec {

/// Bounded: what was used least lately goes first.
class ProgramCache {
 public:
  static constexpr size_t kMost = 8192;

  /// `disk` is where programs outlive the process; without one they do not.
  explicit ProgramCache(DiskCache* disk = DiskCache::standard()) : disk_(disk) {}

  device::ProgramRef get(device::Device& device, device::Kernel kernel);
  size_t size() const { return entries_.size(); }
  uint64_t hits() const { return hits_; }
  /// Programs that were not in the cache when asked for, and of these the ones that a file held.
  uint64_t compiled() const { return compiled_; }
  uint64_t loaded() const { return loaded_; }
  uint64_t compile_ns() const { return compile_ns_; }

 private:
  struct Entry {
    uint64_t key;
    device::Device* device;
    device::Kernel kernel;
    device::ProgramRef program;
  };
  device::ProgramRef make(device::Compiler& compiler, const device::Kernel& kernel);

  using Entries = std::list<Entry>;  // most lately used first

  DiskCache* disk_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_key_;
  uint64_t hits_ = 0, compiled_ = 0, loaded_ = 0, compile_ns_ = 0;
};

}  // namespace tenon::exec
