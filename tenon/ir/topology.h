// Operands before users, without recursion.

#pragma once

#include <functional>
#include <vector>

#include "tenon/base/flat_map.h"
#include "tenon/ir/node.h"

namespace tenon::ir {

/// Every node the outputs depend on, operands first, each once; deterministic. `is_leaf` stops the walk above a node.
std::vector<NodeRef> topological_order(std::span<const Value> outputs,
                                       const std::function<bool(const Node&)>& is_leaf = {});

/// The same for computing values: operands that only a gradient rule reads are left out, evaluated nodes are leaves.
std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs);

/// The same, to which values can be added: what they need besides comes after what is there.
class EvaluationOrder {
 public:
  EvaluationOrder() = default;
  explicit EvaluationOrder(std::span<const Value> outputs) { add(outputs); }
  void add(std::span<const Value> outputs);
  const std::vector<NodeRef>& nodes() const { return nodes_; }
  std::vector<NodeRef> take() { return std::move(nodes_); }

 private:
  std::vector<NodeRef> nodes_;
  base::FlatSet<const Node*> seen_;
};
/// The same where some nodes are computed from other values than their operands.
std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs,
                                         const std::function<const std::vector<Value>*(const Node&)>& instead);

}  // namespace tenon::ir
