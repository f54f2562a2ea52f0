// bf16 products on Intel's matrix units (AMX), where there are any.

#pragma once

#include <memory>

#include "tenon/backends/cpu/matmul/matmul.h"

namespace tenon::backends::cpu {

/// Whether this machine has the units and the system lets us use them.
bool has_amx();

/// contract of bf16 operands with sums in f32; null where the units cannot take it.
std::unique_ptr<ContractKernel> compile_contract_amx(const ir::Call& call);

}  // namespace tenon::backends::cpu
