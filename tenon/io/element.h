// The element types that files hold, and how they become Tenon's.
//
// Tenon computes with eight dtypes; files know more. Those that fit into one of the eight without loss are widened on
// the way in, the rest is refused by name where it is met.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/ir/dtype.h"

namespace tenon::io {

enum class Element : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
};

size_t size_of(Element element);
/// The dtype that holds it: i8, i16 and u16 become i32; u32 and u64 i64; the 8-bit floats f32.
DType held_as(Element element);
/// The element that a dtype is written as.
Element stored_as(DType dtype);
/// True when the bytes of a file are those of a tensor.
bool is_held_as_stored(Element element);

/// What these elements hold that a tensor cannot ("a byte other than 0 and 1"); empty when nothing.
std::string_view fault_in(Element element, std::span<const std::byte> bytes);
/// The same elements as held_as() stores them; they must be free of faults.
std::vector<std::byte> widened(Element element, std::span<const std::byte> bytes);
/// Turns the bytes of each element around: big-endian to little-endian.
std::vector<std::byte> swapped(size_t element_bytes, std::span<const std::byte> bytes);

/// Where the elements of an array lie, counted in elements.
struct Strided {
  uint64_t offset = 0;
  std::vector<uint64_t> shape, strides;
};
/// One more than the last element that is touched; nothing when that cannot be counted, 0 for an empty array.
std::optional<uint64_t> extent(const Strided& array);
/// The elements in row-major order; all of them must lie inside `bytes`.
std::vector<std::byte> gathered(size_t element_bytes, std::span<const std::byte> bytes, const Strided& array);

}  // namespace tenon::io
