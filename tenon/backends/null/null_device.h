// A device that runs nothing and checks every command: for tests of plans, without hardware.

#pragma once

#include <memory>

#include "tenon/device/device.h"

namespace tenon::backends::null {

std::unique_ptr<device::Device> open();

}  // namespace tenon::backends::null
