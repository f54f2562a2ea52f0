// One walk; nodes above which nothing has changed stay the nodes they are.

#include "tenon/plan/rewrite.h"

#include <algorithm>

#include "tenon/base/flat_map.h"
#include "tenon/ir/topology.h"

namespace tenon::plan {

using ir::Node;
using ir::NodeRef;
using ir::Value;

std::vector<Value> rewrite(std::span<const Value> outputs, const Rule& rule, uint64_t realm) {
  base::FlatMap<const Node*, std::vector<Value>> replaced;
  const auto now = [&](const Value& value) {
    const auto* found = replaced.empty() ? nullptr : replaced.find(value.node.get());
    return found ? (*found)[value.index] : value;
  };
  const std::vector<NodeRef> order = ir::order_of_evaluation(outputs);
  for (const NodeRef& node : order) {
    if (node->evaluated()) continue;
    bool changed = realm != 0 && node->realm() != realm && node->op() != ir::Op::buffer;
    ir::Operands inputs;
    for (const Value& input : node->inputs()) {
      inputs.push_back(now(input));
      changed = changed || !(inputs.back() == input);
    }
    if (auto results = rule(*node, {inputs.data(), inputs.size()})) {
      replaced.emplace(node.get(), std::move(*results));
    } else if (changed) {
      const NodeRef made = Node::make_like(*node, std::move(inputs));
      std::vector<Value> results_of_made;
      for (uint32_t i = 0; i < made->results(); ++i) results_of_made.push_back({made, i});
      replaced.emplace(node.get(), std::move(results_of_made));
    }
  }
  std::vector<Value> rewritten;
  for (const Value& output : outputs) rewritten.push_back(now(output));
  return rewritten;
}

}  // namespace tenon::plan
