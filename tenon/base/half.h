// f16 and bf16 as 16-bit patterns: exact widening, narrowing with round to nearest even.
//
// Narrowing starts from double, so that a value computed in f64 is rounded once; going through float would round twice.

#pragma once

#include <cstdint>

namespace tenon::base {

double f16_to_double(uint16_t bits);
uint16_t double_to_f16(double value);
double bf16_to_double(uint16_t bits);
uint16_t double_to_bf16(double value);

/// 16-bit storage types; they only carry bits, arithmetic happens in wider types.
///   std::vector<base::Half> values = x.to(float16).to_vector<base::Half>();
struct Half {
  uint16_t bits = 0;  // as they lie in memory
  Half() = default;
  Half(double value) : bits(double_to_f16(value)) {}  // NOLINT: a number is a Half
  /// The value, exactly.
  operator double() const { return f16_to_double(bits); }
};
/// The same of bf16.
///   std::vector<base::BFloat16> values = x.to(bfloat16).to_vector<base::BFloat16>();
struct BFloat16 {
  uint16_t bits = 0;  // as they lie in memory
  BFloat16() = default;
  BFloat16(double value) : bits(double_to_bf16(value)) {}  // NOLINT: a number is a BFloat16
  /// The value, exactly.
  operator double() const { return bf16_to_double(bits); }
};

}  // namespace tenon::base
