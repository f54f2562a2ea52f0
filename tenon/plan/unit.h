// One kernel of a plan to be, and the nodes that it reads and makes.

#pragma once

#include <vector>

#include "tenon/plan/nest.h"

namespace tenon::plan {

/// What a contract, or a convolution, adds to its sums before it writes them; see ir::Epilogue.
struct Addends {
  ir::NodeRef result;  // what is written instead of the contract's own result; none: nothing is added
  ir::Value bias, residual;
  ir::IndexMap bias_map;  // over the columns, or channels
  ir::NodeRef activated;  // gelu of the result, which is given beside it
  bool relu = false;      // the result is that of the sums and 0 which is larger
  ir::Value slope_at;     // the result is multiplied by the slope of gelu here
};

/// A fused kernel, a node that is a call of its own, or a value that is put together from pieces without any kernel.
struct Unit {
  FusedKernel fused;
  ir::NodeRef call;  // set for calls and for what is put together
  Addends addends;
  std::vector<ir::Value> pieces;
};

/// What a unit reads, seen through views, and what it makes: each node once.
using NodeList = base::SmallVector<const ir::Node*, 8>;
NodeList nodes_read_by(const Unit& unit);
NodeList nodes_made_by(const Unit& unit);

}  // namespace tenon::plan
