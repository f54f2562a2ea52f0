// Sums and products over very many numbers, made of sums and products over parts.

#pragma once

#include <optional>

#include "tenon/ir/node.h"

namespace tenon::ir {

/// The sum over these axes, made of sums of parts; nothing where it is as well taken at once.
std::optional<Value> split_sum(const Value& x, const Dims& axes);

/// The same for a matrix product and its inner axis.
std::optional<Value> split_product(const Value& a, const Value& b, const ContractAttrs& attrs);

}  // namespace tenon::ir
