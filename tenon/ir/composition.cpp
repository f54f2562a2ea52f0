// One walk over the nodes, each recorded again.

#include "tenon/ir/composition.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/flat_map.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"

namespace tenon::ir {

const Value* data_of(const Value& input) { return input.node->op() == Op::param ? &input.node->input(0) : nullptr; }

Composition::Composition(std::string called, std::vector<Value> from, std::vector<Value> to)
    : name(std::move(called)), inputs(std::move(from)), outputs(std::move(to)) {
  base::FlatSet<const Node*> given;
  for (const Value& input : inputs) {
    given.insert(input.node.get());
    if (const Value* data = data_of(input)) given.insert(data->node.get());
  }
  for (NodeRef& node : topological_order(outputs, [&](const Node& n) { return given.contains(&n) || n.evaluated(); })) {
    if (given.contains(node.get())) continue;
    if (node->evaluated()) base::fail(name, "a composition cannot bring values of its own along");
    may_fault = may_fault || node->info().kind == Kind::indexed;
    between.push_back(std::move(node));
  }
}

std::vector<Move> peeled(Value& value) {
  std::vector<Move> moves;
  while (value.node->info().kind == Kind::movement) {
    moves.push_back(move_of(value.node->op(), value.node->attrs()));
    Value below = value.node->input(0);
    value = std::move(below);
  }
  std::reverse(moves.begin(), moves.end());
  return moves;
}

Value moved(Value value, std::span<const Move> moves) {
  for (const Move& one : moves) value = move(value, one);
  return value;
}

std::vector<Value> written_out(const Composition& what, std::span<const Value> operands) {
  using Results = base::SmallVector<Value, 1>;
  base::FlatMap<const Node*, Results> replaced;
  const auto now = [&](const Value& value) -> const Value& {
    const Results* found = replaced.find(value.node.get());
    return found ? (*found)[value.index] : value;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    replaced.emplace(what.inputs[i].node.get(), Results{operands[i]});
    if (const Value* data = data_of(what.inputs[i])) replaced.emplace(data->node.get(), Results{detach(operands[i])});
  }
  // Numbers too are recorded again: one that somebody has computed meanwhile would be a leaf that no operand is.
  for (const NodeRef& node : what.between) {
    Operands inputs;
    for (const Value& input : node->inputs()) inputs.push_back(now(input));
    const NodeRef made = Node::make_like(*node, std::move(inputs));
    Results all;
    for (uint32_t i = 0; i < made->results(); ++i) all.push_back({made, i});
    replaced.emplace(node.get(), std::move(all));
  }
  std::vector<Value> made;
  for (const Value& output : what.outputs) made.push_back(now(output));
  return made;
}

}  // namespace tenon::ir
