// One row times a matrix: what every layer does for one token of a text that is being written.
//
// Every number of the matrix is read once and multiplied once, so that memory is all there is to wait for: threads are
// spread over the inner dimension as well, and what they hold is added up at the end, in an order that follows from the
// sizes.

#pragma once

#include "tenon/kernels/contract_problem.h"

namespace tenon::kernels {

/// Whether the product is one of these: its matrix lies side by side along one of its dimensions, aligned to 16 bytes,
/// and the device has subgroups.
bool is_row_product(const ContractProblem& p, const ir::Limits& limits);

codegen::Dispatch row_product(const ContractProblem& p, const ir::Limits& limits);

}  // namespace tenon::kernels
