// One generic rounder serves both formats: they differ only in how many exponent and mantissa bits they keep.

#include "tenon/base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tenon::base {
namespace {

template <int kExponentBits, int kMantissaBits>
uint16_t narrow(double value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr uint16_t kInfinity = ((1 << kExponentBits) - 1) << kMantissaBits;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | kInfinity | (1 << (kMantissaBits - 1));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | kInfinity;
  // Scale so that one unit is the last kept bit (subnormals share the smallest exponent), then round to even.
  const int exponent = std::max(magnitude == 0 ? 1 - kBias : std::ilogb(magnitude), 1 - kBias);
  const double units = std::nearbyint(std::ldexp(magnitude, kMantissaBits - exponent));
  const auto rounded = static_cast<uint32_t>(units);  // at most 2^(kMantissaBits + 1)
  const uint32_t bits = rounded + (static_cast<uint32_t>(exponent + kBias - 1) << kMantissaBits);
  return sign | static_cast<uint16_t>(bits >= kInfinity ? kInfinity : bits);
}

template <int kExponentBits, int kMantissaBits>
double widen(uint16_t bits) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr int kTop = (1 << kExponentBits) - 1;
  const double sign = (bits & 0x8000) ? -1.0 : 1.0;
  const int exponent = (bits >> kMantissaBits) & kTop;
  const int mantissa = bits & ((1 << kMantissaBits) - 1);
  if (exponent == kTop) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - kBias - kMantissaBits);
  return sign * std::ldexp(mantissa | (1 << kMantissaBits), exponent - kBias - kMantissaBits);
}

}  // namespace

double f16_to_double(uint16_t bits) { return widen<5, 10>(bits); }
uint16_t double_to_f16(double value) { return narrow<5, 10>(value); }
double bf16_to_double(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t double_to_bf16(double value) { return narrow<8, 7>(value); }

}  // namespace tenon::base
