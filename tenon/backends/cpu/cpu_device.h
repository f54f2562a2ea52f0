// The CPU: fused groups as tile programs, matmul, attention and the like as calls.

#pragma once

#include <memory>

#include "tenon/device/device.h"

namespace tenon::backends::cpu {

/// The device that everyone starts with.
std::unique_ptr<device::Device> open();
/// The same with every op a kernel of its own, for tests: values must not depend on grouping.
std::unique_ptr<device::Device> open_unfused();
/// The same with other limits, for tests: what a plan may be made of is then up to them.
std::unique_ptr<device::Device> open_with(const ir::Limits& limits);

}  // namespace tenon::backends::cpu
