// Which device a value lives on: an index into the registry, with the name for messages.

#pragma once

#include <cstdint>

namespace tenon::ir {

struct DeviceId {
  uint32_t index = 0;
  const char* name = "none";  // owned by the registry, lives as long as the process
  friend bool operator==(const DeviceId& a, const DeviceId& b) { return a.index == b.index; }
};

}  // namespace tenon::ir
