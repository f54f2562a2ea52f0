// Under base::checks_nan() every op runs by itself, and the first that makes a NaN is named with its module.

#pragma once

#include "tenon/exec/graph.h"
#include "tenon/exec/program_cache.h"

namespace tenon::exec {

/// Runs the graph op by op, without overwriting anything, and throws behind the first op that makes a NaN. Slow: what is
/// computed is thrown away, and the graph is evaluated as usual afterwards.
void check_for_nan(const Graph& graph, device::Device& target, ProgramCache& programs);

}  // namespace tenon::exec
