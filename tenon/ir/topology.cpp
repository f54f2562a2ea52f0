// Depth-first walk with an explicit stack.

#include "tenon/ir/topology.h"

#include <unordered_set>

namespace tenon::ir {

namespace {

// `operands(node)` is how many of a node's operands are followed.
template <typename Operands>
std::vector<NodeRef> walk(std::span<const Value> outputs, const Operands& operands) {
  struct Visit {
    NodeRef node;
    size_t next_input, operands;
  };
  std::vector<NodeRef> order;
  std::unordered_set<const Node*> seen;
  std::vector<Visit> stack;
  const auto enter = [&](const NodeRef& node) {
    if (!seen.insert(node.get()).second) return;
    stack.push_back({node, 0, operands(*node)});
  };
  for (const Value& output : outputs) {
    enter(output.node);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next_input < top.operands) {
        enter(top.node->input(top.next_input++).node);  // may move `top`
        continue;
      }
      order.push_back(std::move(top.node));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace

std::vector<NodeRef> topological_order(std::span<const Value> outputs,
                                       const std::function<bool(const Node&)>& is_leaf) {
  return walk(outputs, [&](const Node& node) { return is_leaf && is_leaf(node) ? 0 : node.inputs().size(); });
}

std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs) {
  return walk(outputs, [](const Node& node) -> size_t {
    if (node.evaluated()) return 0;
    return node.op() == Op::custom ? node.results() : node.inputs().size();
  });
}

}  // namespace tenon::ir
