// Fusion: which ops become one kernel.
//
// A group is a loop nest to be: an iteration space and the values that it must compute. All that lies between its
// inputs and outputs is recomputed inside it, so elementwise work is never stored for its own sake.

#pragma once

#include <vector>

#include "tenon/ir/limits.h"
#include "tenon/plan/assemble.h"
#include "tenon/plan/unit.h"

namespace tenon::plan {

/// Cuts the unevaluated nodes of `order` (operands first) into units that keep to the limits. `kept` are the nodes
/// whose results must exist afterwards; units come depth first behind `results`. Values that are put together from
/// pieces need no kernel. Without limits.fuses every op is a unit by itself.
/// `behind` are values that are computed again for a late reader (plan/recompute.h): they join no kernel that runs
/// before what they come behind is there.
std::vector<Unit> fuse(const std::vector<ir::NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
                       const std::vector<ir::Value>& results, const ByNode<ir::NodeRef>& behind,
                       const ir::Limits& limits);

/// The elementwise nodes of `order` that are written to memory; the others are computed again by whatever reads them.
Nodes find_stored(const std::vector<ir::NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
                  const ir::Limits& limits);

/// Whether a reduction folds all leading axes and keeps the trailing ones: a bias gradient, say. It is then computed
/// beside the rows of a group, and its order of additions is that of ir::column_block, in whatever group it is.
bool is_column_reduction(const ir::Node& node);

}  // namespace tenon::plan
