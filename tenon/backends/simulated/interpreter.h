// Runs one dispatch of KernelIr on host memory.

#pragma once

#include <span>

#include "tenon/codegen/kernel_ir.h"

namespace tenon::backends::simulated {

/// Fails where a kernel does what hardware would not forgive, and with a bad index in the words of all devices.
void run(const codegen::Dispatch& dispatch, std::span<const std::span<std::byte>> buffers,
         std::span<const uint64_t> numbers);

}  // namespace tenon::backends::simulated
