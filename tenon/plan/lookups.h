// Looking up inside kernels, where that endangers no state.
//
// A call looks at all indices before it writes anything; a kernel finds a bad one on its way. A state keeps the value
// from before a bad index only if every index was looked at before the state was overwritten. So a kernel that looks up
// neither writes over a state nor runs behind a kernel that does, unless what it looks up is made of that state.

#pragma once

#include <vector>

#include "tenon/ir/limits.h"
#include "tenon/plan/assemble.h"

namespace tenon::plan {

struct StatesAndLookups {
  Nodes behind_states;  // what is written over a state, and what is made of that
  Nodes stored;         // what must be in memory, so that such kernels find looked up what they need
};

/// For the nodes of `order` (operands first); nothing on a device whose kernels do not look up.
StatesAndLookups find_lookups(const std::vector<ir::NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
                              const ir::Limits& limits);

}  // namespace tenon::plan
