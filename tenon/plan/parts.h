// Where the pieces of assemblies are written: each value that belongs into another's memory, and where in it.

#pragma once

#include <vector>

#include "tenon/plan/assemble.h"
#include "tenon/plan/unit.h"

namespace tenon::plan {

struct Part {
  ir::NodeRef whole;
  size_t begin;  // bytes
};

struct Parts {
  Assemblies assemblies;
  ByNode<Part> of;

  const Part* find(const ir::Node* node) const { return of.find(node); }
  Nodes nodes() const;
};

/// Finds what is put together from pieces, and orders the nodes of `order` so that the pieces come first.
Parts find_parts(std::vector<ir::NodeRef>& order, const std::vector<ir::Value>& outputs, const Nodes& kept);

/// Gradients of micro-batches are added up where the last one belongs: what a piece of an assembly is added to, or made
/// of element by element, is written into the same place when nothing else reads it.
void pass_targets_up(Parts& parts, const std::vector<Unit>& units, const Nodes& kept);

/// What a scatter or scatter_add changes, if that is a whole value which the launch reads nowhere else: the rows can be
/// written where it lies.
ir::Value scattered_base(const ir::NodeRef& call);

/// Whether a call reads this value.
bool is_operand(const ir::Node& call, const ir::Value& value);

}  // namespace tenon::plan
