// Arithmetic on numbers that a program wrote.

#pragma once

#include <optional>
#include <span>

#include "tenon/ir/node.h"

namespace tenon::ir {

/// The number that every element of a value is, if it is a constant seen through views. One that has been evaluated is
/// memory like any other: a plan must not depend on what lies there.
const ConstantAttrs* number_behind(const Value& value);
/// Whether every element is the number 1.
bool is_one(const Value& value);

/// What an op gives on operands that are all numbers, if every device rounds it the same way: one correctly rounded
/// operation. Nothing for other ops, for NaN, and where types disagree, which recording refuses.
std::optional<Value> folded(Op op, std::span<const Value> operands);
std::optional<Value> folded_cast(const Value& x, DType dtype);

}  // namespace tenon::ir
