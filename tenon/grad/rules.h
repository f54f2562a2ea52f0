// The vector-Jacobian product of every op: given a node and the gradients of its results, the gradients of its
// operands.

#pragma once

#include <vector>

#include "tenon/ir/node.h"

namespace tenon::autodiff {

struct Context {
  const ir::NodeRef& node;
  std::span<const ir::Value> grads;  // one per result; empty where none arrived
  std::span<ir::Value> out;          // one per operand; left empty where there is none

  const ir::Value& in(size_t i) const { return node->input(i); }
  ir::Value result(uint32_t i = 0) const { return {node, i}; }
  const ir::Value& grad() const { return grads[0]; }
  bool wants(size_t i) const { return in(i).needs_grad(); }
};

using Rule = void (*)(Context&);

/// Null for ops that pass no gradient.
Rule rule_of(ir::Op op);

}  // namespace tenon::autodiff
