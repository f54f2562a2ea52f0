// In loops: nothing bounds a chain of views.

#include "tenon/ir/walk.h"

namespace tenon::ir {

namespace {

// The views between the two, the one around `base` last.
base::SmallVector<const Node*, 8> views_between(const Value& value, const Value& base) {
  base::SmallVector<const Node*, 8> views;
  for (const Value* at = &value; !(*at == base); at = &shown_by(*at->node, at->index)) {
    if (at->node->info().kind == Kind::movement) views.push_back(at->node.get());
  }
  return views;
}

}  // namespace

std::vector<Move> moves_from(const Value& base, const Value& value) {
  const auto views = views_between(value, base);
  std::vector<Move> moves;
  for (size_t i = views.size(); i-- > 0;) moves.push_back(move_of(views[i]->op(), views[i]->attrs()));
  return moves;
}

Seen look_through(const Value& value) {
  const Value& base = base_of(value);
  Seen seen{base, IndexMap(base.shape())};
  const auto views = views_between(value, base);
  for (size_t i = views.size(); i-- > 0;) seen.map.apply(views[i]->op(), views[i]->attrs());
  return seen;
}

}  // namespace tenon::ir
