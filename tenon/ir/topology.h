// Operands before users, without recursion.

#pragma once

#include <functional>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon::ir {

/// Every node the outputs depend on, operands first, each once; deterministic. `is_leaf` stops the walk above a node.
std::vector<NodeRef> topological_order(std::span<const Value> outputs,
                                       const std::function<bool(const Node&)>& is_leaf = {});

/// The same for computing values: operands that only a gradient rule reads are left out, evaluated nodes are leaves.
std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs);
/// The same where some nodes are computed from other values than their operands.
std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs,
                                         const std::function<const std::vector<Value>*(const Node&)>& instead);

}  // namespace tenon::ir
