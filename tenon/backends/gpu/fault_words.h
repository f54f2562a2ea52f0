// The words that a kernel leaves behind when it meets a bad index, as the error that they stand for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "tenon/codegen/kernel_ir.h"

namespace tenon::backends::gpu {

inline constexpr size_t kFaultBytes = codegen::FaultWords::kCount * sizeof(uint32_t);

/// None where no fault is set.
std::exception_ptr error_of_fault(const std::byte* words);

}  // namespace tenon::backends::gpu
