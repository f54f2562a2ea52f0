// Reverse-mode differentiation: adds nodes to the graph, one rule per op of the table.

#pragma once

#include <span>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon::autodiff {

/// The gradients of sum(outputs * seeds) with respect to each input value; empty where an input plays no part. With
/// `partial` the inputs are taken as independent of one another: the walk stops at each of them. Behind them stand the
/// gradients of the values `passed`, those among them that the walk has passed on its way to an input.
std::vector<ir::Value> gradients(std::span<const ir::Value> outputs, std::span<const ir::Value> seeds,
                                 std::span<const ir::Value> inputs, bool partial = false,
                                 std::span<const ir::Value> passed = {});

/// The differentiable leaves that these values depend on, in topological order, each once.
std::vector<ir::Value> params_below(std::span<const ir::Value> values);

}  // namespace tenon::autodiff
