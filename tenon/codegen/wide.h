// 64-bit integers as two 32-bit words, for devices that have no others.

#pragma once

#include <span>

#include "tenon/codegen/builder.h"

namespace tenon::codegen {

/// Both words are u32, whatever the sign of the number.
struct Wide {
  Id low = kNoValue, high = kNoValue;
};

constexpr bool is_wide(Scalar type) { return type == Scalar::i64 || type == Scalar::u64; }

Wide wide_constant(Builder& b, uint64_t bits);
/// An op that gives a number of the type (i64 or u64) its operands have; of `where`: of what is chosen.
Wide wide_math(Builder& b, ir::Op op, Scalar type, std::span<const Wide> args);
Wide wide_select(Builder& b, Id condition, const Wide& x, const Wide& y);
/// less and equal.
Id wide_compare(Builder& b, ir::Op op, Scalar type, const Wide& x, const Wide& y);
/// A value of one word, or an f64, as i64 or u64, which must hold it.
Wide widen(Builder& b, Scalar to, Id value);
/// The other way round, rounded to nearest even where it is a float.
Id narrow(Builder& b, Scalar from, Scalar to, const Wide& value);

}  // namespace tenon::codegen
