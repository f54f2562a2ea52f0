// Compiled kernels by their content, so that the same kernel is compiled once in the life of a process, and, on devices
// where compiling takes long, once on a machine.

#pragma once

#include <atomic>
#include <exception>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

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
  /// The programs of all these kernels. Those that are missing are compiled at once, on several threads where the
  /// compiler is worth it; of several that fail, the first in the list is told.
  std::vector<device::ProgramRef> get_all(device::Device& device, std::span<const device::Kernel> kernels);
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
  using Entries = std::list<Entry>;  // most lately used first

  device::ProgramRef load(device::Compiler& compiler, const device::Kernel& kernel, const std::string& name);
  device::ProgramRef compile(device::Compiler& compiler, const device::Kernel& kernel, const std::string& name);
  std::vector<std::exception_ptr> make_all(device::Compiler& compiler, std::span<const device::Kernel* const> kernels,
                                           std::span<device::ProgramRef> made);
  device::ProgramRef find(device::Device& device, const device::Kernel& kernel, uint64_t key);
  void keep(device::Device& device, const device::Kernel& kernel, uint64_t key, device::ProgramRef program);

  DiskCache* disk_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_key_;
  uint64_t hits_ = 0, compiled_ = 0, compile_ns_ = 0;
  std::atomic<uint64_t> loaded_{0};
};

}  // namespace tenon::exec
