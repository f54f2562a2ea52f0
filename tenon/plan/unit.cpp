// What a unit reads and makes.

#include "tenon/plan/unit.h"

#include <algorithm>

#include "tenon/ir/walk.h"

namespace tenon::plan {

using ir::Node;
using ir::Value;

NodeList nodes_read_by(const Unit& unit) {
  NodeList nodes;
  const auto add = [&](std::span<const Value> values) {
    for (const Value& value : values) {
      const Node* node = value ? ir::base_node(value) : nullptr;
      if (node && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    }
  };
  if (!unit.pieces.empty()) {
    add(unit.pieces);
  } else if (!unit.call) {
    add(unit.fused.inputs);
  } else {
    add(unit.call->inputs());
    for (const Value* addend : {&unit.addends.bias, &unit.addends.residual, &unit.addends.slope_at}) add({addend, 1});
  }
  return nodes;
}

NodeList nodes_made_by(const Unit& unit) {
  if (unit.addends.activated) return {unit.addends.activated.get(), unit.addends.result.get()};
  if (unit.addends.result) return {unit.addends.result.get()};
  if (unit.call) return {unit.call.get()};
  NodeList nodes;
  for (const Value& output : unit.fused.outputs) nodes.push_back(output.node.get());
  return nodes;
}

}  // namespace tenon::plan
