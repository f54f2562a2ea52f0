// f16 and bf16 against a search: every pattern, every midpoint between neighbours and the doubles right beside it.

#include "tenon/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace tenon::base {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  double (*widen)(uint16_t);
  uint16_t (*narrow)(double);

  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits); }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  bool is_nan(uint16_t bits) const { return (bits & 0x7FFF) > infinity(); }

  // The value of a positive pattern by the definition of the format; the pattern of infinity counts as the number that
  // would follow the largest, because that is where rounding to infinity starts.
  double value(uint16_t bits) const {
    const int exponent = bits >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return std::ldexp(1 + std::ldexp(mantissa, -mantissa_bits), exponent - bias());
  }

  // Round to nearest even by looking for the neighbours.
  uint16_t nearest(double x) const {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::fabs(x);
    if (magnitude >= value(infinity())) return sign | infinity();
    uint16_t low = 0, high = infinity();  // value(low) <= magnitude < value(high)
    while (high - low > 1) {
      const auto middle = static_cast<uint16_t>((low + high) / 2);
      (value(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - value(low), above = value(high) - magnitude;  // exact: neighbours are close
    if (below != above) return sign | (below < above ? low : high);
    return sign | (low % 2 == 0 ? low : high);
  }
};

const Format kFormats[] = {
    {"f16", 5, 10, f16_to_double, double_to_f16},
    {"bf16", 8, 7, bf16_to_double, double_to_bf16},
};

class HalfFormats : public testing::TestWithParam<Format> {};

TEST_P(HalfFormats, EveryPatternSurvivesWideningAndNarrowing) {
  const Format& format = GetParam();
  for (uint32_t pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    const double wide = format.widen(bits);
    if (format.is_nan(bits)) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      ASSERT_TRUE(format.is_nan(format.narrow(wide))) << pattern;
      continue;
    }
    ASSERT_EQ(format.narrow(wide), bits) << pattern;
  }
}

TEST_P(HalfFormats, EveryFinitePatternMeansWhatTheFormatSays) {
  const Format& format = GetParam();
  for (uint16_t bits = 0; bits < format.infinity(); ++bits) {
    ASSERT_EQ(format.widen(bits), format.value(bits)) << bits;
    ASSERT_EQ(format.widen(bits | 0x8000), -format.value(bits)) << bits;
  }
  EXPECT_EQ(format.widen(format.infinity()), kInf);
  EXPECT_EQ(format.widen(format.infinity() | 0x8000), -kInf);
}

// The midpoint after the largest number is where overflow to infinity begins; the first ones are subnormal.
TEST_P(HalfFormats, EveryTieGoesToTheEvenNeighbourAndAHairBesideItDoesNot) {
  const Format& format = GetParam();
  for (uint16_t low = 0; low < format.infinity(); ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const double middle = (format.value(low) + format.value(high)) / 2;
    ASSERT_EQ(format.narrow(middle), low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(format.narrow(std::nextafter(middle, 0)), low) << low;
    ASSERT_EQ(format.narrow(std::nextafter(middle, kInf)), high) << low;
    ASSERT_EQ(format.narrow(-middle), 0x8000 | (low % 2 == 0 ? low : high)) << low;
    ASSERT_EQ(format.narrow(std::nextafter(-middle, 0)), 0x8000 | low) << low;
    ASSERT_EQ(format.narrow(std::nextafter(-middle, -kInf)), 0x8000 | high) << low;
  }
}

TEST_P(HalfFormats, RandomDoublesRoundToTheNearest) {
  const Format& format = GetParam();
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-160, 160), mantissa(1, 2);
  for (int i = 0; i < 50000; ++i) {
    const double x = std::ldexp(mantissa(random), static_cast<int>(exponent(random))) * (i % 2 ? 1 : -1);
    ASSERT_EQ(format.narrow(x), format.nearest(x)) << x;
  }
}

TEST_P(HalfFormats, ZerosKeepTheirSign) {
  const Format& format = GetParam();
  EXPECT_EQ(format.narrow(0.0), 0);
  EXPECT_EQ(format.narrow(-0.0), 0x8000);
  EXPECT_TRUE(std::signbit(format.widen(0x8000)));
  EXPECT_EQ(format.narrow(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(format.narrow(-std::numeric_limits<double>::denorm_min()), 0x8000);
}

TEST_P(HalfFormats, WhatIsTooLargeBecomesInfinity) {
  const Format& format = GetParam();
  EXPECT_EQ(format.narrow(kInf), format.infinity());
  EXPECT_EQ(format.narrow(-kInf), 0x8000 | format.infinity());
  EXPECT_EQ(format.narrow(std::numeric_limits<double>::max()), format.infinity());
  EXPECT_EQ(format.narrow(std::numeric_limits<double>::lowest()), 0x8000 | format.infinity());
}

TEST_P(HalfFormats, NanStaysNanAndIsQuiet) {
  const Format& format = GetParam();
  const auto quiet = static_cast<uint16_t>(1 << (format.mantissa_bits - 1));
  // A payload in the low bits only, which cutting bits off would turn into infinity.
  const auto low_payload = std::bit_cast<double>(uint64_t{0x7FF0000000000001});
  for (double x : {kNan, -kNan, low_payload}) {
    EXPECT_TRUE(format.is_nan(format.narrow(x)));
    EXPECT_NE(format.narrow(x) & quiet, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Half, HalfFormats, testing::ValuesIn(kFormats),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(F16, KnownPatterns) {
  EXPECT_EQ(double_to_f16(1.0), 0x3C00);
  EXPECT_EQ(double_to_f16(-2.0), 0xC000);
  EXPECT_EQ(double_to_f16(65504.0), 0x7BFF);
  EXPECT_EQ(double_to_f16(65519.999), 0x7BFF);
  EXPECT_EQ(double_to_f16(65520.0), 0x7C00);
  EXPECT_EQ(double_to_f16(0x1p-14), 0x0400);
  EXPECT_EQ(double_to_f16(0x1p-24), 0x0001);
  EXPECT_EQ(double_to_f16(0x1p-25), 0x0000);  // a tie, to the even 0
  EXPECT_EQ(double_to_f16(0x1.8p-24), 0x0002);
  EXPECT_EQ(double_to_f16(0x1.ffcp-15), 0x0400);  // the largest subnormal and a half: carries into the exponent
}

TEST(Bf16, KnownPatterns) {
  EXPECT_EQ(double_to_bf16(1.0), 0x3F80);
  EXPECT_EQ(double_to_bf16(-2.0), 0xC000);
  EXPECT_EQ(double_to_bf16(0x1.FEp127), 0x7F7F);
  EXPECT_EQ(double_to_bf16(0x1.FFp127), 0x7F80);
  EXPECT_EQ(double_to_bf16(3.14159265358979), 0x4049);
  EXPECT_EQ(double_to_bf16(0x1p-126), 0x0080);
  EXPECT_EQ(double_to_bf16(0x1p-133), 0x0001);
  EXPECT_EQ(double_to_bf16(0x1p-134), 0x0000);
}

// float has 24 bits: these lie a hair beside a tie of the short format, and rounding to float first makes them that
// tie.
TEST(F16, IsNotRoundedTwice) {
  const double above = 1 + 0x1p-11 + 0x1p-40, below = 1 + 3 * 0x1p-11 - 0x1p-40;
  EXPECT_EQ(double_to_f16(above), 0x3C01);
  EXPECT_EQ(double_to_f16(static_cast<float>(above)), 0x3C00);  // what going through float gives
  EXPECT_EQ(double_to_f16(below), 0x3C01);
  EXPECT_EQ(double_to_f16(static_cast<float>(below)), 0x3C02);
  EXPECT_EQ(double_to_f16(65520 - 0x1p-20), 0x7BFF);
  EXPECT_EQ(double_to_f16(static_cast<float>(65520 - 0x1p-20)), 0x7C00);
}

TEST(Bf16, IsNotRoundedTwice) {
  const double above = 1 + 0x1p-8 + 0x1p-40, below = 1 + 3 * 0x1p-8 - 0x1p-40;
  EXPECT_EQ(double_to_bf16(above), 0x3F81);
  EXPECT_EQ(double_to_bf16(static_cast<float>(above)), 0x3F80);
  EXPECT_EQ(double_to_bf16(below), 0x3F81);
  EXPECT_EQ(double_to_bf16(static_cast<float>(below)), 0x3F82);
}

TEST(HalfTypes, ConvertFromAndToNumbers) {
  const Half half = 0.1;
  const BFloat16 brain = 0.1;
  EXPECT_EQ(half.bits, 0x2E66);
  EXPECT_EQ(brain.bits, 0x3DCD);
  EXPECT_EQ(static_cast<double>(half), 0.0999755859375);
  EXPECT_EQ(static_cast<double>(brain), 0.10009765625);
  EXPECT_EQ(Half().bits, 0);
  EXPECT_EQ(sizeof(Half), 2u);
  EXPECT_EQ(sizeof(BFloat16), 2u);
}

}  // namespace
}  // namespace tenon::base
