// Whole numbers as f64 on their way to a narrower type.

#pragma once

#include <bit>
#include <cstdint>

namespace tenon::base {

/// A whole number as f64; where it has more than 53 bits, the neighbour whose last bit is odd. What is rounded to 32 or
/// 16 bits afterwards is rounded once in effect: the odd bit says on which side of a tie the number lies.
inline double to_odd_double(int64_t number) {
  const uint64_t bits = static_cast<uint64_t>(number);
  const uint64_t magnitude = number < 0 ? 0 - bits : bits;
  const int lost = std::bit_width(magnitude) - 53;
  if (lost <= 0) return static_cast<double>(number);
  const uint64_t below = (uint64_t{1} << lost) - 1;
  const uint64_t kept = (magnitude & ~below) | ((magnitude & below) != 0 ? below + 1 : 0);
  return number < 0 ? -static_cast<double>(kept) : static_cast<double>(kept);
}

}  // namespace tenon::base
