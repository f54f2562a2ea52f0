// TENON_PROFILE=1: at the end of the process, where the time of the cpu device went, kernel by kernel, on standard error.

#pragma once

#include <cstdint>
#include <string>

#include "tenon/device/device.h"

namespace tenon::backends::cpu {

bool profiles();
/// One short line: the op with its operands, or the ops of a fused kernel with its space.
std::string describe(const device::Kernel& kernel);
/// Adds a run of the kernel described so.
void count_run(const std::string& kernel, uint64_t ns);

}  // namespace tenon::backends::cpu
