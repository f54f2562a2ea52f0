// Save or recompute: large values that a product reads early and another one reads late are computed twice instead of
// being kept in between.
//
// What a layer's product reads (a normalised row, an activation) is needed again for the gradient of its weight, a
// whole forward and half a backward pass later. Where all that the value is made of is kept for the backward pass
// anyway, the late product gets a copy of the value that is computed again beside its gradient. The bits are the same.

#pragma once

#include <vector>

#include "tenon/plan/assemble.h"

namespace tenon::plan {

struct Recomputed {
  std::vector<ir::Value> outputs;
  /// Values that are computed again, and what there has to be first: each is to be computed late.
  ByNode<ir::NodeRef> behind;
};

/// The graph in which late products read copies.
Recomputed recompute(const std::vector<ir::Value>& outputs, const ir::Limits& limits);

/// The same order with what is computed again, and all that needs it, last.
std::vector<ir::NodeRef> late_ones_last(std::vector<ir::NodeRef> order, const Recomputed& recomputed,
                                        const Assemblies& assemblies);

}  // namespace tenon::plan
