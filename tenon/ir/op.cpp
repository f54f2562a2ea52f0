// Turns the rows of ops.def into an array.

#include "tenon/ir/op.h"

#include "tenon/ir/attrs.h"

namespace tenon::ir {

constexpr OpInfo kOpTable[] = {
#define TENON_OP(name, kind, arity, dtype_rule, shape_rule, attrs, identity, flags)                     \
  {#name,  Kind::kind,         arity, DTypeRule::dtype_rule, ShapeRule::shape_rule, kAttrsIndex<attrs>, \
   #attrs, Identity::identity, flags},
#include "tenon/ir/ops.def"
};

std::span<const OpInfo> op_table() { return kOpTable; }

}  // namespace tenon::ir
