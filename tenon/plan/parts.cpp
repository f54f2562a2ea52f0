// From assemblies to places.

#include "tenon/plan/parts.h"

#include <algorithm>

#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"

namespace tenon::plan {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

Nodes Parts::nodes() const {
  Nodes all;
  for (const auto& [node, part] : of) all.insert(node);
  return all;
}

Parts find_parts(std::vector<NodeRef>& order, const std::vector<Value>& outputs, const Nodes& kept) {
  Parts parts;
  parts.assemblies = find_assemblies(order, kept);
  if (parts.assemblies.empty()) return parts;
  ByNode<std::vector<Value>> instead;
  for (bool found_more = true; found_more;) {  // pieces may be put together in turn
    found_more = false;
    for (const NodeRef& whole : order) {
      const auto* pieces = parts.assemblies.find(whole.get());
      if (!pieces || instead.contains(whole.get())) continue;
      found_more = true;
      for (const Piece& piece : *pieces) {
        instead[whole.get()].push_back(piece.value);
        const size_t begin = static_cast<size_t>(piece.begin) * size_of(piece.value.dtype());
        parts.of.emplace(ir::base_node(piece.value), Part{whole, begin});
      }
    }
    if (!found_more) break;
    order = ir::order_of_evaluation(outputs, [&](const Node& node) { return instead.find(&node); });
  }
  return parts;
}

bool is_operand(const Node& call, const Value& value) {
  const auto inputs = call.inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Value& v) { return ir::base_node(v) == value.node.get(); });
}

Value scattered_base(const NodeRef& call) {
  if (!call || (call->op() != Op::scatter && call->op() != Op::scatter_add)) return {};
  const ir::Seen seen = ir::look_through(call->input(0));
  const bool is_whole = seen.map.is_contiguous() && ir::count(seen.base.shape()) == ir::count(call->type().shape);
  for (const size_t other : {1, 2}) {
    if (ir::base_node(call->input(other)) == seen.base.node.get()) return {};
  }
  return is_whole ? seen.base : Value();
}

void pass_targets_up(Parts& parts, const std::vector<Unit>& units, const Nodes& kept) {
  if (parts.of.empty()) return;
  ByNode<size_t> readers;
  for (const Unit& unit : units) {
    for (const Node* node : nodes_read_by(unit)) ++readers[node];
  }
  const auto pass = [&](const Value& from, const Value& to) {
    const Part* part = parts.find(to.node.get());
    const Node* node = from.node.get();
    if (!part || part->whole->op() == Op::store || node->evaluated() || node->op() == Op::buffer ||
        node->results() != 1 || kept.contains(node) || parts.of.contains(node) || parts.assemblies.contains(node) ||
        readers[node] != 1 || bytes_of(from.type()) != bytes_of(to.type()))
      return false;
    const Part same = *part;
    parts.of.emplace(node, same);
    return true;
  };
  for (size_t i = units.size(); i-- > 0;) {
    const Unit& unit = units[i];
    if (unit.addends.residual && !is_operand(*unit.call, unit.addends.residual))
      pass(unit.addends.residual, {unit.addends.result, 0});
    if (const Value base = scattered_base(unit.call)) pass(base, {unit.call, 0});
    for (const Value& output : unit.fused.outputs) {
      if (output.node->info().kind == ir::Kind::reduce) continue;
      for (size_t k = 0; k < unit.fused.inputs.size(); ++k) {
        if (unit.fused.aligned[k] && pass(unit.fused.inputs[k], output)) break;
      }
    }
  }
}

}  // namespace tenon::plan
