// TENON_PROFILE=1: at the end of the process, where the time of each device went, kernel by kernel, on standard error.

#pragma once

#include <cstdint>
#include <string>

#include "tenon/device/device.h"

namespace tenon::device {

/// Whether it is wanted. A device asks before it arranges to finish at the end of the process: the table is printed
/// behind that.
bool profiles();
/// One short line: the op with its operands, or the ops of a fused kernel with its space.
std::string describe(const Kernel& kernel);
/// Adds a run, on a device, of the kernel described so.
void count_run(const std::string& device, const std::string& kernel, uint64_t ns);

}  // namespace tenon::device
