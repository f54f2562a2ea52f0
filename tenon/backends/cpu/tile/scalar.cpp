// Instructions without a vector form worth having, as plain loops: integer division, shifts, fmod, 64-bit products, the
// f64 functions of libm, and the rarer conversions.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/base/round_once.h"
#include "tenon/ir/library.h"

namespace tenon::backends::cpu {
namespace {

using ir::Op;

template <typename T, T (*kFunction)(T)>
void each(void* out, const void* const* in, size_t n) {
  const T* a = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = kFunction(a[i]);
}

template <typename T, T (*kFunction)(T, T)>
void each(void* out, const void* const* in, size_t n) {
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  T* to = static_cast<T*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = kFunction(a[i], b[i]);
}

// Integers wrap, so arithmetic is done on unsigned words.
template <typename T>
T multiply(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename T>
T divide(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}

// Counts outside the word give what shifting bit by bit would.
template <typename T>
bool fits(T count) {
  return count >= 0 && count < static_cast<T>(8 * sizeof(T));
}
template <typename T>
T shift_left(T a, T b) {
  return fits(b) ? static_cast<T>(static_cast<uint64_t>(a) << b) : T{0};
}
template <typename T>
T shift_right(T a, T b) {
  return static_cast<T>(a >> (fits(b) ? b : 8 * sizeof(T) - 1)) * (std::is_signed_v<T> || fits(b));
}

template <typename T>
TileFn integer(Op op) {
  switch (op) {
    case Op::mul: return each<T, multiply<T>>;
    case Op::idiv: return each<T, divide<T>>;
    case Op::mod: return each<T, remainder<T>>;
    case Op::shl: return each<T, shift_left<T>>;
    case Op::shr: return each<T, shift_right<T>>;
    default: return nullptr;
  }
}

template <Op kOp>
TileFn f64_function_of() {
  if constexpr (ir::InLibrary<kOp, double>)
    return each<double, ir::library_of_one<kOp>>;
  else if constexpr (ir::InLibrary<kOp, double, double>)
    return each<double, ir::library_of_two<kOp>>;
  else
    return nullptr;
}

TileFn f64_function(Op op) {
  switch (op) {
#define TENON_OP(name, ...) \
  case Op::name: return f64_function_of<Op::name>();
#include "tenon/ir/ops.def"
  }
  return nullptr;
}

// Out-of-range values saturate and NaN is 0.
template <typename From>
int64_t to_whole(From x) {
  if constexpr (std::is_floating_point_v<From>) {
    if (x != x) return 0;
    if (x >= From{9223372036854775808.0}) return std::numeric_limits<int64_t>::max();
    if (x < From{-9223372036854775808.0}) return std::numeric_limits<int64_t>::min();
  }
  return static_cast<int64_t>(x);
}

// To the neighbour whose last bit is odd unless exact: what is rounded to fewer bits afterwards is rounded once in
// effect.
float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) == x || x != x || (bits & 1)) return nearest;
  return std::bit_cast<float>(std::fabs(static_cast<double>(nearest)) < std::fabs(x) ? bits + 1 : bits - 1);
}

template <typename From>
double as_double(From x) {
  if constexpr (std::is_same_v<From, int64_t>)
    return base::to_odd_double(x);
  else
    return static_cast<double>(x);
}

template <typename From, DType kTo>
void convert(void* out, const void* const* in, size_t n) {
  const From* a = static_cast<const From*>(in[0]);
  if constexpr (kTo == DType::f16 || kTo == DType::bf16) {
    static const TileFn kRound = tile_cast(DType::f32, kTo);
    float* to = static_cast<float*>(out);
    float odd[kTile];
    for (size_t i = 0; i < n; i += kTile) {
      const size_t count = n - i < kTile ? n - i : kTile;
      for (size_t j = 0; j < count; ++j) odd[j] = round_to_odd(as_double(a[i + j]));
      const void* from = odd;
      kRound(to + i, &from, count);
    }
  } else if constexpr (kTo == DType::f32) {
    float* to = static_cast<float*>(out);
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<float>(a[i]);
  } else if constexpr (kTo == DType::f64) {
    double* to = static_cast<double*>(out);
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<double>(a[i]);
  } else if constexpr (kTo == DType::boolean) {
    uint8_t* to = static_cast<uint8_t*>(out);
    for (size_t i = 0; i < n; ++i) to[i] = a[i] != From{0};
  } else {
    using To = typename StorageOf<kTo>::type;
    constexpr bool kClamps = kTo == DType::i32 && std::is_floating_point_v<From>;
    To* to = static_cast<To*>(out);
    for (size_t i = 0; i < n; ++i) {
      int64_t x = to_whole(a[i]);
      if (kClamps) x = std::min<int64_t>(std::max<int64_t>(x, INT32_MIN), INT32_MAX);
      to[i] = static_cast<To>(x);
    }
  }
}

template <typename From>
TileFn convert_to(DType to) {
  switch (to) {
    case DType::f32: return convert<From, DType::f32>;
    case DType::f16: return convert<From, DType::f16>;
    case DType::bf16: return convert<From, DType::bf16>;
    case DType::f64: return convert<From, DType::f64>;
    case DType::i32: return convert<From, DType::i32>;
    case DType::i64: return convert<From, DType::i64>;
    case DType::u8: return convert<From, DType::u8>;
    default: return convert<From, DType::boolean>;
  }
}

}  // namespace

TileFn find_scalar(Op op, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16: return op == Op::mod ? each<float, std::fmod> : nullptr;
    case DType::f64: return f64_function(op);
    case DType::i32: return integer<int32_t>(op);
    case DType::i64: return integer<int64_t>(op);
    case DType::u8: return integer<uint8_t>(op);
    default: return nullptr;
  }
}

TileFn find_scalar_cast(DType from, DType to) {
  switch (from) {
    case DType::f64: return convert_to<double>(to);
    case DType::i32: return convert_to<int32_t>(to);
    case DType::i64: return convert_to<int64_t>(to);
    case DType::u8:
    case DType::boolean: return convert_to<uint8_t>(to);
    default: return convert_to<float>(to);
  }
}

}  // namespace tenon::backends::cpu
