// A number given where a tensor could stand: it takes part in an op without deciding more of the result's dtype than
// its category (bool, integer, real), as a Python number does in PyTorch.

#pragma once

#include <concepts>
#include <cstdint>

#include "tenon/ir/dtype.h"

namespace tenon {

/// A number without a dtype of its own: true or false, an integer or a real.
///   Number(2.5).is_real();  // true
class Number {
 public:
  enum class Kind : uint8_t { boolean, integer, real };

  Number(bool value) : kind_(Kind::boolean), integer_(value), real_(value) {}  // NOLINT: numbers convert
  template <std::integral T>
  Number(T value)
      : kind_(Kind::integer), integer_(static_cast<int64_t>(value)), real_(static_cast<double>(value)) {}  // NOLINT
  template <std::floating_point T>
  Number(T value)
      : kind_(Kind::real), integer_(static_cast<int64_t>(0)), real_(static_cast<double>(value)) {}  // NOLINT

  /// What it is, and its value as either type.
  Kind kind() const { return kind_; }
  bool is_real() const { return kind_ == Kind::real; }
  double as_double() const { return real_; }
  int64_t as_int() const { return is_real() ? static_cast<int64_t>(real_) : integer_; }
  /// The dtype a tensor made of it has: f32, i64 or bool.
  DType dtype() const { return is_real() ? DType::f32 : kind_ == Kind::integer ? DType::i64 : DType::boolean; }

 private:
  Kind kind_;
  int64_t integer_;
  double real_;
};

}  // namespace tenon
