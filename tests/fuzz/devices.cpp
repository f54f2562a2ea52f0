// The registry of a process that reads and computes nothing: the cpu is there, and no other device.

#include "tenon/base/error.h"
#include "tenon/device/registry.h"

namespace tenon::device {

ir::DeviceId find(std::string_view name) {
  if (name != "cpu") base::fail("device", "unknown device '{}'; known: cpu", name);
  return {0, "cpu"};
}

std::string wanted_name() { return "cpu"; }

}  // namespace tenon::device
