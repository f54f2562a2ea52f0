// What a kernel computes for one value, from what lies in memory: the one walk from nodes to instructions.
//
// Everything between a value and the memory behind it is part of its expression: elementwise ops become instructions,
// and views become part of the map of what is read below them. Fusion looks at the reads to decide what shares a
// kernel; the instructions then become part of the kernel's loop nest (plan/nest.h), so no expression is walked twice.

#pragma once

#include <vector>

#include "tenon/base/flat_map.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"
#include "tenon/ir/node.h"

namespace tenon::plan {

/// A value that is in memory, or a reduction that the kernel may compute itself, and how it is seen.
struct Read {
  ir::Value value;
  ir::IndexMap map;         // over the shape of the expression's value
  bool as_a_whole = false;  // every element may need all of it: the state of random numbers, a table
};

struct Expression {
  /// Operands before users, the value itself last. The buffer of a load, a gather or of random numbers is the number of
  /// a read; a load and a gather have the read's map. All other maps are over the shape of the value. The bits of
  /// random numbers are where they begin.
  std::vector<ir::Instr> code;
  std::vector<Read> reads;
  size_t work = 1;  // ops
};

using Nodes = base::FlatSet<const ir::Node*>;
template <typename T>
using ByNode = base::FlatMap<const ir::Node*, T>;

/// The expression that computes a node's value itself, stored or not. `stored` nodes are written to memory.
Expression expression_of(const ir::NodeRef& node, const Nodes& stored, const ir::Limits& limits);
/// The expression behind an operand, which is a read alone if it is stored.
Expression expression_behind(const ir::Value& operand, const Nodes& stored, const ir::Limits& limits);

/// Whether a node has no kernel of its own: whatever reads it computes it again.
bool is_inline(const ir::Node& node, const ir::Limits& limits);

}  // namespace tenon::plan
