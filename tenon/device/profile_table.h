// Spans added up: kernels by kind and by shape, modules, passes and functions of the host, as a table for a terminal.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/device/timeline.h"

namespace tenon::device {

enum class ProfileSort : uint8_t { total, average, count };

/// One line of a table.
struct ProfileRow {
  std::string name;
  uint64_t count = 0, ns = 0;
  uint64_t self_ns = 0;              // of the host: without the functions inside
  uint64_t bytes = 0, bytes_ns = 0;  // where bytes say something of the speed, and their time
  double flops = 0;
  uint64_t flops_ns = 0;

  double average_ns() const { return static_cast<double>(ns) / static_cast<double>(count); }
  /// GB/s and TFLOP/s; 0 where not known.
  double bandwidth() const { return bytes_ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(bytes_ns); }
  double teraflops() const { return flops_ns == 0 ? 0 : flops / static_cast<double>(flops_ns) / 1e3; }
};

class ProfileTable {
 public:
  /// In the order in which spans end, for each thread.
  void add(const Span& span);
  /// Of so much time, each line behind a prefix; 0: all rows.
  std::string text(ProfileSort sort, size_t most_rows, uint64_t wall_ns, std::string_view prefix = {}) const;

  /// What a device ran, added up by kind, by kind and shape, by module and by pass.
  struct Device {
    uint64_t busy_ns = 0;
    std::map<std::string, ProfileRow> kinds, shapes, modules, passes;
  };
  const std::map<std::string_view, Device>& devices() const { return devices_; }
  const std::map<std::string, ProfileRow>& host() const { return host_; }

 private:
  void add_host(const Span& span);

  struct Ended {
    uint64_t begin_ns, ns;
  };
  std::map<std::string_view, Device> devices_;
  std::map<std::string, ProfileRow> host_;
  std::map<std::string, uint64_t> notes_;
  std::map<uint32_t, std::vector<Ended>> ended_;  // by thread: spans that may lie inside of one that has not ended
};

/// The rows of a map in this order.
std::vector<ProfileRow> sorted(const std::map<std::string, ProfileRow>& rows, ProfileSort sort);

}  // namespace tenon::device
