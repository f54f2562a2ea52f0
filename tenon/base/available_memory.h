// How much memory this process can still take: what the machine has, and what the control groups (containers) that the
// process lives in leave of it. Reading and arithmetic are apart, so that tests can make up a machine.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::base {

/// Stands for memory without a known end.
constexpr uint64_t kUnlimited = UINT64_MAX;

struct HostMemory {
  uint64_t total = kUnlimited;      // bytes of the machine
  uint64_t available = kUnlimited;  // bytes that can be taken without swapping or ending somebody
  uint64_t touched = kUnlimited;    // bytes of this process that are in memory or swapped out
};

/// The text of a file; nothing when it cannot be read.
using FileReader = std::function<std::optional<std::string>(const std::string& path)>;

/// The text of one of the system's files.
std::optional<std::string> system_file_text(const std::string& path);

/// "MemAvailable:  1024 kB" of a list of such lines in bytes; nothing when the key is missing.
std::optional<uint64_t> kilobytes_of(std::string_view lines, std::string_view key);
/// "active_file 4096" of a list of such lines; nothing when the key is missing.
std::optional<uint64_t> number_of(std::string_view lines, std::string_view key);
/// What /proc and /sys/fs/cgroup say through this reader: the least that the machine, the process's group or any group
/// above it leaves.
HostMemory host_memory(const FileReader& read);

/// The same of this machine, now. Takes some 50 us.
HostMemory host_memory();

}  // namespace tenon::base
