// Sums and products with numbers as PyTorch rounds them.
//
// A float16 or bfloat16 tensor and a number that its dtype cannot hold, 65536 or 0.1, are combined in float32 and the
// result is rounded once. Rounding the number first would make infinity of it, or lose its last digits.

#pragma once

#include <cmath>

#include "convert.h"

namespace tenon::python::arithmetic {

/// Whether a dtype holds a number exactly; those that are as wide as float32 count as if they did.
inline bool holds(DType dtype, double value) {
  if ((dtype != DType::f16 && dtype != DType::bf16) || value == 0 || !std::isfinite(value)) return true;
  const bool is_half = dtype == DType::f16;
  const int digits = is_half ? 11 : 8, least = is_half ? -24 : -133, most = is_half ? 16 : 128;
  int exponent = 0;
  std::frexp(value, &exponent);
  if (exponent > most) return false;
  const double unit = std::ldexp(1.0, std::max(exponent - digits, least));
  return value / unit == std::trunc(value / unit);
}

template <typename F>
Tensor rounded_once(const Operand& a, const Operand& b, F&& f) {
  const Operand& x = a.is_tensor() ? a : b;
  const Operand& number = a.is_tensor() ? b : a;
  if (!x.is_tensor() || number.is_tensor() || holds(x.tensor().dtype(), number.number().as_double())) return f(a, b);
  const Operand wide = x.tensor().to(DType::f32);
  return (a.is_tensor() ? f(wide, b) : f(a, wide)).to(x.tensor().dtype());
}

inline Tensor add(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) { return tenon::add(x, y); });
}
inline Tensor sub(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) { return tenon::sub(x, y); });
}
inline Tensor mul(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) { return tenon::mul(x, y); });
}
inline Tensor div(const Operand& a, const Operand& b) {
  return rounded_once(a, b, [](const Operand& x, const Operand& y) { return tenon::div(x, y); });
}

/// Integers divided by the number 0: Python's error, before anything is recorded.
inline void refuse_zero(const Operand& a, const Operand& b) {
  if (b.is_tensor() || b.number().kind() == Number::Kind::real || b.number().as_int() != 0) return;
  if (is_float(a.is_tensor() ? a.tensor().dtype() : a.number().dtype())) return;
  PyErr_SetString(PyExc_ZeroDivisionError, "integers cannot be divided by the number 0");
  throw py::error_already_set();
}
inline Tensor floor_divide(const Operand& a, const Operand& b) {
  refuse_zero(a, b);
  return tenon::floor_divide(a, b);
}
inline Tensor remainder(const Operand& a, const Operand& b) {
  refuse_zero(a, b);
  return tenon::remainder(a, b);
}
inline Tensor fmod(const Operand& a, const Operand& b) {
  refuse_zero(a, b);
  return tenon::fmod(a, b);
}

/// In place: the library's own, or the above and a copy where the number would be rounded.
template <Tensor& (Tensor::*kInPlace)(const Operand&), Tensor (*kFunction)(const Operand&, const Operand&)>
Tensor& in_place(Tensor& x, const Operand& other) {
  if (other.is_tensor() || holds(x.dtype(), other.number().as_double())) return (x.*kInPlace)(other);
  return x.copy_(kFunction(x, other));
}
inline Tensor& add_(Tensor& x, const Operand& other) { return in_place<&Tensor::add_, &add>(x, other); }
inline Tensor& sub_(Tensor& x, const Operand& other) { return in_place<&Tensor::sub_, &sub>(x, other); }
inline Tensor& mul_(Tensor& x, const Operand& other) { return in_place<&Tensor::mul_, &mul>(x, other); }
inline Tensor& div_(Tensor& x, const Operand& other) { return in_place<&Tensor::div_, &div>(x, other); }
inline Tensor& pow_(Tensor& x, const Operand& other) { return x.pow_(other); }
inline Tensor& remainder_(Tensor& x, const Operand& other) {
  refuse_zero(x, other);
  return x.remainder_(other);
}
inline Tensor& fmod_(Tensor& x, const Operand& other) {
  refuse_zero(x, other);
  return x.fmod_(other);
}

/// Bounds of integers are those of their dtype where they lie beyond: clamp(-1, 300) of uint8 changes nothing.
inline std::optional<Operand> bound(DType dtype, std::optional<Operand> given, bool is_upper) {
  if (!given || given->is_tensor() || given->number().kind() != Number::Kind::integer) return given;
  if (dtype != DType::u8 && dtype != DType::i32) return given;
  const int64_t value = given->number().as_int();
  const int64_t least = dtype == DType::u8 ? 0 : INT32_MIN, most = dtype == DType::u8 ? UINT8_MAX : INT32_MAX;
  if (value >= least && value <= most) return given;
  if (is_upper == (value > most)) return Operand(is_upper ? most : least);
  throw_value_error(
      fmt::format("no {} is {} {}", dtype == DType::u8 ? "uint8" : "int32", is_upper ? "at most" : "at least", value));
}
inline Tensor clamp(const Tensor& x, std::optional<Operand> min, std::optional<Operand> max) {
  return tenon::clamp(x, bound(x.dtype(), std::move(min), false), bound(x.dtype(), std::move(max), true));
}
inline Tensor& clamp_(Tensor& x, std::optional<Operand> min, std::optional<Operand> max) {
  return x.clamp_(bound(x.dtype(), std::move(min), false), bound(x.dtype(), std::move(max), true));
}

/// The library's word for the reduce= of PyTorch's scatter().
inline std::string_view reduce_of(const py::object& reduce) {
  const std::string how = Convert<std::string>::from(reduce.ptr());
  if (how == "add") return "sum";
  if (how == "multiply") return "prod";
  throw_value_error(fmt::format("there is no reduce '{}'; there are 'add' and 'multiply'", how));
}
/// A source for every position: a number is one for all.
inline Tensor spread(const Tensor& x, const Tensor& index, const Operand& source) {
  if (source.is_tensor()) return source.tensor();
  return full(index.shape(), source.number(), Options(x.dtype(), x.device()));
}

}  // namespace tenon::python::arithmetic
