// The walk: users before operands, gradients added up as they arrive.

#include "tenon/grad/grad.h"

#include <unordered_map>
#include <unordered_set>

#include "tenon/base/error.h"
#include "tenon/base/flat_map.h"
#include "tenon/grad/rules.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"

namespace tenon::autodiff {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Value;

bool stops(const Node& node) { return !node.needs_grad(); }

// The gradients of a node's results; empty until one arrives.
using Grads = base::SmallVector<Value, 1>;

// What an embedding's gradient looks like: rows added to nothing.
bool is_scattered(const Value& gradient) {
  if (gradient.node->op() != ir::Op::scatter_add) return false;
  Value base = gradient.node->input(0);
  while (base.node->op() == ir::Op::expand || base.node->op() == ir::Op::reshape) {
    Value inner = base.node->input(0);
    base = std::move(inner);
  }
  return base.node->op() == ir::Op::constant && base.node->attrs_as<ir::ConstantAttrs>().bits == 0;
}

// The rows of a scattered gradient are added to the other one: of an embedding that is the head too, 50257 rows of
// zeros would be written and added otherwise, for the few hundred that the tokens picked.
Value sum_of(const Value& a, const Value& b) {
  if (!is_scattered(b)) return is_scattered(a) ? sum_of(b, a) : ir::add(a, b);
  const Node& rows = *b.node;
  return ir::scatter_add(a, rows.input(1), rows.input(2), static_cast<size_t>(rows.attrs_as<ir::AxisAttrs>().axis));
}

void add_to(Value& total, const Value& gradient) { total = total ? sum_of(total, gradient) : gradient; }

void arrive(Grads& grads, const Value& at, const Value& gradient) {
  grads.resize(at.node->results());
  add_to(grads[at.index], gradient);
}

// What the caller asks for: nodes, and leaves by identity, because a leaf that was updated is another node.
struct Wanted {
  base::FlatSet<const Node*> nodes;
  std::unordered_map<uint64_t, Value> leaves;  // with what has arrived so far
  bool contains(const Node& node) const {
    return node.op() == ir::Op::param ? leaves.contains(node.attrs_as<ir::ParamAttrs>().id) : nodes.contains(&node);
  }
  // What has arrived at a leaf. A leaf that was read or updated on the way is several nodes: what arrives at them is
  // added up in one order, whether it was or not.
  Value* total_of(const Node& node) {
    if (node.op() != ir::Op::param) return nullptr;
    const auto found = leaves.find(node.attrs_as<ir::ParamAttrs>().id);
    return found == leaves.end() ? nullptr : &found->second;
  }
};

}  // namespace

std::vector<Value> gradients(std::span<const Value> outputs, std::span<const Value> seeds,
                             std::span<const Value> inputs, bool partial, std::span<const Value> passed) {
  base::FlatSet<const Node*> watched;
  for (const Value& value : passed) watched.insert(value.node.get());
  Wanted wanted;
  for (const Value& input : inputs) {
    if (input.node->op() == ir::Op::param)
      wanted.leaves[input.node->attrs_as<ir::ParamAttrs>().id];
    else
      wanted.nodes.insert(input.node.get());
  }
  const std::vector<NodeRef> order = ir::topological_order(
      outputs, [&](const Node& node) { return stops(node) || (partial && wanted.contains(node)); });
  // Only nodes between the outputs and the inputs are worth a rule.
  base::FlatMap<const Node*, uint32_t> useful;  // and their places in the order
  std::vector<bool> is_useful(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    const Node& node = *order[i];
    if (!node.needs_grad()) continue;
    bool reaches = wanted.contains(node);
    for (const Value& operand : node.inputs()) reaches = reaches || useful.contains(operand.node.get());
    is_useful[i] = reaches;
    if (reaches) useful.emplace(&node, i);
  }

  const base::PassScope pass(base::Pass::backward);
  std::vector<Grads> arrived(order.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t* at = useful.find(outputs[i].node.get());
    if (Value* total = wanted.total_of(*outputs[i].node))
      add_to(*total, seeds[i]);
    else if (at)
      arrive(arrived[*at], outputs[i], seeds[i]);
  }
  base::FlatMap<const Node*, Grads> kept;
  for (size_t i = order.size(); i-- > 0;) {
    const NodeRef& node = order[i];
    if (arrived[i].empty()) continue;
    Grads grads = std::exchange(arrived[i], {});  // a long chain must not keep a gradient per node
    if (ir::GradientHooks* hooks = node->hooks()) {
      for (uint32_t k = 0; k < grads.size(); ++k) {
        if (grads[k]) grads[k] = hooks->applied(k, grads[k]);
      }
    }
    if (wanted.contains(*node)) {
      kept[node.get()] = grads;
      if (partial) continue;
    } else if (watched.contains(node.get())) {
      kept[node.get()] = grads;
    }
    const Rule rule = is_useful[i] ? rule_of(node->op()) : nullptr;
    if (!rule) continue;
    base::SmallVector<Value, 3> operand_grads(node->inputs().size());
    Context context{node, {grads.data(), grads.size()}, {operand_grads.data(), operand_grads.size()}};
    const base::LabelScope module(node->label(), base::Pass::backward);
    rule(context);
    for (size_t k = 0; k < operand_grads.size(); ++k) {
      const Value& operand = node->input(k);
      const uint32_t* at = operand_grads[k] ? useful.find(operand.node.get()) : nullptr;
      if (!at) continue;
      if (!(operand_grads[k].type() == operand.type())) {
        base::fail(ir::name(node->op()), "its gradient rule gives operand {} the wrong type", k);
      }
      if (Value* total = wanted.total_of(*operand.node))
        add_to(*total, operand_grads[k]);
      else
        arrive(arrived[*at], operand, operand_grads[k]);
    }
  }
  const auto kept_at = [&](const Value& value) {
    const Grads* found = kept.find(value.node.get());
    return found ? (*found)[value.index] : Value();
  };
  std::vector<Value> results;
  for (const Value& input : inputs) {
    if (input.node->op() == ir::Op::param) {
      results.push_back(wanted.leaves[input.node->attrs_as<ir::ParamAttrs>().id]);
      continue;
    }
    results.push_back(kept_at(input));
  }
  for (const Value& value : passed) results.push_back(kept_at(value));
  return results;
}

std::vector<Value> params_below(std::span<const Value> values) {
  std::vector<Value> params;
  std::unordered_set<uint64_t> seen;
  for (const NodeRef& node : ir::topological_order(values, stops)) {
    if (node->op() == ir::Op::param && seen.insert(node->attrs_as<ir::ParamAttrs>().id).second)
      params.push_back({node, 0});
  }
  return params;
}

}  // namespace tenon::autodiff
