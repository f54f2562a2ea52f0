// Widening, turning and gathering the elements of files. Written for clarity: the formats that need any of this are the
// rare ones, and everything else stays where it is in the map of the file.

#include "tenon/io/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::io {
namespace {

/// 4 bits of exponent, 3 of fraction, no infinities: the variant of the "OCP 8-bit floating point" specification.
float from_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if ((bits & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                   : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return bits & 0x80 ? -size : size;
}
/// An f16 less its last 8 bits.
float from_e5m2(uint8_t bits) { return static_cast<float>(base::f16_to_double(static_cast<uint16_t>(bits << 8))); }

template <typename From, typename To, typename Convert>
std::vector<std::byte> converted(std::span<const std::byte> bytes, Convert convert) {
  std::vector<std::byte> result(bytes.size() / sizeof(From) * sizeof(To));
  for (size_t i = 0; i < bytes.size() / sizeof(From); ++i) {
    From from;
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    const To to = convert(from);
    std::memcpy(result.data() + i * sizeof(To), &to, sizeof(To));
  }
  return result;
}
template <typename From, typename To>
std::vector<std::byte> converted(std::span<const std::byte> bytes) {
  return converted<From, To>(bytes, [](From from) { return static_cast<To>(from); });
}

}  // namespace

size_t size_of(Element element) {
  switch (element) {
    case Element::f64:
    case Element::i64:
    case Element::u64: return 8;
    case Element::f32:
    case Element::i32:
    case Element::u32: return 4;
    case Element::f16:
    case Element::bf16:
    case Element::i16:
    case Element::u16: return 2;
    default: return 1;
  }
}

DType held_as(Element element) {
  switch (element) {
    case Element::f64: return DType::f64;
    case Element::f16: return DType::f16;
    case Element::bf16: return DType::bf16;
    case Element::i64:
    case Element::u64:
    case Element::u32: return DType::i64;
    case Element::i32:
    case Element::i16:
    case Element::i8:
    case Element::u16: return DType::i32;
    case Element::u8: return DType::u8;
    case Element::boolean: return DType::boolean;
    default: return DType::f32;
  }
}

Element stored_as(DType dtype) {
  switch (dtype) {
    case DType::f64: return Element::f64;
    case DType::f32: return Element::f32;
    case DType::f16: return Element::f16;
    case DType::bf16: return Element::bf16;
    case DType::i64: return Element::i64;
    case DType::i32: return Element::i32;
    case DType::u8: return Element::u8;
    default: return Element::boolean;
  }
}

bool is_held_as_stored(Element element) { return stored_as(held_as(element)) == element; }

std::string_view fault_in(Element element, std::span<const std::byte> bytes) {
  if (element == Element::boolean) {
    const bool good = std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
    return good ? "" : "a byte other than 0 and 1";
  }
  if (element == Element::u64) {
    for (size_t last = 7; last < bytes.size(); last += 8) {  // the sign of an i64 is in its last byte
      if (bytes[last] >= std::byte{0x80}) return "a number that does not fit into i64";
    }
  }
  return "";
}

std::vector<std::byte> widened(Element element, std::span<const std::byte> bytes) {
  switch (element) {
    case Element::i8: return converted<int8_t, int32_t>(bytes);
    case Element::i16: return converted<int16_t, int32_t>(bytes);
    case Element::u16: return converted<uint16_t, int32_t>(bytes);
    case Element::u32: return converted<uint32_t, int64_t>(bytes);
    case Element::f8_e4m3: return converted<uint8_t, float>(bytes, from_e4m3);
    case Element::f8_e5m2: return converted<uint8_t, float>(bytes, from_e5m2);
    default: return {bytes.begin(), bytes.end()};
  }
}

std::vector<std::byte> swapped(size_t element_bytes, std::span<const std::byte> bytes) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  for (auto at = result.begin(); at != result.end(); at += static_cast<ptrdiff_t>(element_bytes)) {
    std::reverse(at, at + static_cast<ptrdiff_t>(element_bytes));
  }
  return result;
}

std::optional<uint64_t> extent(const Strided& array) {
  if (std::ranges::find(array.shape, uint64_t{0}) != array.shape.end()) return 0;
  uint64_t last = array.offset;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    uint64_t steps = 0;
    if (__builtin_mul_overflow(array.shape[i] - 1, array.strides[i], &steps)) return std::nullopt;
    if (__builtin_add_overflow(last, steps, &last)) return std::nullopt;
  }
  uint64_t end = 0;
  if (__builtin_add_overflow(last, uint64_t{1}, &end)) return std::nullopt;
  return end;
}

std::vector<std::byte> gathered(size_t element_bytes, std::span<const std::byte> bytes, const Strided& array) {
  uint64_t count = 1;
  for (const uint64_t size : array.shape) count *= size;
  std::vector<std::byte> result(count * element_bytes);
  std::vector<uint64_t> position(array.shape.size(), 0);
  uint64_t from = array.offset;
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(result.data() + i * element_bytes, bytes.data() + from * element_bytes, element_bytes);
    for (size_t axis = position.size(); axis-- > 0;) {
      from += array.strides[axis];
      if (++position[axis] < array.shape[axis]) break;
      from -= array.strides[axis] * array.shape[axis];
      position[axis] = 0;
    }
  }
  return result;
}

}  // namespace tenon::io
