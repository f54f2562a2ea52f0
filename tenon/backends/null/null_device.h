// A device that runs nothing and checks every command: for tests of plans, without hardware.

#pragma once

#include <memory>

#include "tenon/device/device.h"

namespace tenon::backends::null {

std::unique_ptr<device::Device> open();
/// The same as a device with these limits: to plan for hardware that is not there.
std::unique_ptr<device::Device> open_with(const ir::Limits& limits);

}  // namespace tenon::backends::null
