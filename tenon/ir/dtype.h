// The eight element types, what they are, and PyTorch's rules for mixing them.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "tenon/base/half.h"

namespace tenon {

/// What the elements of a tensor are.
enum class DType : uint8_t { f32, f16, bf16, f64, i32, i64, u8, boolean };

/// All of them.
inline constexpr DType kAllDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64,
                                       DType::i32, DType::i64, DType::u8,   DType::boolean};

/// "f32", "bool", ...: the names used in messages, files and the command line.
///   name(float32);  // f32
std::string_view name(DType dtype);
/// The dtype of that name; fails on an unknown one, naming the nearest.
///   parse_dtype("bf16") == bfloat16;  // true
DType parse_dtype(std::string_view text);

/// The bytes of an element.
///   size_of(float64);  // 8
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    default: return 1;
  }
}
/// f32, f16, bf16, f64.
///   is_float(float16);  // true
constexpr bool is_float(DType dtype) { return dtype <= DType::f64; }
/// i32, i64, u8: the types that may index.
///   is_integer(boolean);  // false
constexpr bool is_integer(DType dtype) { return dtype >= DType::i32 && dtype <= DType::u8; }

/// The smallest dtype both convert to without leaving their category (f16 with bf16 gives f32), as PyTorch's
/// promote_types.
///   promote(float16, bfloat16) == float32;  // true
DType promote(DType a, DType b);

/// What a reduction or matmul of this dtype accumulates in: f32 for the 16-bit types, itself otherwise.
///   accumulator(float16) == float32;  // true
constexpr DType accumulator(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype; }

/// The C++ type that stores a dtype, and the dtype of a C++ type.
template <DType>
struct StorageOf;
template <>
struct StorageOf<DType::f32> {
  using type = float;
};
template <>
struct StorageOf<DType::f16> {
  using type = base::Half;
};
template <>
struct StorageOf<DType::bf16> {
  using type = base::BFloat16;
};
template <>
struct StorageOf<DType::f64> {
  using type = double;
};
template <>
struct StorageOf<DType::i32> {
  using type = int32_t;
};
template <>
struct StorageOf<DType::i64> {
  using type = int64_t;
};
template <>
struct StorageOf<DType::u8> {
  using type = uint8_t;
};
template <>
struct StorageOf<DType::boolean> {
  using type = bool;
};

/// The dtype that a C++ type stores.
///   dtype_of<int>() == int32;  // true
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, base::Half>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, base::BFloat16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::u8;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4)
    return DType::i32;
  else {
    static_assert(std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8, "this C++ type stores no dtype");
    return DType::i64;
  }
}
/// The same as a constant.
template <typename T>
inline constexpr DType kDTypeOf = dtype_of<T>();

/// Calls f.template operator()<T>() with the C++ storage type of dtype.
template <typename F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f.template operator()<float>();
    case DType::f16: return f.template operator()<base::Half>();
    case DType::bf16: return f.template operator()<base::BFloat16>();
    case DType::f64: return f.template operator()<double>();
    case DType::i32: return f.template operator()<int32_t>();
    case DType::i64: return f.template operator()<int64_t>();
    case DType::u8: return f.template operator()<uint8_t>();
    default: return f.template operator()<bool>();
  }
}

}  // namespace tenon
