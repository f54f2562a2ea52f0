// contract through oneDNN, where this build has it.

#pragma once

#include "tenon/backends/cpu/matmul/matmul.h"

namespace tenon::backends::cpu {

/// Null when oneDNN is missing or cannot take the call, and, unless forced, when the own kernel is the faster one.
std::unique_ptr<ContractKernel> compile_contract_onednn(const ir::Call& call, bool forced);

}  // namespace tenon::backends::cpu
