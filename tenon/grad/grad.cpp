// The walk: users before operands, gradients added up as they arrive.

#include "tenon/grad/grad.h"

#include <unordered_map>
#include <unordered_set>

#include "tenon/base/error.h"
#include "tenon/grad/rules.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"

namespace tenon::autodiff {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Value;

bool stops(const Node& node) { return !node.needs_grad(); }

using Arrived = std::unordered_map<const Node*, std::vector<Value>>;

void arrive(Arrived& arrived, const Value& at, const Value& gradient) {
  std::vector<Value>& slots = arrived[at.node.get()];
  slots.resize(at.node->results());
  Value& slot = slots[at.index];
  slot = slot ? ir::add(slot, gradient) : gradient;
}

// What the caller asks for: nodes, and leaves by identity, because a leaf that was updated is another node.
struct Wanted {
  std::unordered_set<const Node*> nodes;
  std::unordered_map<uint64_t, Value> leaves;  // with what has arrived so far
  bool contains(const Node& node) const {
    return node.op() == ir::Op::param ? leaves.contains(node.attrs_as<ir::ParamAttrs>().id) : nodes.contains(&node);
  }
};

}  // namespace

std::vector<Value> gradients(std::span<const Value> outputs, std::span<const Value> seeds,
                             std::span<const Value> inputs, bool partial) {
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
  std::unordered_set<const Node*> useful;
  for (const NodeRef& node : order) {
    bool reaches = wanted.contains(*node);
    for (const Value& operand : node->inputs()) reaches = reaches || useful.contains(operand.node.get());
    if (reaches && node->needs_grad()) useful.insert(node.get());
  }

  Arrived arrived;
  for (size_t i = 0; i < outputs.size(); ++i) arrive(arrived, outputs[i], seeds[i]);
  std::unordered_map<const Node*, std::vector<Value>> kept;
  for (size_t i = order.size(); i-- > 0;) {
    const NodeRef& node = order[i];
    auto found = arrived.find(node.get());
    if (found == arrived.end()) continue;
    std::vector<Value> grads = std::move(found->second);
    arrived.erase(found);  // a long chain must not keep a gradient per node
    if (wanted.contains(*node)) {
      if (node->op() == ir::Op::param) {
        Value& total = wanted.leaves[node->attrs_as<ir::ParamAttrs>().id];
        total = total ? ir::add(total, grads[0]) : grads[0];
      } else {
        kept[node.get()] = grads;
      }
      if (partial) continue;
    }
    const Rule rule = useful.contains(node.get()) ? rule_of(node->op()) : nullptr;
    if (!rule) continue;
    std::vector<Value> operand_grads(node->inputs().size());
    Context context{node, grads, operand_grads};
    rule(context);
    for (size_t k = 0; k < operand_grads.size(); ++k) {
      const Value& operand = node->input(k);
      if (!operand_grads[k] || !useful.contains(operand.node.get())) continue;
      if (!(operand_grads[k].type() == operand.type())) {
        base::fail(ir::name(node->op()), "its gradient rule gives operand {} the wrong type", k);
      }
      arrive(arrived, operand, operand_grads[k]);
    }
  }
  std::vector<Value> results;
  for (const Value& input : inputs) {
    if (input.node->op() == ir::Op::param) {
      results.push_back(wanted.leaves[input.node->attrs_as<ir::ParamAttrs>().id]);
      continue;
    }
    auto found = kept.find(input.node.get());
    results.push_back(found == kept.end() ? Value() : found->second[input.index]);
  }
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
