// f16 and bf16 to float and back, by bits, on single elements; rounding to nearest even. pack-inl.h does whole
// rows.

#pragma once

#include <bit>
#include <cstdint>

#include "tenon/ir/dtype.h"

namespace tenon::backends::cpu {

inline float to_float(base::BFloat16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

/// The exponent is moved by a multiplication, which also normalises subnormals; infinity and NaN stay above it.
inline float to_float(base::Half x) {
  const uint32_t magnitude = static_cast<uint32_t>(x.bits & 0x7fff) << 13;
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  if (magnitude >= 0x0f800000) return std::bit_cast<float>(sign | 0x70000000 | magnitude);
  constexpr uint32_t kTwoTo112 = (112 + 127) << 23;
  return std::bit_cast<float>(
      sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * std::bit_cast<float>(kTwoTo112)));
}

template <typename T>
T from_float(float x);

template <>
inline base::BFloat16 from_float(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  base::BFloat16 out;
  if ((bits & 0x7fffffff) > 0x7f800000)
    out.bits = static_cast<uint16_t>(bits >> 16 | 0x40);
  else
    out.bits = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  return out;
}

template <>
inline base::Half from_float(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  base::Half out;
  if (magnitude > 0x7f800000) {
    out.bits = sign | 0x7e00;
  } else if (magnitude >= 0x477ff000) {  // 65520 and above round to infinity
    out.bits = sign | 0x7c00;
  } else if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end
    out.bits =
        sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000);
  } else {
    out.bits = sign | static_cast<uint16_t>((magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
  }
  return out;
}

/// Between any two storage types, in the accumulation type of the wider one.
template <typename To, typename From>
To convert(From x) {
  constexpr bool kFrom16 = std::is_same_v<From, base::Half> || std::is_same_v<From, base::BFloat16>;
  constexpr bool kTo16 = std::is_same_v<To, base::Half> || std::is_same_v<To, base::BFloat16>;
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (kFrom16)
    return convert<To>(to_float(x));
  else if constexpr (kTo16 && std::is_same_v<From, float>)
    return from_float<To>(x);
  else
    return static_cast<To>(x);  // a double becomes a 16-bit float in one rounding
}

}  // namespace tenon::backends::cpu
