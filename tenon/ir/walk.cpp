// In loops: nothing bounds a chain of views.

#include "tenon/ir/walk.h"

#include <algorithm>

namespace tenon::ir {

Value base_of(const Value& value) {
  Value base = value;
  while (step_through(base)) {
  }
  return base;
}

std::vector<Move> moves_from(const Value& base, const Value& value) {
  std::vector<Move> moves;
  for (Value v = value; !(v == base);) {
    if (v.node->info().kind == Kind::movement) moves.push_back(move_of(v.node->op(), v.node->attrs()));
    Value next = shown_by(*v.node, v.index);  // before `v` lets its node go
    v = std::move(next);
  }
  std::reverse(moves.begin(), moves.end());
  return moves;
}

Seen look_through(const Value& value) {
  const Value base = base_of(value);
  Seen seen{base, IndexMap(base.shape())};
  if (!(base == value)) seen.map.apply(moves_from(base, value));
  return seen;
}

}  // namespace tenon::ir
