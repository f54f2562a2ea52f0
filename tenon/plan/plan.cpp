// The way from a graph to a plan, step by step.

#include "tenon/plan/plan.h"

#include <algorithm>

#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/fuse.h"
#include "tenon/plan/order.h"
#include "tenon/plan/slots.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

// The results in the order in which they are best computed: what lies behind everything else leads the way, so the
// gradients of a first micro-batch come before the loss of the second. Starting from the losses would run all forward
// passes first and keep what each needs for its backward pass.
std::vector<Value> deepest_first(std::vector<Value> outputs, const std::vector<NodeRef>& order) {
  if (outputs.size() < 2) return outputs;
  std::unordered_map<const Node*, uint32_t> depth;
  for (const NodeRef& node : order) {
    uint32_t deepest = 0;
    if (!node->evaluated()) {
      for (const Value& input : node->inputs()) {
        const auto found = depth.find(input.node.get());
        if (found != depth.end()) deepest = std::max(deepest, found->second + 1);
      }
    }
    depth[node.get()] = deepest;
  }
  std::stable_sort(outputs.begin(), outputs.end(),
                   [&](const Value& a, const Value& b) { return depth[a.node.get()] > depth[b.node.get()]; });
  return outputs;
}

std::vector<Unit> one_op_per_unit(const std::vector<NodeRef>& order) {
  std::vector<Unit> units;
  for (const NodeRef& node : order) {
    if (node->evaluated() || ir::is_transparent(*node) || node->op() == Op::buffer) continue;
    units.emplace_back().call = node;
  }
  return units;
}

// Whether a unit makes a store that is kept, or writes what such a store puts together.
bool writes_kept_state(const Unit& unit, const Nodes& kept, const Parts& parts) {
  if (unit.call && unit.call->op() == Op::store && kept.contains(unit.call.get())) return true;
  const std::vector<Value> results = results_of(unit);
  return std::any_of(results.begin(), results.end(), [&](const Value& result) {
    const Part* part = parts.find(result.node.get());
    return part && part->whole->op() == Op::store && kept.contains(part->whole.get());
  });
}

}  // namespace

Plan make_plan(const Request& request) {
  std::vector<NodeRef> order = ir::order_of_evaluation(request.outputs);
  Nodes kept;
  for (const Value& output : request.outputs) {
    const Value base = ir::base_of(output);
    if (!base.node->evaluated()) kept.insert(base.node.get());
  }
  Parts parts;
  std::vector<Unit> units;
  if (request.limits.one_op_per_kernel) {
    units = one_op_per_unit(order);
  } else {
    const std::vector<Value> results = deepest_first(request.outputs, order);
    if (request.limits.fuses) parts = find_parts(order, request.outputs, kept);
    units = fuse(order, kept, parts.assemblies, results, request.limits);
    if (request.limits.fuses) {
      pass_targets_up(parts, units, kept);
      units = shorten_lives(std::move(units), kept, parts.nodes());
    }
  }
  std::vector<bool> writes_state;
  for (const Unit& unit : units) writes_state.push_back(writes_kept_state(unit, kept, parts));
  move_behind_faults(units, writes_state);
  return assign_slots(std::move(units), request, kept, parts);
}

}  // namespace tenon::plan
