// Operands of products as matrices.
//
// Libraries multiply matrices whose rows or columns lie side by side. A value that is computed in another order than
// its product reads it, such as a gradient behind rotary positions, head by head for a product that goes token by
// token, is no such matrix where it lies as it was computed. Nothing but the product wants it so: it is computed in the
// order of the product instead.

#pragma once

#include <vector>

#include "tenon/ir/node.h"

namespace tenon::plan {

/// The graph in which elementwise values that products read through views no strides describe lie as they are read.
std::vector<ir::Value> lay_out_operands(const std::vector<ir::Value>& outputs);

}  // namespace tenon::plan
