// The CPU: fused groups as tile programs, matmul, attention and the like as calls.

#pragma once

#include <memory>

#include "tenon/device/device.h"

namespace tenon::backends::cpu {

std::unique_ptr<device::Device> open();

}  // namespace tenon::backends::cpu
