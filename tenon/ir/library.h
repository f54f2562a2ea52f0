// The elementwise ops on real numbers by the C library: what devices that judge others compute with, and the cpu in
// f64.
//
// The library's function has the op's name, or stands here.

#pragma once

#include <cmath>
#include <concepts>
#include <optional>

#include "tenon/ir/op.h"

// Not inside tenon, whose own functions of these names would hide the library's.
namespace tenon_library {

using namespace std;  // NOLINT: the point of it

template <typename T>
T neg(T x) {
  return -x;
}
template <typename T>
T abs(T x) {
  return std::fabs(x);
}
template <typename T>
T round(T x) {
  return std::nearbyint(x);
}
template <typename T>
T sigmoid(T x) {
  const T e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
template <typename T>
T add(T x, T y) {
  return x + y;
}
template <typename T>
T mul(T x, T y) {
  return x * y;
}
template <typename T>
T div(T x, T y) {
  return x / y;
}
template <typename T>
T mod(T x, T y) {
  return std::fmod(x, y);
}

/// The op of one number or of two; nothing for ops that are none of the library's.
template <tenon::ir::Op kOp, std::floating_point T, std::same_as<T>... More>
auto apply(T x, More... y) {
  using tenon::ir::DTypeRule;
// clang-format off
#define TENON_OP(name, kind, arity, dtype_rule, ...)                                                        \
  if constexpr (kOp == tenon::ir::Op::name && arity == 1 + sizeof...(More) &&                               \
                (DTypeRule::dtype_rule == DTypeRule::real || DTypeRule::dtype_rule == DTypeRule::number)) { \
    if constexpr (requires { { name(x, y...) } -> std::same_as<T>; }) return name(x, y...);                 \
  }
// clang-format on
#include "tenon/ir/ops.def"
}

}  // namespace tenon_library

namespace tenon::ir {

template <Op kOp, typename T, typename... More>
concept InLibrary = std::same_as<decltype(tenon_library::apply<kOp>(T(), More()...)), T>;

/// The op of one real number or of two; none for ops that are not the library's.
template <std::floating_point T, std::same_as<T>... More>
std::optional<T> by_library(Op op, T x, More... y) {
  switch (op) {
#define TENON_OP(name, ...)                                                                        \
  case Op::name:                                                                                   \
    if constexpr (InLibrary<Op::name, T, More...>) return tenon_library::apply<Op::name>(x, y...); \
    return std::nullopt;
#include "tenon/ir/ops.def"
  }
  return std::nullopt;
}

/// The same as functions, where `InLibrary`.
template <Op kOp, typename T>
T library_of_one(T x) {
  return tenon_library::apply<kOp>(x);
}
template <Op kOp, typename T>
T library_of_two(T x, T y) {
  return tenon_library::apply<kOp>(x, y);
}

}  // namespace tenon::ir
