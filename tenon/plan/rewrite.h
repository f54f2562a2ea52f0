// A graph with some nodes replaced, and everything above them recorded anew.

#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon::plan {

/// What stands for a node's results, given its operands as they are by now; nothing: the node stays as it is.
using Rule =
    std::function<std::optional<std::vector<ir::Value>>(const ir::Node& node, std::span<const ir::Value> inputs)>;

/// The outputs of the graph in which the rule has been applied to every node that is not evaluated, operands first.
/// What the rule returns is final.
///
/// With a realm (see ir::InRealm), which must be this thread's, nodes of other realms are recorded anew in it even
/// where nothing has changed: then equal values are one value, however they came about.
std::vector<ir::Value> rewrite(std::span<const ir::Value> outputs, const Rule& rule, uint64_t realm = 0);
/// The same for one who knows the order of evaluation of the outputs.
std::vector<ir::Value> rewrite(std::span<const ir::Value> outputs, const std::vector<ir::NodeRef>& order,
                               const Rule& rule, uint64_t realm = 0);

}  // namespace tenon::plan
