// One walk; nodes above which nothing has changed stay the nodes they are.

#include "tenon/plan/rewrite.h"

#include <algorithm>

#include "tenon/base/error.h"
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
    const std::span<const Value> before = node->inputs();
    const bool is_new_below = std::any_of(before.begin(), before.end(), [&](const Value& v) { return !(now(v) == v); });
    const bool changed = is_new_below || (realm != 0 && node->realm() != realm && node->op() != ir::Op::buffer);
    ir::Operands inputs;
    if (changed) {
      for (const Value& input : before) inputs.push_back(now(input));
    }
    const base::LabelScope module(node->label());  // what stands for a node belongs to its module
    if (auto results = rule(*node, changed ? std::span<const Value>(inputs.data(), inputs.size()) : before)) {
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
