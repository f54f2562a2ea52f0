// Expressions that share a kernel, put together as one loop nest.

#pragma once

#include <vector>

#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"
#include "tenon/plan/expression.h"

namespace tenon::plan {

/// One value that a group computes.
struct Member {
  enum class Kind : uint8_t {
    reduction,  // one value per row
    column,     // one per element position, folded over all rows; complete only when the group is
    result,     // elementwise: one per element, or one per row made of reductions
  };
  Kind kind = Kind::result;
  ir::NodeRef node;
  Expression expression;  // of the node, or of a reduction's operand
};

/// The iteration space of a group: the shape of the reductions' operand, or of the elementwise results.
struct GroupSpace {
  Dims shape;
  Dims axes;   // folded by its row reductions; empty when it has none
  Dims inner;  // with column reductions, the axes that they keep: of the elements of a row
};

/// A finished kernel, and the values that its buffers hold.
struct FusedKernel {
  ir::LoopNest nest;
  std::vector<ir::Value> inputs;  // values that exist before it runs, in order of first use
  std::vector<ir::Value> outputs;
  ir::Numbers numbers;                 // that its launch brings
  std::vector<ir::ByteRange> touched;  // per buffer, inputs first: the bytes of the value that the nest reaches
  std::vector<bool> aligned;           // per input: element i of the results needs element i of it and no other
  std::vector<bool> whole;             // per output: one value per element, not per row or column
};

/// `is_written` tells per member whether it is an output.
FusedKernel build_nest(const GroupSpace& space, std::vector<Member> members, const std::vector<bool>& is_written,
                       const ir::Limits& limits);

/// Puts all stores behind all loads, as a nest must have them that writes over what it reads.
void move_stores_back(ir::LoopNest& nest);

/// Lets the map of an operand begin at the first byte that it reaches, rounded down to `alignment`: what differs
/// between slices of one buffer is then an argument, not code. Returns the bytes that are reached; they begin where the
/// map does.
ir::ByteRange start_at_first_byte(ir::IndexMap& map, DType dtype, size_t alignment);

/// Whether values of the other shape are those of a group's shape in the same order, and not one value per row.
bool is_regrouped(const Dims& shape, const Dims& axes, const Dims& other);
/// The row shape of a group: its shape with the folded axes at 1.
Dims row_shape(const Dims& shape, const Dims& axes);
/// How a per-row value is seen from the whole shape: every element of a row sees the row's value.
ir::IndexMap row_map(const Dims& shape, const Dims& axes);

}  // namespace tenon::plan
