// Functions of f64 for languages that have additions, products, divisions and roots of it, and no more.

#pragma once

#include "tenon/codegen/builder.h"

namespace tenon::codegen {

/// exp, expm1, log and log1p of f64 within 2 units of the last place, tanh, log2, erf, sin, cos and pow within 4, mod
/// exact; what is not finite, zeros and signs as C has them. Fails on other ops.
Id f64_function(Builder& b, ir::Op op, Id x, Id y = kNoValue);

}  // namespace tenon::codegen
