// One walk; nodes above which nothing has changed stay the nodes they are.

#include "tenon/plan/rewrite.h"

#include "tenon/base/flat_map.h"
#include "tenon/ir/topology.h"

namespace tenon::plan {

using ir::Node;
using ir::NodeRef;
using ir::Value;

std::vector<Value> rewrite(std::span<const Value> outputs, const Rule& rule, uint64_t realm) {
  return rewrite(outputs, ir::order_of_evaluation(outputs), rule, realm);
}

std::vector<Value> rewrite(std::span<const Value> outputs, const std::vector<NodeRef>& order, const Rule& rule,
                           uint64_t realm) {
  using Results = base::SmallVector<Value, 1>;
  base::FlatMap<const Node*, Results> replaced;
  const auto now = [&](const Value& value) -> const Value& {
    const Results* found = replaced.find(value.node.get());
    return found ? (*found)[value.index] : value;
  };
  for (const NodeRef& node : order) {
    if (node->evaluated()) continue;
    bool changed = realm != 0 && node->realm() != realm && node->op() != ir::Op::buffer;
    ir::Operands inputs;
    for (const Value& input : node->inputs()) {
      inputs.push_back(now(input));
      changed = changed || !(inputs.back() == input);
    }
    if (auto results = rule(*node, {inputs.data(), inputs.size()})) {
      replaced.emplace(node.get(), Results(results->begin(), results->end()));
    } else if (changed) {
      const NodeRef made = Node::make_like(*node, std::move(inputs));
      Results all;
      for (uint32_t i = 0; i < made->results(); ++i) all.push_back({made, i});
      replaced.emplace(node.get(), std::move(all));
    }
  }
  std::vector<Value> rewritten;
  for (const Value& output : outputs) rewritten.push_back(now(output));
  return rewritten;
}

}  // namespace tenon::plan
