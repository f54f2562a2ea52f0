// The order in which units run.

#pragma once

#include <unordered_set>
#include <vector>

#include "tenon/plan/group.h"

namespace tenon::plan {

/// Moves units forward that free at least as much memory as they take: the gradient of a weight runs as soon as what it
/// reads is there, and what it reads dies. `units` come in an order in which they can run; so do the results. Values of
/// `kept` nodes and pieces of an assembly have their memory anyway.
std::vector<Unit> shorten_lives(std::vector<Unit> units, const std::unordered_set<const ir::Node*>& kept,
                                const std::unordered_set<const ir::Node*>& pieces);

/// The values that a unit reads, without the views around them, and the nodes that it computes.
std::vector<const ir::Node*> read_by(const Unit& unit);
std::vector<const ir::Node*> made_by(const Unit& unit);

}  // namespace tenon::plan
