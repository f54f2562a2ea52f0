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

}  // namespace

std::vector<Value> gradients(std::span<const Value> outputs, std::span<const Value> seeds,
                             std::span<const Value> inputs) {
  const std::vector<NodeRef> order = ir::topological_order(outputs, stops);
  // Only nodes between the outputs and the inputs are worth a rule.
  std::unordered_set<const Node*> wanted, useful;
  for (const Value& input : inputs) wanted.insert(input.node.get());
  for (const NodeRef& node : order) {
    bool reaches = wanted.contains(node.get());
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
    if (wanted.contains(node.get())) kept[node.get()] = grads;
    if (!useful.contains(node.get())) continue;
    const Rule rule = rule_of(node->op());
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
    auto found = kept.find(input.node.get());
    results.push_back(found == kept.end() ? Value() : found->second[input.index]);
  }
  return results;
}

std::vector<Value> params_below(std::span<const Value> values) {
  std::vector<Value> params;
  for (const NodeRef& node : ir::topological_order(values, stops)) {
    if (node->op() == ir::Op::param) params.push_back({node, 0});
  }
  return params;
}

}  // namespace tenon::autodiff
