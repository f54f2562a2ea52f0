// NaN, infinities, zeros of both signs, integers at the ends of their range, conversions, and one small case per op
// that a person can check: on every device.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/ir/build.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {
namespace {

using ir::Op;
using ir::Value;
using Numbers = std::vector<double>;
using Wholes = std::vector<int64_t>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
constexpr T kMin = std::numeric_limits<T>::min();
template <typename T>
constexpr T kMax = std::numeric_limits<T>::max();

class OnEveryDevice : public testing::TestWithParam<std::string> {
 protected:
  ir::DeviceId device() const { return device::find(GetParam()); }
  Value on(const Host& array) const { return upload(array, device()); }
  Value reals(const Numbers& values, const Dims& shape, DType dtype = DType::f32) const {
    return on(Host({dtype, shape}, values));
  }
  Value reals(const Numbers& values, DType dtype = DType::f32) const {
    return reals(values, {static_cast<int64_t>(values.size())}, dtype);
  }
  Value indices(const Wholes& values) const { return on(host(values)); }

  /// Same numbers, with -0 told from 0 and any NaN as good as another.
  static testing::AssertionResult gives(const Value& got, const Numbers& wanted) {
    return same(read(got), Host(got.type(), wanted));
  }
  static testing::AssertionResult gives_wholes(const Value& got, const Wholes& wanted) {
    const Host array = read(got);
    for (int64_t i = 0; i < array.size(); ++i) {
      const int64_t expected = wanted.at(static_cast<size_t>(i));
      if (array.whole(i) != expected)
        return testing::AssertionFailure() << fmt::format("element {} is {}, wanted {}", i, array.whole(i), expected);
    }
    return testing::AssertionSuccess();
  }
};

std::string device_name(const testing::TestParamInfo<std::string>& info) { return test_name(info.param); }

// ---- NaN, infinity, -0 ---------------------------------------------------------------------------------------------

class SpecialReals : public OnEveryDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SpecialReals, testing::ValuesIn(computing_devices()), device_name);

TEST_P(SpecialReals, MaximumIsNanWhereEitherOperandIs) {
  for (DType dtype : floats_on(GetParam())) {
    const Value a = reals({kNan, 1, kNan, -kInf, kInf}, dtype), b = reals({1, kNan, kNan, kNan, 3}, dtype);
    EXPECT_TRUE(gives(ir::binary(Op::maximum, a, b), {kNan, kNan, kNan, kNan, kInf})) << tenon::name(dtype);
  }
}

TEST_P(SpecialReals, TheMaximumOfARowWithNanIsNan) {
  const Value rows = reals({1, kNan, 3, kNan, 2, 1, 1, 2, kNan, -kInf, -kInf, -kInf}, {4, 3});
  EXPECT_TRUE(gives(ir::reduce(Op::max, rows, {1}), {kNan, kNan, kNan, -kInf}));
}

TEST_P(SpecialReals, AbsDropsTheSignOfEverything) {
  for (DType dtype : floats_on(GetParam())) {
    const Value x = reals({-0.0, 0.0, -kInf, -1.5, kNan}, dtype);
    EXPECT_TRUE(gives(ir::unary(Op::abs, x), {0.0, 0.0, kInf, 1.5, kNan})) << tenon::name(dtype);
  }
}

TEST_P(SpecialReals, NegFlipsTheSignOfZero) {
  EXPECT_TRUE(gives(ir::neg(reals({0.0, -0.0, kInf})), {-0.0, 0.0, -kInf}));
}

TEST_P(SpecialReals, NanComparesWithNothing) {
  const Value a = reals({kNan, kNan, 1, kInf, -0.0, -kInf}), b = reals({kNan, 1, kNan, kInf, 0.0, kInf});
  EXPECT_TRUE(gives(ir::equal(a, b), {0, 0, 0, 1, 1, 0}));
  EXPECT_TRUE(gives(ir::less(a, b), {0, 0, 0, 0, 0, 1}));
}

TEST_P(SpecialReals, SortPutsNanLast) {
  const auto [values, indices] = ir::sort(reals({kNan, 2, -kInf, kNan, kInf, -1}), 0, false);
  EXPECT_TRUE(gives(values, {-kInf, -1, 2, kInf, kNan, kNan}));
  EXPECT_TRUE(gives(indices, {2, 5, 1, 4, 0, 3}));
}

TEST_P(SpecialReals, SortDownPutsNanFirst) {
  const auto [values, indices] = ir::sort(reals({1, kNan, kInf, kNan, -kInf}), 0, true);
  EXPECT_TRUE(gives(values, {kNan, kNan, kInf, 1, -kInf}));
  EXPECT_TRUE(gives(indices, {1, 3, 2, 0, 4}));
}

TEST_P(SpecialReals, SortKeepsTheOrderOfEqualElements) {
  const Value x = reals({1, 0, 1, 0, 1});
  EXPECT_TRUE(gives(ir::sort(x, 0, false).second, {1, 3, 0, 2, 4}));
  EXPECT_TRUE(gives(ir::sort(x, 0, true).second, {0, 2, 4, 1, 3}));
}

TEST_P(SpecialReals, SortTakesZerosOfEitherSignAsEqual) {
  EXPECT_TRUE(gives(ir::sort(reals({0.0, -0.0, 0.0}), 0, false).second, {0, 1, 2}));
}

TEST_P(SpecialReals, WhereTakesWholeElements) {
  const Value condition = on(Host({DType::boolean, {4}}, {1, 0, 1, 0}));
  EXPECT_TRUE(gives(ir::where(condition, reals({-0.0, kNan, kInf, kNan}), reals({kNan, -0.0, kNan, 2})),
                    {-0.0, -0.0, kInf, 2}));
}

TEST_P(SpecialReals, FunctionsReachTheirLimits) {
  const auto at = [&](Op op, const Numbers& x, const Numbers& wanted) {
    for (DType dtype : floats_on(GetParam()))
      EXPECT_TRUE(gives(ir::unary(op, reals(x, dtype)), wanted)) << ir::name(op) << " " << tenon::name(dtype);
  };
  at(Op::exp, {-kInf, kInf, 0, kNan}, {0, kInf, 1, kNan});
  at(Op::expm1, {-kInf, kInf, -0.0, kNan}, {-1, kInf, -0.0, kNan});
  at(Op::log, {0, kInf, 1, -1, kNan}, {-kInf, kInf, 0, kNan, kNan});
  at(Op::log2, {0, kInf, 8, -1, kNan}, {-kInf, kInf, 3, kNan, kNan});
  at(Op::log1p, {-1, kInf, -0.0, -2, kNan}, {-kInf, kInf, -0.0, kNan, kNan});
  at(Op::sqrt, {0, -0.0, kInf, -1, kNan}, {0, -0.0, kInf, kNan, kNan});
  at(Op::tanh, {-kInf, kInf, -0.0, kNan}, {-1, 1, -0.0, kNan});
  at(Op::sigmoid, {-kInf, kInf, 0, kNan}, {0, 1, 0.5, kNan});
  at(Op::erf, {-kInf, kInf, -0.0, kNan}, {-1, 1, -0.0, kNan});
  at(Op::sin, {-0.0, kInf, kNan}, {-0.0, kNan, kNan});
  at(Op::cos, {0, kInf, kNan}, {1, kNan, kNan});
  at(Op::atan, {-kInf, kInf, -0.0, 0, kNan}, {-std::numbers::pi / 2, std::numbers::pi / 2, -0.0, 0, kNan});
  at(Op::round, {-0.5, -0.0, 0.5, 1.5, 2.5, -2.75, -kInf, kInf, kNan}, {-0.0, -0.0, 0, 2, 2, -3, -kInf, kInf, kNan});
  at(Op::floor, {-0.5, -0.0, 2.75, -kInf, kInf, kNan}, {-1, -0.0, 2, -kInf, kInf, kNan});
}

TEST_P(SpecialReals, SmallArgumentsKeepTheirDigits) {
  for (Op op : {Op::expm1, Op::log1p, Op::sin, Op::atan, Op::tanh}) {
    EXPECT_TRUE(gives(ir::unary(op, reals({1e-30, -1e-30})), {1e-30, -1e-30})) << ir::name(op);
  }
}

TEST_P(SpecialReals, SigmoidDoesNotOverflow) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  const Host got = read(ir::unary(Op::sigmoid, reals({-1000, -100, 100, 1000}, DType::f64)));
  EXPECT_EQ(got.number(0), 0);
  EXPECT_NEAR(got.number(1) / 3.720075976020836e-44, 1, 1e-12);
  EXPECT_EQ(got.number(2), 1);
  EXPECT_EQ(got.number(3), 1);
}

TEST_P(SpecialReals, DivisionByZeroIsInfinite) {
  EXPECT_TRUE(
      gives(ir::div(reals({1, -1, 0, 1, kInf}), reals({0, 0, 0, -0.0, kInf})), {kInf, -kInf, kNan, -kInf, kNan}));
}

TEST_P(SpecialReals, PowFollowsTheCLibrary) {
  const Value base = reals({0, 0, 2, -2, -2, kNan, 1, -8, kInf}),
              exponent = reals({0, -1, kInf, 3, 2, 0, kNan, 1.0 / 3, -1});
  EXPECT_TRUE(gives(ir::binary(Op::pow, base, exponent), {1, kInf, kInf, -8, 4, 1, 1, kNan, 0}));
}

TEST_P(SpecialReals, ModHasTheSignOfTheDividend) {
  const Value a = reals({5, -5, 5, -5, 1, kInf, -0.0, 5}), b = reals({3, 3, -3, -3, 0, 2, 3, kInf});
  EXPECT_TRUE(gives(ir::binary(Op::mod, a, b), {2, -2, 2, -2, kNan, kNan, -0.0, 5}));
}

TEST_P(SpecialReals, ResultsRoundToNearestEven) {
  // 2049 and 2051 lie halfway between two f16; 257 and 259 between two bf16.
  EXPECT_TRUE(gives(ir::add(reals({2048, 2048}, DType::f16), reals({1, 3}, DType::f16)), {2048, 2052}));
  EXPECT_TRUE(gives(ir::add(reals({256, 256}, DType::bf16), reals({1, 3}, DType::bf16)), {256, 260}));
}

TEST_P(SpecialReals, OverflowIsInfinite) {
  EXPECT_TRUE(gives(ir::mul(reals({60000, -60000}, DType::f16), reals({2, 2}, DType::f16)), {kInf, -kInf}));
  EXPECT_TRUE(gives(ir::mul(reals({3e38}, DType::bf16), reals({2}, DType::bf16)), {kInf}));
  EXPECT_TRUE(gives(ir::mul(reals({3e38}), reals({2})), {kInf}));
}

TEST_P(SpecialReals, SubnormalsAreNotFlushed) {
  EXPECT_TRUE(gives(ir::mul(reals({0x1p-24}, DType::f16), reals({3}, DType::f16)), {0x3p-24}));
  EXPECT_TRUE(gives(ir::mul(reals({0x1p-149}), reals({3})), {0x3p-149}));
}

TEST_P(SpecialReals, InfinitiesAndNanRunThroughSums) {
  EXPECT_TRUE(gives(ir::reduce(Op::sum, reals({kInf, 1, kInf, -kInf, kNan, 1}, {3, 2}), {1}), {kInf, kNan, kNan}));
  EXPECT_TRUE(gives(ir::scan(reals({1, kNan, 2}), 0, ir::ScanKind::sum), {1, kNan, kNan}));
}

TEST_P(SpecialReals, CommutativeOpsMayExchangeTheirOperands) {
  for (const Row& row : rows()) {
    if (!ir::info(row.op).is(ir::kCommutative)) continue;
    for (DType dtype : dtypes_of(row.op)) {
      if (dtype == DType::f64 && !why_no_f64(GetParam()).empty()) continue;
      Numbers left, right;
      const Numbers samples =
          is_float(dtype) ? Numbers{0.0, -0.0, 1, -1.5, kInf, -kInf, kNan} : Numbers{0, 1, 5, 100, -1};
      for (double a : samples) {
        for (double b : samples) {
          left.push_back(a);
          right.push_back(b);
        }
      }
      const Value a = reals(left, dtype), b = reals(right, dtype);
      EXPECT_TRUE(same(read(ir::binary(row.op, a, b)), read(ir::binary(row.op, b, a))))
          << ir::name(row.op) << " " << tenon::name(dtype);
    }
  }
}

// ---- Integers ------------------------------------------------------------------------------------------------------

class Integers : public OnEveryDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Integers, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Integers, ArithmeticWraps) {
  const auto max32 = on(host<int32_t>({kMax<int32_t>})), one32 = on(host<int32_t>({1}));
  EXPECT_TRUE(gives_wholes(ir::add(max32, one32), {kMin<int32_t>}));
  EXPECT_TRUE(gives_wholes(ir::mul(max32, max32), {1}));
  const auto max64 = on(host<int64_t>({kMax<int64_t>})), one64 = on(host<int64_t>({1}));
  EXPECT_TRUE(gives_wholes(ir::add(max64, one64), {kMin<int64_t>}));
  EXPECT_TRUE(gives_wholes(ir::mul(max64, max64), {1}));
  const auto big = on(host<uint8_t>({200, 255, 16})), other = on(host<uint8_t>({100, 1, 16}));
  EXPECT_TRUE(gives_wholes(ir::add(big, other), {44, 0, 32}));
  EXPECT_TRUE(gives_wholes(ir::mul(big, other), {32, 255, 0}));
}

TEST_P(Integers, TheSmallestHasNoNegative) {
  EXPECT_TRUE(gives_wholes(ir::neg(on(host<int32_t>({kMin<int32_t>, 5}))), {kMin<int32_t>, -5}));
  EXPECT_TRUE(gives_wholes(ir::neg(on(host<int64_t>({kMin<int64_t>}))), {kMin<int64_t>}));
  EXPECT_TRUE(gives_wholes(ir::unary(Op::abs, on(host<int32_t>({kMin<int32_t>, -5}))), {kMin<int32_t>, 5}));
  EXPECT_TRUE(gives_wholes(ir::unary(Op::abs, on(host<int64_t>({kMin<int64_t>}))), {kMin<int64_t>}));
  EXPECT_TRUE(gives_wholes(ir::neg(on(host<uint8_t>({1, 0, 255}))), {255, 0, 1}));
}

TEST_P(Integers, DivisionCutsTowardsZero) {
  const Value a = indices({7, -7, 7, -7}), b = indices({2, 2, -2, -2});
  EXPECT_TRUE(gives_wholes(ir::binary(Op::idiv, a, b), {3, -3, -3, 3}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::mod, a, b), {1, -1, 1, -1}));
}

TEST_P(Integers, DivisionByZeroIsZero) {
  EXPECT_TRUE(gives_wholes(ir::binary(Op::idiv, indices({5, -5, 0}), indices({0, 0, 0})), {0, 0, 0}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::mod, indices({5, -5, 0}), indices({0, 0, 0})), {0, 0, 0}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::idiv, on(host<uint8_t>({5})), on(host<uint8_t>({0}))), {0}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::idiv, on(host<int32_t>({5})), on(host<int32_t>({0}))), {0}));
}

TEST_P(Integers, TheSmallestDividedByMinusOneWraps) {
  const Value min64 = indices({kMin<int64_t>}), minus64 = indices({-1});
  EXPECT_TRUE(gives_wholes(ir::binary(Op::idiv, min64, minus64), {kMin<int64_t>}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::mod, min64, minus64), {0}));
  const Value min32 = on(host<int32_t>({kMin<int32_t>})), minus32 = on(host<int32_t>({-1}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::idiv, min32, minus32), {kMin<int32_t>}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::mod, min32, minus32), {0}));
}

TEST_P(Integers, ShiftsBeyondTheWordGiveWhatShiftingBitByBitWould) {
  const Value x32 = on(host<int32_t>({1, 1, 1, -8, 1})), by32 = on(host<int32_t>({31, 32, 40, 40, -1}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::shl, x32, by32), {kMin<int32_t>, 0, 0, 0, 0}));
  const Value y32 = on(host<int32_t>({-8, -8, -8, 8, 8})), down32 = on(host<int32_t>({1, 32, -1, 40, -1}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::shr, y32, down32), {-4, -1, -1, 0, 0}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::shl, indices({1, 1}), indices({63, 64})), {kMin<int64_t>, 0}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::shr, indices({kMin<int64_t>, kMin<int64_t>}), indices({63, 64})), {-1, -1}));
  const Value bytes = on(host<uint8_t>({1, 1, 255, 255})), by8 = on(host<uint8_t>({7, 8, 4, 8}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::shl, bytes, by8), {128, 0, 240, 0}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::shr, bytes, by8), {0, 0, 15, 0}));
}

TEST_P(Integers, BitwiseOpsWorkOnNegativeNumbers) {
  EXPECT_TRUE(gives_wholes(ir::binary(Op::bit_and, indices({-1, -2}), indices({5, 3})), {5, 2}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::bit_or, indices({-8}), indices({3})), {-5}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::bit_xor, indices({-1}), indices({5})), {-6}));
}

TEST_P(Integers, LargeOnesCompareExactly) {
  const Value a = indices({kMax<int64_t> - 1, kMax<int64_t>, kMin<int64_t>}),
              b = indices({kMax<int64_t>, kMax<int64_t>, kMax<int64_t>});
  EXPECT_TRUE(gives_wholes(ir::equal(a, b), {0, 1, 0}));
  EXPECT_TRUE(gives_wholes(ir::less(a, b), {1, 0, 1}));
  EXPECT_TRUE(gives_wholes(ir::binary(Op::maximum, a, b), {kMax<int64_t>, kMax<int64_t>, kMax<int64_t>}));
}

TEST_P(Integers, ReductionsAreExactAndWrap) {
  const Value x = on(host<int64_t>({kMax<int64_t>, 1, kMin<int64_t>, kMin<int64_t> + 1}, {2, 2}));
  EXPECT_TRUE(gives_wholes(ir::reduce(Op::sum, x, {1}), {kMin<int64_t>, 1}));
  EXPECT_TRUE(gives_wholes(ir::reduce(Op::max, x, {1}), {kMax<int64_t>, kMin<int64_t> + 1}));
  EXPECT_TRUE(gives_wholes(ir::reduce(Op::sum, on(host<uint8_t>({200, 100})), {0}), {44}));
  EXPECT_TRUE(gives_wholes(ir::reduce(Op::prod, on(host<int32_t>({65536, 65536, 3})), {0}), {0}));
}

TEST_P(Integers, SortOrdersTheWholeRange) {
  const auto [values, order] = ir::sort(indices({0, kMax<int64_t>, kMin<int64_t>, kMax<int64_t> - 1}), 0, false);
  EXPECT_TRUE(gives_wholes(values, {kMin<int64_t>, 0, kMax<int64_t> - 1, kMax<int64_t>}));
  EXPECT_TRUE(gives_wholes(order, {2, 0, 3, 1}));
}

// ---- Conversions ---------------------------------------------------------------------------------------------------

class Conversions : public OnEveryDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Conversions, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Conversions, BetweenAllPairsOfDTypesFollowTheCLanguage) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  const Numbers numbers{0, 1, 2, 3.7, -3.7, -0.0, 100, 127.5, 0.1, -1};
  for (DType from : kAllDTypes) {
    const Host source({from, {10}}, numbers);
    for (DType to : kAllDTypes) {
      EXPECT_TRUE(gives(ir::cast(on(source), to), source.numbers())) << tenon::name(from) << " to " << tenon::name(to);
    }
  }
}

TEST_P(Conversions, FromRealToIntegerCutTowardsZero) {
  for (DType from : floats_on(GetParam())) {
    for (DType to : {DType::i32, DType::i64})
      EXPECT_TRUE(gives_wholes(ir::cast(reals({2.75, -2.75, 0.5, -0.5}, from), to), {2, -2, 0, 0}));
  }
}

TEST_P(Conversions, FromRealToIntegerSaturateAndNanIsZero) {
  const Value x = reals({1e30, -1e30, kInf, -kInf, kNan});
  EXPECT_TRUE(gives_wholes(ir::cast(x, DType::i32), {kMax<int32_t>, kMin<int32_t>, kMax<int32_t>, kMin<int32_t>, 0}));
  EXPECT_TRUE(gives_wholes(ir::cast(x, DType::i64), {kMax<int64_t>, kMin<int64_t>, kMax<int64_t>, kMin<int64_t>, 0}));
}

TEST_P(Conversions, ToSmallerIntegersWrap) {
  EXPECT_TRUE(gives_wholes(ir::cast(indices({256, 257, -1, (int64_t{1} << 40) + 5}), DType::u8), {0, 1, 255, 5}));
  EXPECT_TRUE(gives_wholes(ir::cast(indices({int64_t{1} << 32, (int64_t{1} << 31)}), DType::i32), {0, kMin<int32_t>}));
  EXPECT_TRUE(gives_wholes(ir::cast(reals({300, -1}), DType::u8), {44, 255}));
}

TEST_P(Conversions, ToBoolAskWhetherItIsNotZero) {
  EXPECT_TRUE(gives(ir::cast(reals({0, -0.0, 0.25, kNan, kInf}), DType::boolean), {0, 0, 1, 1, 1}));
  EXPECT_TRUE(gives(ir::cast(indices({0, -1, 256}), DType::boolean), {0, 1, 1}));
}

TEST_P(Conversions, ToHalfRoundOnceToNearestEven) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  // Just above halfway between 1 and the next f16: rounding to f32 first would lose the difference and round down.
  EXPECT_TRUE(
      gives(ir::cast(reals({1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65519, 65520, 0x1p-25}, DType::f64), DType::f16),
            {1 + 0x1p-10, 1, 65504, kInf, 0}));
  EXPECT_TRUE(gives(ir::cast(reals({1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 3.4e38}, DType::f64), DType::bf16),
                    {1 + 0x1p-7, 1, kInf}));
}

TEST_P(Conversions, OfWideIntegersRoundOnce) {
  // 2^54 + 2^30 + 1 is just above halfway between two f32; as a double it would sit exactly there and round down.
  const int64_t above = (int64_t{1} << 54) + (int64_t{1} << 30) + 1;
  EXPECT_TRUE(gives(ir::cast(indices({above}), DType::f32), {0x1p54 + 0x1p31}));
}

// Just above and just below halfway between two numbers of 16 bits: as an f32, or as an f64 where the integer has more
// bits than that, each would sit exactly there.
TEST_P(Conversions, OfIntegersToHalfRoundOnce) {
  const auto power = [](int exponent) { return int64_t{1} << exponent; };
  const int64_t wide = power(62) + power(54), wider = power(62) + 3 * power(54);
  EXPECT_TRUE(gives(ir::cast(indices({wide + 1, wide, -wide - 1, wider - 1, wider, -wider + 1}), DType::bf16),
                    {0x1p62 + 0x1p55, 0x1p62, -0x1p62 - 0x1p55, 0x1p62 + 0x1p55, 0x1p62 + 0x1p56, -0x1p62 - 0x1p55}));
  EXPECT_TRUE(gives(ir::cast(indices({INT64_MAX, INT64_MIN, power(53) + power(45) + 1}), DType::bf16),
                    {0x1p63, -0x1p63, 0x1p53 + 0x1p46}));
  const auto narrow = static_cast<int32_t>(power(30) + power(22));
  EXPECT_TRUE(gives(ir::cast(on(host<int32_t>({narrow + 1, narrow, -narrow - 1, INT32_MAX, INT32_MIN})), DType::bf16),
                    {0x1p30 + 0x1p23, 0x1p30, -0x1p30 - 0x1p23, 0x1p31, -0x1p31}));
  const auto least = static_cast<int32_t>(power(24)), between = static_cast<int32_t>(power(24) + power(16));
  EXPECT_TRUE(gives(ir::cast(on(host<int32_t>({1 - narrow, -narrow, least + 1, -least - 1, between + 1, between, -between - 1,
                                               1 - between, 127, -129})),
                             DType::bf16),
                    {-0x1p30, -0x1p30, 0x1p24, -0x1p24, 0x1p24 + 0x1p17, 0x1p24, -0x1p24 - 0x1p17, -0x1p24, 127, -129}));
  EXPECT_TRUE(gives(ir::cast(on(host<int32_t>({2049, 2050, 2051, 65519, 65520, -65520})), DType::f16),
                    {2048, 2050, 2052, 65504, kInf, -kInf}));
  EXPECT_TRUE(
      gives(ir::cast(indices({2049, 2051, 65519, 65520, power(40)}), DType::f16), {2048, 2052, 65504, kInf, kInf}));
}

TEST_P(Conversions, OfNumbersInAProgramRoundOnce) {
  const int64_t wide = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  EXPECT_TRUE(gives(ir::constant_int(wide, DType::bf16, device()), {0x1p62 + 0x1p55}));
}

TEST_P(Conversions, BitsSurviveARoundTrip) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64}) {
    const DType other = dtype == DType::f32   ? DType::i32
                        : dtype == DType::i32 ? DType::f32
                        : dtype == DType::f64 ? DType::i64
                        : dtype == DType::i64 ? DType::f64
                        : dtype == DType::f16 ? DType::bf16
                                              : DType::f16;
    const Host source({dtype, {6}}, {0, 1, -1, 1000, -0.0, 3});
    EXPECT_TRUE(same(read(ir::bitcast(ir::bitcast(on(source), other), dtype)), source)) << tenon::name(dtype);
  }
}

TEST_P(Conversions, BitsOfKnownNumbers) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(gives_wholes(ir::bitcast(reals({1, -2, 0.0, -0.0, kInf}), DType::i32),
                           {0x3f800000, -0x40000000, 0, kMin<int32_t>, 0x7f800000}));
  EXPECT_TRUE(gives(ir::bitcast(on(host<int32_t>({0x3f800000, 0x40490fdb})), DType::f32), {1, 3.14159274101257324}));
  EXPECT_TRUE(gives_wholes(ir::bitcast(reals({1}, DType::f64), DType::i64), {0x3ff0000000000000}));
  EXPECT_TRUE(gives(ir::bitcast(reals({1}, DType::f16), DType::bf16), {0.0078125}));  // 0x3c00
}

TEST_P(Conversions, BitsOfEveryHalfSurviveARoundTrip) {
  Host patterns({DType::f16, {65536}});
  for (int64_t i = 0; i < 65536; ++i) patterns.put<uint16_t>(i, static_cast<uint16_t>(i));
  const Host back = read(ir::bitcast(ir::bitcast(on(patterns), DType::bf16), DType::f16));
  for (int64_t i = 0; i < 65536; ++i) {
    ASSERT_EQ(back.at<uint16_t>(i), i) << "the bits of a NaN are bits too";
  }
}

TEST_P(Conversions, BitsOfNanSurviveARoundTrip) {
  const std::vector<int32_t> patterns{0x7f800001, 0x7fc00001, -1, 0x7fffffff};  // signalling, quiet, negative, full
  EXPECT_TRUE(same(read(ir::bitcast(ir::bitcast(on(host(patterns)), DType::f32), DType::i32)), host(patterns)));
}

// ---- One case per op that is not elementwise, small enough to check by hand ----------------------------------------

class KnownAnswers : public OnEveryDevice {
 protected:
  /// 0, 1, 2, ... in this shape.
  Value counting(const Dims& shape) const {
    return ir::reshape(ir::contiguous(ir::iota(ir::count(shape), DType::f32, device())), shape);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, KnownAnswers, testing::ValuesIn(computing_devices()), device_name);

TEST_P(KnownAnswers, ConstantIsRoundedToItsDType) {
  if (why_no_f64(GetParam()).empty()) {
    EXPECT_TRUE(gives(ir::constant(0.1, DType::f64, device()), {0.1}));
  }
  EXPECT_TRUE(gives(ir::constant(2.9, DType::i32, device()), {2}));
  EXPECT_TRUE(gives_wholes(ir::constant_int(kMax<int64_t>, DType::i64, device()), {kMax<int64_t>}));
  EXPECT_TRUE(gives_wholes(ir::constant_int(257, DType::u8, device()), {1}));
}

TEST_P(KnownAnswers, IotaCountsFromZero) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u8}) {
    if (dtype == DType::f64 && !why_no_f64(GetParam()).empty()) continue;
    EXPECT_TRUE(gives(ir::iota(5, dtype, device()), {0, 1, 2, 3, 4})) << tenon::name(dtype);
  }
}

TEST_P(KnownAnswers, RandomBitsArePhilox) {
  // The first vector of Random123's known-answer file: philox4x32, 10 rounds, counter 0, key 0.
  const auto word = [](uint32_t bits) { return static_cast<int64_t>(static_cast<int32_t>(bits)); };
  const Wholes block{word(0x6627e8d5), word(0xe169c58d), word(0xbc57ac4c), word(0x9b00dbd8)};
  EXPECT_TRUE(gives_wholes(ir::random_bits(indices({0, 0}), 4, 0), block));
}

TEST_P(KnownAnswers, RandomBitsDependOnlyOnTheirPlaceInTheStream) {
  const Host stream = read(ir::random_bits(indices({42, 0}), 32, 0));
  const Host later = read(ir::random_bits(indices({42, 5}), 10, 7));
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(later.whole(i), stream.whole(i + 12));
}

TEST_P(KnownAnswers, MovementShowsTheRightElements) {
  const Value x = counting({2, 3});
  EXPECT_TRUE(gives(ir::reshape(x, {3, 2}), {0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(gives(ir::permute(x, {1, 0}), {0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(gives(ir::expand(ir::reshape(x, {2, 1, 3}), {2, 2, 3}), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_TRUE(gives(ir::pad(x, {0, 1}, {1, 0}), {0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}));
  EXPECT_TRUE(gives(ir::shrink(counting({3, 4}), {0, 1}, {2, 2}, {2, 2}), {1, 3, 9, 11}));
  EXPECT_TRUE(gives(ir::flip(x, {1}), {2, 1, 0, 5, 4, 3}));
  EXPECT_TRUE(gives(ir::flip(x, {0}), {3, 4, 5, 0, 1, 2}));
}

TEST_P(KnownAnswers, MovementsOnMovementsShowTheRightElements) {
  const Value x = counting({2, 3});
  const Value framed = ir::pad(x, {1, 1}, {1, 1});                                     // (4, 5)
  EXPECT_TRUE(gives(ir::shrink(framed, {1, 0}, {2, 3}, {1, 2}), {0, 1, 0, 0, 4, 0}));  // cut into the frame
  EXPECT_TRUE(gives(ir::shrink(ir::flip(framed, {1}), {1, 1}, {2, 4}, {1, 1}), {2, 1, 0, 0, 5, 4, 3, 0}));
  EXPECT_TRUE(gives(ir::reshape(ir::permute(x, {1, 0}), {2, 3}), {0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(gives(ir::pad(ir::reshape(ir::permute(x, {1, 0}), {6}), {1}, {0}), {0, 0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(gives(ir::expand(ir::shrink(framed, {0, 2}, {4, 1}, {1, 1}), {4, 2}), {0, 0, 1, 1, 4, 4, 0, 0}));
  EXPECT_TRUE(gives(ir::permute(ir::reshape(framed, {2, 2, 5}), {1, 2, 0}),
                    {0, 0, 0, 3, 0, 4, 0, 5, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0}));
}

TEST_P(KnownAnswers, ReductionsOverEachAxis) {
  const Value x = reals({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_TRUE(gives(ir::reduce(Op::sum, x, {0}), {5, 7, 9}));
  EXPECT_TRUE(gives(ir::reduce(Op::sum, x, {1}), {6, 15}));
  EXPECT_TRUE(gives(ir::reduce(Op::sum, x, {0, 1}), {21}));
  EXPECT_TRUE(gives(ir::reduce(Op::prod, x, {1}), {6, 120}));
  EXPECT_TRUE(gives(ir::reduce(Op::max, x, {0}), {4, 5, 6}));
  EXPECT_TRUE(gives(ir::reduce(Op::max, reals({-3, -1, -2}), {0}), {-1}));
}

TEST_P(KnownAnswers, ReductionsOfNothingGiveTheirIdentity) {
  const Value nothing = reals({}, {0, 2});
  EXPECT_TRUE(gives(ir::reduce(Op::sum, nothing, {0}), {0, 0}));
  EXPECT_TRUE(gives(ir::reduce(Op::prod, nothing, {0}), {1, 1}));
}

TEST_P(KnownAnswers, HalfSumsAreRoundedOnceAtTheEnd) {
  // In f16, 2048 + 1 is 2048: adding one by one would stay there.
  Numbers ones(3000, 1);
  EXPECT_TRUE(gives(ir::reduce(Op::sum, reals(ones, DType::f16), {0}), {3000}));
  EXPECT_TRUE(gives(ir::contract(reals(ones, {1, 3000}, DType::bf16), reals(ones, {3000, 1}, DType::bf16), DType::f32),
                    {3000}));
}

TEST_P(KnownAnswers, GatherPicksAlongItsAxis) {
  const Value x = counting({3, 2});
  EXPECT_TRUE(gives(ir::gather(x, indices({2, 0, 2}), 0), {4, 5, 0, 1, 4, 5}));
  EXPECT_TRUE(gives(ir::gather(x, indices({1}), 1), {1, 3, 5}));
}

TEST_P(KnownAnswers, ScatterAddAddsTwiceWhereAnIndexAppearsTwice) {
  const Value base = reals({1, 1, 1}), value = reals({10, 20, 30});
  EXPECT_TRUE(gives(ir::scatter_add(base, indices({2, 0, 2}), value, 0), {21, 1, 41}));
}

TEST_P(KnownAnswers, AnIndexOutOfRangeIsAnError) {
  // Seen when the device reads the index, at the latest when the result is read.
  EXPECT_THROW(read(ir::gather(reals({1, 2}), indices({0, 2}), 0)), Error);
  EXPECT_THROW(read(ir::gather(reals({1, 2}), indices({-1}), 0)), Error);
  EXPECT_THROW(read(ir::scatter_add(reals({1, 2}), indices({5}), reals({1}), 0)), Error);
}

TEST_P(KnownAnswers, ContractIsTheMatrixProduct) {
  const Value a = reals({1, 2, 3, 4}, {2, 2}), b = reals({5, 6, 7, 8}, {2, 2});
  EXPECT_TRUE(gives(ir::contract(a, b, DType::f32), {19, 22, 43, 50}));
  EXPECT_TRUE(gives(ir::contract(reals({}, {2, 0}), reals({}, {0, 2}), DType::f32), {0, 0, 0, 0}));
  EXPECT_TRUE(gives_wholes(
      ir::contract(on(host<int64_t>({kMax<int64_t>, 1}, {1, 2})), on(host<int64_t>({1, 1}, {2, 1})), DType::i64),
      {kMin<int64_t>}));
}

TEST_P(KnownAnswers, ScansRunAlongTheirAxis) {
  const Value x = reals({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(gives(ir::scan(x, 0, ir::ScanKind::sum), {1, 2, 4, 6}));
  EXPECT_TRUE(gives(ir::scan(x, 1, ir::ScanKind::prod), {1, 2, 3, 12}));
  EXPECT_TRUE(gives(ir::scan(reals({3, 1, 2, 4}, {2, 2}), 0, ir::ScanKind::max), {3, 1, 3, 4}));
}

TEST_P(KnownAnswers, TheLargestSoFarIsTheLaterOfEqualOnesAndNanStays) {
  const auto largest = [](const Value& x) { return ir::scan(x, 0, ir::ScanKind::max); };
  EXPECT_TRUE(gives(largest(reals({-kInf, -2, kNan, 5, kInf})), {-kInf, -2, kNan, kNan, kNan}));
  EXPECT_TRUE(gives(largest(reals({-1, 0, -0.0, -3})), {-1, 0, -0.0, -0.0}));
  EXPECT_TRUE(gives_wholes(largest(on(host<int64_t>({kMin<int64_t>, -1, kMax<int64_t>, 0}, {4}))),
                           {kMin<int64_t>, -1, kMax<int64_t>, kMax<int64_t>}));
}

TEST_P(KnownAnswers, AttentionOverEqualScoresIsTheMean) {
  // Queries of zeros see every key alike: o is the mean of the values seen, lse the logarithm of how many.
  const Value q = reals({0, 0, 0}, {1, 1, 3, 1}), k = reals({5, 6, 7}, {1, 1, 3, 1}),
              v = reals({3, 6, 12}, {1, 1, 3, 1});
  const auto [all, all_lse] = ir::attention({q, k, v}, {1, false, false});
  EXPECT_TRUE(close(read(all), Host(all.type(), {7, 7, 7})));
  EXPECT_TRUE(close(read(all_lse), Host(all_lse.type(), {std::log(3), std::log(3), std::log(3)})));
  const auto [causal, causal_lse] = ir::attention({q, k, v}, {1, true, false});
  EXPECT_TRUE(close(read(causal), Host(causal.type(), {3, 4.5, 7})));
  EXPECT_TRUE(close(read(causal_lse), Host(causal_lse.type(), {0, std::log(2), std::log(3)})));
}

TEST_P(KnownAnswers, AttentionSurvivesHugeScores) {
  const Value q = reals({300}, {1, 1, 1, 1}), k = reals({300, -300}, {1, 1, 2, 1}), v = reals({2, 5}, {1, 1, 2, 1});
  EXPECT_TRUE(gives(ir::attention({q, k, v}, {1, false, false}).first, {2}));
}

TEST_P(KnownAnswers, StoreReplacesOnlyItsTarget) {
  const ir::Move columns{Op::shrink, ir::ShrinkAttrs{{0, 0}, {2, 2}, {1, 2}}};
  const Value base = counting({2, 3}), value = reals({-1, -2, -3, -4}, {2, 2});
  EXPECT_TRUE(gives(ir::store(base, value, {columns}), {-1, 1, -2, -3, 4, -4}));
  EXPECT_TRUE(gives(base, {0, 1, 2, 3, 4, 5})) << "the old version is still there for those who hold it";
}

}  // namespace
}  // namespace tenon::ops_test
