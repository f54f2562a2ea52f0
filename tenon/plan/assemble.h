// Values that are put together without a kernel of their own: their pieces are written where they belong by whatever
// computes them.
//
// Sums of pads that fill a flat buffer piece by piece: the gradient of an arena of parameters.
// The gradient of every slice arrives as a pad of the whole arena, and they are summed. Where the pads lie beside each
// other the sum is no arithmetic at all: each piece is written where it belongs by whatever computes it. Pads of one
// and the same range (micro-batches) are added first, in the order of the sum: a product adds to what is there, a large
// value is added as soon as it is known, and many small ones that lie side by side are put together and added at once.
// A piece that could hold -0 gets 0 added, as the sum would have done.
//
// What cat records for many values, in one row: the places before an edge from one value, those after it from another.
// Nothing is added, so -0 stays.
//
// A store that replaces a whole buffer, as an optimizer does with weights and moments, is the one piece that it stores.

#pragma once

#include <vector>

#include "tenon/plan/expression.h"

namespace tenon::plan {

struct Piece {
  int64_t begin;    // of its elements in the whole
  ir::Value value;  // in memory its elements follow each other
};

/// By the node of the whole: pieces in ascending order, without gaps.
struct Assemblies : ByNode<std::vector<Piece>> {
  Nodes totals;  // running totals, to be written and not computed again
};

/// What can be put together among the nodes of `order` (operands first). `kept` nodes must exist on their own.
Assemblies find_assemblies(const std::vector<ir::NodeRef>& order, const Nodes& kept);

}  // namespace tenon::plan
