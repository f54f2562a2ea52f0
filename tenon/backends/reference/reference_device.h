// The judge: runs one op at a time in f64 arithmetic, with code kept so plain that it can be checked by eye.

#pragma once

#include <memory>

#include "tenon/device/device.h"

namespace tenon::backends::reference {

std::unique_ptr<device::Device> open();

}  // namespace tenon::backends::reference
