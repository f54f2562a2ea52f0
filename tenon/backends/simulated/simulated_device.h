// A GPU that does not exist, for tests: it lowers work as for a real one, with subgroups, vectors and many processors,
// and runs the kernels one instruction at a time, for all threads of a block in step.
//
// It needs no driver and no compiler, so every kernel of every test can run on it. It is also stricter than hardware:
// an address outside of an argument, a vector that is not aligned, a barrier that not all threads reach, shared memory
// beyond the limit and a number of an instruction that has none are errors.

#pragma once

#include <memory>

#include "tenon/device/device.h"

namespace tenon::backends::simulated {

std::unique_ptr<device::Device> open();
/// Without matrix tiles: products and attention of 16 bits as on devices that have none.
std::unique_ptr<device::Device> open_without_tiles();
/// With products that compute gelu and its slope.
std::unique_ptr<device::Device> open_with_gelu();
/// One op a kernel, to compare bits against.
std::unique_ptr<device::Device> open_unfused();

}  // namespace tenon::backends::simulated
