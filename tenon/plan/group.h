// Fusion: which ops become one kernel.
//
// A group is a loop nest to be: an iteration shape, the axes its reductions fold, and the values it must write. All
// that lies between its inputs and outputs is recomputed inside it, so elementwise work is never stored for its own
// sake.

#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"
#include "tenon/ir/node.h"
#include "tenon/ir/view.h"
#include "tenon/plan/assemble.h"

namespace tenon::plan {

struct Group {
  Dims shape;                      // of the iteration: of the reductions' operand, or of the elementwise results
  Dims axes;                       // folded by its row reductions; empty when it has none
  Dims inner;                      // with column reductions, the axes that they keep: of the elements of a row
  std::vector<ir::Value> inputs;   // values that exist before it runs, in order of first use
  std::vector<ir::Value> outputs;  // in `shape`, one value per row (`shape` with the folded axes at 1 or gone), or one
                                   // per column: results of is_column_reduction nodes
  std::vector<bool> aligned;       // per input: element i of the results needs element i of it and no other
  std::vector<uint32_t> in_place;  // per output: the input whose memory it takes over, or kFresh; empty: none does

  static constexpr uint32_t kFresh = ir::LoopNest::kFresh;
};

/// What a contract adds to its sums before it writes them; see ir::Epilogue.
struct Epilogue {
  ir::NodeRef result;  // what is written instead of the contract's own result; none: no epilogue
  ir::Value bias, residual;
  ir::IndexMap bias_map;  // over the columns
};

/// One kernel of a plan, in order of execution: a group, or a node that is a call of its own.
struct Unit {
  Group group;
  ir::NodeRef call;  // set for calls
  Epilogue epilogue;
  std::vector<ir::Value> pieces;  // of what is put together from them, without a kernel of its own
};

/// Cuts the unevaluated nodes of `order` (operands first) into units. `kept` are the nodes whose results must exist
/// afterwards; units come depth first behind `results`. Values that are put together from pieces need no kernel. With
/// `alone` every op is a unit by itself.
std::vector<Unit> fuse(const std::vector<ir::NodeRef>& order, const std::unordered_set<const ir::Node*>& kept,
                       const Assemblies& assemblies, const std::vector<ir::Value>& results, bool alone = false);

/// Whether a node has no kernel of its own: whatever reads it computes it again.
bool is_inline(const ir::Node& node);

/// Whether a reduction folds all leading axes and keeps the trailing ones: a bias gradient, say. It is then computed
/// beside the rows of a group, and its order of additions is that of ir::column_block, in whatever group it is.
bool is_column_reduction(const ir::Node& node);
/// The axes that it keeps, without those of size 1.
Dims column_axes(const ir::Node& node);

/// Whether values of the other shape are those of a group's shape in the same order, and not one value per row.
bool is_regrouped(const Dims& shape, const Dims& axes, const Dims& other);
/// The row shape of a group: its shape with the folded axes at 1.
Dims row_shape(const Dims& shape, const Dims& axes);
/// How a per-row value is seen from the whole shape: every element of a row sees the row's value.
ir::IndexMap row_map(const Dims& shape, const Dims& axes);

}  // namespace tenon::plan
