// Compiled kernels by their content, so that the same kernel is compiled once in the life of a process.

#pragma once

#include <unordered_map>

#include "tenon/device/device.h"

namespace tenon::exec {

/// Holds at most kMost programs; a full cache is emptied, because a program that no key repeats fills it with what will
/// not be asked for again.
class ProgramCache {
 public:
  static constexpr size_t kMost = 8192;

  device::ProgramRef get(device::Device& device, device::Kernel kernel);
  size_t size() const { return entries_.size(); }
  /// Programs that were not in the cache when asked for.
  uint64_t compiled() const { return compiled_; }
  uint64_t compile_ns() const { return compile_ns_; }

 private:
  struct Entry {
    device::Device* device;
    device::Kernel kernel;
    device::ProgramRef program;
  };
  std::unordered_multimap<uint64_t, Entry> entries_;
  uint64_t compiled_ = 0, compile_ns_ = 0;
};

}  // namespace tenon::exec
