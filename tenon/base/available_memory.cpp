// Linux tells it in small text files. Pages of files that a group has cached count as its own, but are given up when
// memory is short: they are available, as they are in MemAvailable.

#include "tenon/base/available_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace tenon::base {
namespace {

std::optional<uint64_t> leading_number(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// Calls f with every line until it returns true.
template <typename F>
void each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (f(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::optional<uint64_t> number_in_file(const FileReader& read, const std::string& path) {
  const std::optional<std::string> text = read(path);
  return text ? leading_number(*text) : std::nullopt;  // "max" is no number: no limit
}

// The files of one kind of control group.
struct GroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
  const char* cached[2];  // in memory.stat
};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", {"active_file", "inactive_file"}};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory",
                               "memory.limit_in_bytes",
                               "memory.usage_in_bytes",
                               {"total_active_file", "total_inactive_file"}};

uint64_t left_in_group(const FileReader& read, const GroupFiles& files, const std::string& folder) {
  const std::optional<uint64_t> limit = number_in_file(read, folder + "/" + files.limit);
  const std::optional<uint64_t> usage = number_in_file(read, folder + "/" + files.usage);
  if (!limit || !usage) return kUnlimited;
  uint64_t kept = *usage;
  if (const std::optional<std::string> stat = read(folder + "/memory.stat")) {
    for (const char* key : files.cached) kept -= std::min(kept, number_of(*stat, key).value_or(0));
  }
  return *limit > kept ? *limit - kept : 0;
}

// The least that this group and those above it leave. Inside a container the path may name folders that only the host
// sees: they are skipped, and the root is the container's own group.
uint64_t left_along(const FileReader& read, const GroupFiles& files, std::string_view path) {
  uint64_t least = kUnlimited;
  std::string below(path == "/" ? "" : path);
  while (true) {
    least = std::min(least, left_in_group(read, files, files.root + below));
    const size_t last = below.rfind('/');
    if (last == std::string::npos) return least;
    below.resize(last);
  }
}

// Lines of /proc/self/cgroup: "0::/user/job" is version 2, "5:memory:/user/job" version 1.
uint64_t left_in_groups(const FileReader& read) {
  const std::optional<std::string> groups = read("/proc/self/cgroup");
  uint64_t least = kUnlimited;
  if (!groups) return least;
  each_line(*groups, [&](std::string_view line) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) return false;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) return false;
    const std::string_view path = line.substr(second + 1);
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (controllers == ",,") least = std::min(least, left_along(read, kVersion2, path));
    if (controllers.find(",memory,") != std::string::npos) least = std::min(least, left_along(read, kVersion1, path));
    return false;
  });
  return least;
}

}  // namespace

// By the system's own calls: a stream throws where reading fails, and this is also asked when a process ends.
std::optional<std::string> system_file_text(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(file, part, sizeof part)) != 0) {
    if (got > 0)
      text.append(part, static_cast<size_t>(got));
    else if (errno != EINTR)
      break;
  }
  ::close(file);
  return got < 0 ? std::nullopt : std::optional(std::move(text));
}

std::optional<uint64_t> number_of(std::string_view lines, std::string_view key) {
  std::optional<uint64_t> found;
  each_line(lines, [&](std::string_view line) {
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ' ') return false;
    found = leading_number(line.substr(key.size()));
    return true;
  });
  return found;
}

std::optional<uint64_t> kilobytes_of(std::string_view lines, std::string_view key) {
  std::optional<uint64_t> found;
  each_line(lines, [&](std::string_view line) {
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ':') return false;
    if (const auto number = leading_number(line.substr(key.size() + 1)))
      found = *number > (kUnlimited >> 10) ? kUnlimited : *number << 10;
    return true;
  });
  return found;
}

HostMemory host_memory(const FileReader& read) {
  HostMemory memory;
  if (const auto machine = read("/proc/meminfo")) {
    memory.total = kilobytes_of(*machine, "MemTotal").value_or(kUnlimited);
    memory.available = kilobytes_of(*machine, "MemAvailable").value_or(kUnlimited);
  }
  memory.available = std::min(memory.available, left_in_groups(read));
  if (const auto process = read("/proc/self/status")) {
    if (const auto resident = kilobytes_of(*process, "RssAnon"))
      memory.touched = *resident + kilobytes_of(*process, "VmSwap").value_or(0);
  }
  return memory;
}

HostMemory host_memory() { return host_memory(system_file_text); }

}  // namespace tenon::base
