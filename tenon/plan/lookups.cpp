// One pass for what lies behind states, one walk back from there to the lookups before them.

#include "tenon/plan/lookups.h"

#include <algorithm>

#include "tenon/ir/walk.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

const Node* node_behind(const Value& value) { return ir::base_node(value); }

// The values that stores of whole buffers are made of, piece by piece.
Nodes pieces_of_states(const Assemblies& assemblies) {
  std::vector<const Node*> open;
  for (const auto& [whole, pieces] : assemblies) {
    if (whole->op() == Op::store) open.push_back(whole);
  }
  Nodes found;
  while (!open.empty()) {
    const auto* pieces = assemblies.find(open.back());
    open.pop_back();
    if (!pieces) continue;
    for (const Piece& piece : *pieces) {
      if (found.insert(node_behind(piece.value))) open.push_back(node_behind(piece.value));
    }
  }
  return found;
}

}  // namespace

StatesAndLookups find_lookups(const std::vector<NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
                              const ir::Limits& limits) {
  StatesAndLookups made;
  if (!limits.looks_up_inside()) return made;
  made.behind_states = pieces_of_states(assemblies);
  std::vector<const Node*> open;  // what kernels behind states read that is not behind one itself
  const auto open_operand = [&](const Value& input) {
    if (!made.behind_states.contains(node_behind(input))) open.push_back(node_behind(input));
  };
  for (const Node* piece : made.behind_states) {  // its indices in memory, a gather is a call
    if (piece->op() == Op::gather && !limits.missing_calls.contains(Op::gather) &&
        is_inline(*node_behind(piece->input(1)), limits))
      made.stored.insert(node_behind(piece->input(1)));
  }
  for (const NodeRef& node : order) {
    if (node->evaluated() || ir::is_transparent(*node)) continue;
    const auto inputs = node->inputs();
    const bool is_behind = (node->op() == Op::store && kept.contains(node.get())) ||
                           std::any_of(inputs.begin(), inputs.end(), [&](const Value& input) {
                             return made.behind_states.contains(node_behind(input));
                           });
    if (is_behind) made.behind_states.insert(node.get());
    const bool is_in_kernel = is_inline(*node, limits) || node->info().kind == ir::Kind::reduce;
    if (!is_in_kernel || node->op() == Op::gather || !made.behind_states.contains(node.get())) continue;
    for (const Value& input : inputs) open_operand(input);
  }
  Nodes seen;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node->evaluated() || !is_inline(*node, limits) || !seen.insert(node)) continue;
    if (node->op() == Op::gather) made.stored.insert(node);
    for (const Value& input : node->inputs()) open_operand(input);
  }
  return made;
}

}  // namespace tenon::plan
