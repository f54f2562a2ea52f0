// Activations that a product may compute itself: recognised by what they compute, not by how they are written.
//
// A gradient is recorded rule by rule, and the slope of gelu comes out as twenty ops in an order that depends on the
// rules. So an expression is tried out: one that agrees with the activation wherever it is looked at is the activation.
// A product's own is not bit-equal to the recorded ops, so a few more roundings in between do not matter.

#pragma once

#include "tenon/plan/expression.h"

namespace tenon::plan {

/// Whether this is gelu, in its tanh form, of the one value that it reads.
bool computes_gelu(const Expression& expression);

/// Whether this is the value of read `factor` times the slope of gelu, in its tanh form, at the other value that it
/// reads.
bool computes_gelu_slope(const Expression& expression, size_t factor);

}  // namespace tenon::plan
