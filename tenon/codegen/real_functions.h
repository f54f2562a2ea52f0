// Functions of f32 for languages that lack them, or whose own are far from the exact value.

#pragma once

#include "tenon/codegen/builder.h"

namespace tenon::codegen {

/// exp, expm1, log, log1p, log2, tanh, erf, sin, cos, mod or pow of f32, within 4 units of the last place (mod is
/// exact); what is not finite, zeros and signs as C has them. `fuses`: a multiply-add rounds once. Fails on other ops.
Id real_function(Builder& b, ir::Op op, Id x, Id y, bool fuses);

}  // namespace tenon::codegen
