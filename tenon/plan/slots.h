// Units become launches over slots of memory.
//
// Temporaries live in one arena from their launch to their last reader. Memory is taken over where that changes
// nothing: by a store from the state that it replaces, by an elementwise result from an operand that dies with it, by a
// product from the matrix that it is added to.

#pragma once

#include "tenon/plan/parts.h"
#include "tenon/plan/plan.h"

namespace tenon::plan {

/// The plan of these units, which come in the order in which they run. Results of `kept` nodes are kept.
Plan assign_slots(std::vector<Unit> units, const Request& request, const Nodes& kept, const Parts& parts);

}  // namespace tenon::plan
