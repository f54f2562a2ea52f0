// Depth-first walk with an explicit stack.

#include "tenon/ir/topology.h"

#include "tenon/base/flat_map.h"

namespace tenon::ir {

namespace {

// Appends what is not in `seen` to `order`. `operands(node)` are the values to follow.
template <typename Follow>
void walk(std::span<const Value> outputs, const Follow& operands, std::vector<NodeRef>& order,
          base::FlatSet<const Node*>& seen) {
  struct Visit {
    const NodeRef* node;  // as an operand or an output holds it
    size_t next;
    std::span<const Value> operands;
  };
  std::vector<Visit> stack;
  const auto enter = [&](const NodeRef& node) {
    if (!seen.insert(node.get())) return;
    stack.push_back({&node, 0, operands(*node)});
  };
  for (const Value& output : outputs) {
    enter(output.node);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.operands.size()) {
        enter(top.operands[top.next++].node);  // may move `top`
        continue;
      }
      order.push_back(*top.node);
      stack.pop_back();
    }
  }
}

template <typename Follow>
std::vector<NodeRef> walk(std::span<const Value> outputs, const Follow& operands) {
  std::vector<NodeRef> order;
  base::FlatSet<const Node*> seen;
  walk(outputs, operands, order, seen);
  return order;
}

}  // namespace

std::vector<NodeRef> topological_order(std::span<const Value> outputs,
                                       const std::function<bool(const Node&)>& is_leaf) {
  return walk(outputs, [&](const Node& node) {
    return is_leaf && is_leaf(node) ? std::span<const Value>() : std::span<const Value>(node.inputs());
  });
}

namespace {

std::span<const Value> evaluated_from(const Node& node) {
  if (node.evaluated()) return {};
  const std::span<const Value> inputs(node.inputs());
  return node.op() == Op::custom ? inputs.first(node.results()) : inputs;
}

}  // namespace

void EvaluationOrder::add(std::span<const Value> outputs) {
  walk(outputs, [](const Node& node) { return evaluated_from(node); }, nodes_, seen_);
}

std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs) {
  return walk(outputs, [](const Node& node) { return evaluated_from(node); });
}

std::vector<NodeRef> order_of_evaluation(std::span<const Value> outputs,
                                         const std::function<const std::vector<Value>*(const Node&)>& instead) {
  return walk(outputs, [&](const Node& node) {
    const std::vector<Value>* other = node.evaluated() ? nullptr : instead(node);
    return other ? std::span<const Value>(*other) : evaluated_from(node);
  });
}

}  // namespace tenon::ir
