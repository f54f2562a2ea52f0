// Depth-first walk with an explicit stack.

#include "tenon/ir/topology.h"

#include <unordered_set>

namespace tenon::ir {

std::vector<NodeRef> topological_order(std::span<const Value> outputs,
                                       const std::function<bool(const Node&)>& is_leaf) {
  struct Visit {
    NodeRef node;
    size_t next_input;
  };
  std::vector<NodeRef> order;
  std::unordered_set<const Node*> seen;
  std::vector<Visit> stack;
  const auto enter = [&](const NodeRef& node) {
    if (!seen.insert(node.get()).second) return;
    stack.push_back({node, is_leaf && is_leaf(*node) ? node->inputs().size() : 0});
  };
  for (const Value& output : outputs) {
    enter(output.node);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next_input < top.node->inputs().size()) {
        enter(top.node->input(top.next_input++).node);  // may move `top`
        continue;
      }
      order.push_back(std::move(top.node));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace tenon::ir
