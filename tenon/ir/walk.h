// Walks over nodes that several rooms need: from a value through the views around it to what is computed.

#pragma once

#include <vector>

#include "tenon/ir/node.h"
#include "tenon/ir/view.h"

namespace tenon::ir {

/// Whether a node's result is an operand's, moved or merely marked: it has no value of its own.
inline bool is_transparent(const Node& node) {
  const OpInfo& info = node.info();
  return info.kind == Kind::movement || info.is(kPassThrough);
}

/// The operand that a transparent node shows as its result `index`.
inline const Value& shown_by(const Node& node, uint32_t index) {
  return node.input(node.op() == Op::custom ? index : 0);
}

/// Goes one node down if a view, or a mark, stands in between; evaluated nodes are what they are.
inline bool step_through(Value& value) {
  if (value.node->evaluated() || !is_transparent(*value.node)) return false;
  Value next = shown_by(*value.node, value.index);  // before `value` lets its node go
  value = std::move(next);
  return true;
}

/// What a value is without its movement ops and marks: a computed or leaf value. It is there as long as `value` is:
/// counting references is what walks would spend their time on.
inline const Value& base_of(const Value& value) {
  const Value* at = &value;
  while (!at->node->evaluated() && is_transparent(*at->node)) at = &shown_by(*at->node, at->index);
  return *at;
}
inline Value base_of(Value&& value) { return base_of(static_cast<const Value&>(value)); }
/// Its node alone.
inline const Node* base_node(const Value& value) { return base_of(value).node.get(); }

/// The same, and the way it is looked at.
struct Seen {
  Value base;
  IndexMap map;
};
Seen look_through(const Value& value);

/// The moves from `base`, as base_of gives it, to the value itself, in the order in which they are applied.
std::vector<Move> moves_from(const Value& base, const Value& value);

}  // namespace tenon::ir
