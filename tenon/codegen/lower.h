// From a group of ops to one loop nest.

#pragma once

#include "tenon/ir/loop_nest.h"
#include "tenon/plan/group.h"

namespace tenon::codegen {

/// Buffers of the nest are the group's inputs, then its outputs.
ir::LoopNest lower(const plan::Group& group);

}  // namespace tenon::codegen
