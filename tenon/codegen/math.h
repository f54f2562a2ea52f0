// Our own f32 functions, as instructions of a kernel: at most 2 units in the last place from the true value, the limits
// exact, NaN runs through.
//
// They stand where a language has no such function, or none that is as quick: straight lines of multiply-adds without a
// division, and a remainder that is exact. exp and log are left to the languages: all have them, and a GPU's are a few
// instructions around one of its own.

#pragma once

#include "tenon/codegen/builder.h"

namespace tenon::codegen {

/// Whether the function of f32 is written here; all others are the language's.
bool has_own_math(ir::Op op);

/// The function where has_own_math.
Id own_math(Builder& b, ir::Op op, std::span<const Id> args);

}  // namespace tenon::codegen
