// The op table as data: everything the rest of the system may ask about an op.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tenon::ir {

enum class Op : uint8_t {
#define TENON_OP(name, ...) name,
#include "tenon/ir/ops.def"
};

enum class Kind : uint8_t { leaf, movement, unary, binary, ternary, reduce, indexed, call, effect };

/// How the operand dtypes must look and what the result's is; see infer.cpp.
enum class DTypeRule : uint8_t {
  attrs,
  random,
  same,
  first,
  number,
  real,
  integer,
  bits,
  compare,
  select,
  cast,
  bitcast,
  indexed,
  contract,
  attention,
  conv,
  pool,
  recurrent,
  sort,
  custom
};

/// How the operand shapes must fit and what the result's is; see infer.cpp.
enum class ShapeRule : uint8_t {
  attrs,
  random,
  same,
  first,
  move,
  reduce,
  gather,
  scatter,
  contract,
  attention,
  conv,
  pool,
  recurrent,
  sort,
  store,
  custom
};

/// The element a reduction starts from.
enum class Identity : uint8_t { none, zero, one, lowest };

enum OpFlags : uint8_t {
  kDifferentiable = 1,  // has a gradient rule; ops without pass no gradient
  kCommutative = 2,     // operands may be exchanged without changing a bit
  kPassThrough = 4,     // the result is operand 0, unchanged: never a kernel
};

struct OpInfo {
  std::string_view name;
  Kind kind;
  int arity;  // -1: any
  DTypeRule dtype_rule;
  ShapeRule shape_rule;
  size_t attrs_index;  // which alternative of Attrs the op carries
  std::string_view attrs_name;
  Identity identity;
  uint8_t flags;

  bool is(OpFlags flag) const { return (flags & flag) != 0; }
};

/// The whole table, in the order of the enum.
std::span<const OpInfo> op_table();
extern const OpInfo kOpTable[];
inline const OpInfo& info(Op op) { return kOpTable[static_cast<size_t>(op)]; }  // every walk asks at every node
inline std::string_view name(Op op) { return info(op).name; }

}  // namespace tenon::ir
