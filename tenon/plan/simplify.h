// Rewrites of a graph before it is planned, all in one pass. None changes a bit of any value: recording keeps what a
// program wrote, and what can be said more briefly is said so here.

#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "tenon/ir/node.h"

namespace tenon::plan {

struct Simplification {
  std::string_view name;
  /// What stands for a node, given its operands as they are by now; nothing where the rule does not apply.
  std::optional<ir::Value> (*apply)(const ir::Node& node, std::span<const ir::Value> inputs);
};

/// All rules, in the order in which they are tried.
std::span<const Simplification> simplifications();

/// The first rule that applies.
std::optional<ir::Value> simplified(const ir::Node& node, std::span<const ir::Value> inputs);

}  // namespace tenon::plan
