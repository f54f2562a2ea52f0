// What a unit reads and makes.

#include "tenon/plan/unit.h"

namespace tenon::plan {

using ir::Value;

std::vector<Value> operands_of(const Unit& unit) {
  if (!unit.pieces.empty()) return unit.pieces;
  if (!unit.call) return unit.fused.inputs;
  std::vector<Value> operands(unit.call->inputs().begin(), unit.call->inputs().end());
  for (const Value& value : {unit.addends.bias, unit.addends.residual, unit.addends.slope_at}) {
    if (value) operands.push_back(value);
  }
  return operands;
}

std::vector<Value> results_of(const Unit& unit) {
  if (unit.addends.activated) return {{unit.addends.activated, 0}, {unit.addends.result, 0}};
  if (unit.addends.result) return {{unit.addends.result, 0}};
  if (!unit.call) return unit.fused.outputs;
  return {{unit.call, 0}};
}

}  // namespace tenon::plan
