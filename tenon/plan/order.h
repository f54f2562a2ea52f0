// The order in which units run.

#pragma once

#include <vector>

#include "tenon/plan/unit.h"

namespace tenon::plan {

/// Moves units forward that free at least as much memory as they take: the gradient of a weight runs as soon as what it
/// reads is there, and what it reads dies. `units` come in an order in which they can run; so do the results. Values of
/// `kept` nodes and pieces of an assembly have their memory anyway.
std::vector<Unit> shorten_lives(std::vector<Unit> units, const Nodes& kept, const Nodes& pieces);

/// A launch that may find a bad index must run before the first store in place: a failed step changes nothing. Moves
/// the units that write state (`writes_state`), and what reads them, behind the last unit that may fail, where that is
/// possible; where it is not, the store must take fresh memory.
void move_behind_faults(std::vector<Unit>& units, const std::vector<bool>& writes_state);

/// Whether a unit may find a bad index.
bool may_fault(const Unit& unit);

}  // namespace tenon::plan
