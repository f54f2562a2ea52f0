// Which state a plan may overwrite without anybody noticing.

#pragma once

#include <vector>

#include "tenon/base/flat_map.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

/// The buffer leaves that nothing can read any more once `outputs` are evaluated: nobody holds them, and nobody holds a
/// value that is made of them and stays unevaluated.
///
/// Values that somebody holds join `outputs` first, if they are new versions of a state, so that a later evaluation does
/// not compute them again; or if they are smaller than the state that they keep from being overwritten: gradients beside
/// an update of the weights. `order` is the order of evaluation of `outputs`; there must be no references to the graph but
/// its own, those of the two lists, and those of people who may still read.
base::FlatSet<const ir::Node*> overwritable(std::vector<ir::Value>& outputs,
                                                 const std::vector<ir::NodeRef>& order);

}  // namespace tenon::exec
