// The table's dtype and shape rules as code: what a node's results are, or why it cannot be.

#pragma once

#include <vector>

#include "tenon/ir/node.h"

namespace tenon::ir {

struct Inferred {
  Type first;
  std::vector<Type> more;
  DeviceId device;
};

/// Result types of an op on these operands; fails with `[op] ...` when the operands break the op's rules.
Inferred infer(Op op, const Operands& inputs, const Attrs& attrs);

/// Checks every node below these values against the table again; fails on the first that does not hold.
void verify(std::span<const Value> outputs);

}  // namespace tenon::ir
