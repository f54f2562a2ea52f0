// Counts references: what the graph itself does not account for is held from outside.
//
// A value held from outside and not evaluated will be computed later from what it is made of, and so will the gradient
// of an evaluated one that still has its history. Everything below such values must stay as it is.

#include "tenon/exec/overwrite.h"

#include <algorithm>

#include "tenon/device/storage.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;
using Nodes = base::FlatSet<const Node*>;

// Nobody else shows the same memory, but recordings, which look at no value in it.
bool only_reference(const Node& leaf) {
  const auto* memory = static_cast<const device::Storage*>(leaf.data().get());
  return leaf.data().use_count() == 1 + memory->pins();
}

bool is_state_update(const Node& node) {
  return node.op() == Op::store && !node.evaluated() && node.input(0).node->op() == Op::buffer;
}

// What somebody else than the graph, `outputs` and a list of the caller's holds.
std::vector<NodeRef> held_outside(const std::vector<NodeRef>& order, std::span<const NodeRef> callers_list,
                                  const std::vector<Value>& outputs) {
  base::FlatMap<const Node*, uint32_t> accounted;
  accounted.reserve(order.size());
  for (const Value& output : outputs) ++accounted[output.node.get()];
  for (const NodeRef& node : callers_list) ++accounted[node.get()];
  for (const NodeRef& node : order) {
    ++accounted[node.get()];  // by the list itself
    if (node->evaluated()) continue;
    for (const Value& input : node->inputs()) ++accounted[input.node.get()];
  }
  std::vector<NodeRef> held;
  for (const NodeRef& node : order) {
    if (node->references() > accounted[node.get()]) held.push_back(node);
  }
  return held;
}

bool is_kept(const NodeRef& node, const Nodes& kept) {
  for (uint32_t i = 0; i < node->results(); ++i) {
    if (!kept.contains(ir::base_of({node, i}).node.get())) return false;
  }
  return true;
}

// The nodes whose value, or whose history, may be asked for when `kept` ones are evaluated.
Nodes needed_later(const std::vector<NodeRef>& order, const std::vector<NodeRef>& held, const Nodes& kept) {
  Nodes needed;
  for (const NodeRef& node : held) {
    if (node->evaluated() || node->needs_grad() || !is_kept(node, kept)) needed.insert(node.get());
  }
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = *order[i];
    if (node.evaluated() || !needed.contains(&node) || (kept.contains(&node) && !node.needs_grad())) continue;
    for (const Value& input : node.inputs()) needed.insert(input.node.get());
  }
  return needed;
}

Nodes bases_of(const std::vector<Value>& values) {
  Nodes nodes;
  for (const Value& value : values) nodes.insert(ir::base_of(value).node.get());
  return nodes;
}

}  // namespace

Nodes overwritable(std::vector<Value>& outputs, const std::vector<NodeRef>& evaluated) {
  if (std::none_of(evaluated.begin(), evaluated.end(), [](const NodeRef& node) { return is_state_update(*node); }))
    return {};
  // With what custom functions were given, which evaluation passes by: it holds weights of which only a copy is read.
  const auto is_custom = [](const NodeRef& node) { return node->op() == Op::custom; };
  const bool is_all = std::none_of(evaluated.begin(), evaluated.end(), is_custom);
  std::vector<NodeRef> with_given;
  if (!is_all) with_given = ir::topological_order(outputs, [](const Node& node) { return node.evaluated(); });
  const std::vector<NodeRef>& order = is_all ? evaluated : with_given;
  const std::vector<NodeRef> held =
      held_outside(order, is_all ? std::span<const NodeRef>() : std::span(evaluated), outputs);
  std::vector<Value> others;
  Nodes kept = bases_of(outputs), computed_anyway;
  for (const NodeRef& node : evaluated) computed_anyway.insert(node.get());
  for (const NodeRef& node : held) {
    const Value base = ir::base_of({node, 0});
    if (node->evaluated() || node->results() != 1 || base.node->evaluated() || kept.contains(base.node.get())) continue;
    if (!computed_anyway.contains(base.node.get())) continue;  // only a gradient would read it
    if (base.node->op() == Op::store) {
      outputs.push_back(base);
      kept.insert(base.node.get());
    } else {
      others.push_back(base);
    }
  }
  const auto free_states = [&](const Nodes& computed) {
    const Nodes needed = needed_later(order, held, computed);
    Nodes free;
    for (const NodeRef& node : order) {
      if (!is_state_update(*node) || !computed.contains(node.get())) continue;
      const Node* state = node->input(0).node.get();
      if (state->evaluated() && only_reference(*state) && !needed.contains(state)) free.insert(state);
    }
    return free;
  };
  const auto bytes_of_all = [](const Nodes& nodes) {
    size_t bytes = 0;
    for (const Node* node : nodes) bytes += ir::bytes_of(node->type());
    return bytes;
  };
  Nodes free = free_states(kept);
  if (others.empty()) return free;
  Nodes with_others = kept;
  size_t taken = 0;
  for (const Value& value : others) {
    if (with_others.insert(value.node.get())) taken += ir::bytes_of(value.node->type());
  }
  Nodes more = free_states(with_others);
  if (bytes_of_all(more) < bytes_of_all(free) + taken || more.size() == free.size()) return free;
  for (const Value& value : others) {
    if (kept.insert(value.node.get())) outputs.push_back(value);
  }
  return more;
}

}  // namespace tenon::exec
