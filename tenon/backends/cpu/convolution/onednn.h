// Convolutions through oneDNN, where this build has it.

#pragma once

#include "tenon/backends/cpu/calls/calls.h"

namespace tenon::backends::cpu {

/// Null when oneDNN is missing or cannot take the call, and, unless forced, when our own loops are the faster ones.
std::unique_ptr<CallKernel> compile_convolution_onednn(const ir::Call& call, bool forced);

}  // namespace tenon::backends::cpu
