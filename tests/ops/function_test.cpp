// Elementwise functions of tensor/ops.h that are made of several ops, against values a person can check. PyTorch's
// answers are the expected ones, down to NaN, infinity and ties.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/base/error.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

// ---- Division and rounding -----------------------------------------------------------------------------------------

class Division : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Division, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Division, IsRealEvenOfIntegers) {
  EXPECT_TRUE(is_exactly(wholes({7, -7, 1}) / wholes({2, 2, 0}), {3.5, -3.5, kInf}));
  EXPECT_EQ(dtype_of(wholes({7}) / wholes({2})), "f32");
  EXPECT_EQ(dtype_of(bools({true}) / bools({true})), "f32");
  EXPECT_EQ(dtype_of(reals({1}, DType::f16) / 2), "f16");
}

TEST_P(Division, FloorOfIntegersRoundsDown) {
  EXPECT_TRUE(
      is_whole(floor_divide(wholes({7, -7, 7, -7, -8, 0}), wholes({2, 2, -2, -2, 2, 5})), {3, -4, -4, 3, -4, 0}));
  EXPECT_TRUE(is_whole(floor_divide(wholes({7, -7}), 2), {3, -4}));
  EXPECT_TRUE(is_whole(floor_divide(wholes({200, 7}, DType::u8), wholes({7, 2}, DType::u8)), {28, 3}));
  EXPECT_TRUE(is_whole(floor_divide(wholes({kMin, kMin + 1}), 2), {kMin / 2, kMin / 2}));
}

TEST_P(Division, FloorOfRealsRoundsDown) {
  EXPECT_TRUE(is_exactly(floor_divide(reals({7, -7, 7, -7, -8}), reals({2, 2, -2, -2, 2})), {3, -4, -4, 3, -4}));
  EXPECT_TRUE(is_exactly(floor_divide(reals({1, -1, 0}), 0.0), {kInf, -kInf, kNan}));
}

// 0.1 is a little more than a tenth, so it goes into 1 only nine times; 1 / 0.1 rounds to 10.
TEST_P(Division, FloorOfRealsIsThatOfTheExactQuotient) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(is_exactly(floor_divide(reals({1}), reals({0.1})), {9}));
  EXPECT_TRUE(is_exactly(floor_divide(reals({1}, DType::f64), reals({0.1}, DType::f64)), {9}));
}

TEST_P(Division, FloorByInfinityHasTheSignOfTheQuotient) {
  EXPECT_TRUE(is_exactly(floor_divide(reals({1, -1}), reals({kInf, kInf})), {0, -1}));
}

TEST_P(Division, FloorGivesAZeroTheSignOfTheQuotient) {
  const Tensor quotient = floor_divide(reals({0.0, -0.0, 0.0, -0.0, 1}), reals({2, 2, -2, -2, 2}));
  EXPECT_TRUE(is_exactly(quotient, {0.0, -0.0, -0.0, 0.0, 0.0}));
}

TEST_P(Division, RemainderHasTheSignOfTheDivisor) {
  EXPECT_TRUE(is_whole(remainder(wholes({5, -5, 5, -5, 6}), wholes({3, 3, -3, -3, 3})), {2, 1, -1, -2, 0}));
  EXPECT_TRUE(is_exactly(remainder(reals({5, -5, 5, -5, -7.5}), reals({3, 3, -3, -3, 2})), {2, 1, -1, -2, 0.5}));
  EXPECT_TRUE(is_exactly(remainder(reals({5, -5}), 3), {2, 1}));
  EXPECT_TRUE(is_whole(remainder(7, wholes({4, -4})), {3, -1}));
  EXPECT_TRUE(is_whole(wholes({-7}) % 4, {1}));
}

TEST_P(Division, RemainderAtTheEdges) {
  EXPECT_TRUE(is_exactly(remainder(reals({5, 1, -1, kInf}), reals({0, kInf, kInf, 2})), {kNan, 1, kInf, kNan}));
  EXPECT_TRUE(is_whole(remainder(wholes({kMin, 5}), wholes({-1, 0})), {0, 0}));
}

TEST_P(Division, FmodHasTheSignOfTheDividend) {
  EXPECT_TRUE(is_whole(fmod(wholes({5, -5, 5, -5}), wholes({3, 3, -3, -3})), {2, -2, 2, -2}));
  EXPECT_TRUE(is_exactly(fmod(reals({-7.5, 7.5}), 2.0), {-1.5, 1.5}));
}

TEST_P(Division, QuotientTimesDivisorPlusRemainderIsTheDividend) {
  const Tensor a = wholes({17, -17, 17, -17, 100, kMax}), b = wholes({5, 5, -5, -5, 7, 10});
  EXPECT_TRUE(equal(floor_divide(a, b) * b + remainder(a, b), a));
}

class Rounding : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Rounding, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Rounding, RoundsHalvesToEven) {
  for (DType dtype : floats_on(GetParam())) {
    const Tensor x = reals({0.5, 1.5, 2.5, -1.5, -2.5, 2.25, 2.75, -3.75, 7}, dtype);
    EXPECT_TRUE(is_exactly(round(x), {0, 2, 2, -2, -2, 2, 3, -4, 7})) << name(dtype);
  }
}

TEST_P(Rounding, JustBelowAHalfRoundsDown) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(is_exactly(round(reals({0.49999997, 8388608.5 - 1, 16777215})), {0, 8388608, 16777215}));
  EXPECT_TRUE(is(round(reals({0.49999999999999994, -0.49999999999999994}, DType::f64)), {0, 0}));
}

TEST_P(Rounding, LeavesInfinityAndNan) {
  for (auto f : {static_cast<Tensor (*)(const Tensor&)>(round), floor, ceil, trunc})
    EXPECT_TRUE(is_exactly(f(reals({kInf, -kInf, kNan})), {kInf, -kInf, kNan}));
}

TEST_P(Rounding, CeilAndTrunc) {
  EXPECT_TRUE(is_exactly(ceil(reals({1.2, -1.2, 2, -0.5})), {2, -1, 2, -0.0}));
  EXPECT_TRUE(is_exactly(trunc(reals({1.7, -1.7, 2, -0.5, 0.5})), {1, -1, 2, -0.0, 0}));
}

TEST_P(Rounding, NegativeNumbersRoundToNegativeZero) {
  EXPECT_TRUE(is_exactly(round(reals({-0.25, -0.5, -0.0})), {-0.0, -0.0, -0.0}));
}

TEST_P(Rounding, IntegersStayAsTheyAre) {
  for (auto f : {static_cast<Tensor (*)(const Tensor&)>(round), floor, ceil, trunc}) EXPECT_TRUE(is_whole(f(wholes({-3, kMax})), {-3, kMax}));
}

// ---- Order ---------------------------------------------------------------------------------------------------------

class Order : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Order, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Order, MinimumIsNanWhereEitherOperandIs) {
  EXPECT_TRUE(is_exactly(minimum(reals({1, kNan, 1, -kInf}), reals({2, 1, kNan, kInf})), {1, kNan, kNan, -kInf}));
}

TEST_P(Order, MinimumOfIntegersReachesBothEnds) {
  EXPECT_TRUE(is_whole(minimum(wholes({kMin, kMax, 3}), wholes({kMax, kMax - 1, -3})), {kMin, kMax - 1, -3}));
  EXPECT_TRUE(is_whole(minimum(wholes({0, 255, 7}, DType::u8), wholes({255, 254, 9}, DType::u8)), {0, 254, 7}));
  EXPECT_TRUE(is_whole(minimum(bools({true, true, false}), bools({true, false, false})), {1, 0, 0}));
}

TEST_P(Order, NanMakesEveryComparisonFalseButNotEqual) {
  const Tensor a = reals({kNan, 1, kNan}), b = reals({1, kNan, kNan});
  for (const Tensor& y : {lt(a, b), le(a, b), gt(a, b), ge(a, b), eq(a, b)}) EXPECT_TRUE(is_whole(y, {0, 0, 0}));
  EXPECT_TRUE(is_whole(ne(a, b), {1, 1, 1}));
}

TEST_P(Order, Comparisons) {
  const Tensor a = wholes({1, 2, 3}), b = wholes({2, 2, 2});
  EXPECT_TRUE(is_whole(a < b, {1, 0, 0}));
  EXPECT_TRUE(is_whole(a <= b, {1, 1, 0}));
  EXPECT_TRUE(is_whole(a > b, {0, 0, 1}));
  EXPECT_TRUE(is_whole(a >= b, {0, 1, 1}));
  EXPECT_TRUE(is_whole(a == b, {0, 1, 0}));
  EXPECT_TRUE(is_whole(a != b, {1, 0, 1}));
  EXPECT_TRUE(is_whole(wholes({1, 2}) > 1.5, {0, 1}));
}

TEST_P(Order, SignIsMinusOneZeroOrOne) {
  EXPECT_TRUE(is(sign(reals({-2.5, 0, -0.0, 3, -kInf, kInf})), {-1, 0, 0, 1, -1, 1}));
  EXPECT_TRUE(is_whole(sign(wholes({kMin, 0, 5})), {-1, 0, 1}));
  EXPECT_TRUE(is_whole(sign(wholes({0, 200}, DType::u8)), {0, 1}));
}

TEST_P(Order, SignOfBoolIsItself) { EXPECT_TRUE(is_whole(sign(bools({true, false})), {1, 0})); }

TEST_P(Order, ClampCutsAtBothEnds) {
  const Tensor x = reals({-2, -1, 0, 1, 2, kNan, kInf, -kInf});
  EXPECT_TRUE(is_exactly(clamp(x, -1, 1), {-1, -1, 0, 1, 1, kNan, 1, -1}));
  EXPECT_TRUE(is_exactly(clamp(x, {}, 0.5), {-2, -1, 0, 0.5, 0.5, kNan, 0.5, -kInf}));
  EXPECT_TRUE(is_exactly(clamp(x, 0, {}), {0, 0, 0, 1, 2, kNan, kInf, 0}));
  EXPECT_TRUE(is_exactly(clamp(reals({0, 1, 5}), 3, 2), {2, 2, 2})) << "max wins where the bounds cross";
  EXPECT_THROW(clamp(x, {}, {}), Error);
}

TEST_P(Order, ClampOfIntegersStaysInteger) {
  EXPECT_TRUE(is_whole(clamp(wholes({-5, 0, 5}), -1, 1), {-1, 0, 1}));
  EXPECT_TRUE(is_exactly(clamp(wholes({1, 2}), 1.5, {}), {1.5, 2}));
}

TEST_P(Order, ArgmaxIsTheFirstOfTheLargest) {
  const Tensor x = reals({1, 3, 3, 5, 2, 5}, {2, 3});
  EXPECT_TRUE(is_whole(argmax(x, 1), {1, 0}));
  EXPECT_TRUE(is_whole(argmax(x, 0), {1, 0, 1}));
  EXPECT_TRUE(is_whole(argmax(x), {3}));
  EXPECT_TRUE(is_whole(argmin(x, -1), {0, 1}));
  EXPECT_TRUE(is_whole(argmin(reals({2, 1, 1})), {1}));
  EXPECT_TRUE(is_whole(argmax(wholes({kMin, kMax, kMax}), 0), {1}));
  EXPECT_TRUE(is_whole(argmin(wholes({kMax, kMin, kMin}), 0), {1}));
  EXPECT_TRUE(is_whole(argmax(reals({-kInf, -kInf})), {0}));
}

TEST_P(Order, ArgmaxAndArgminFindTheFirstNan) {
  EXPECT_TRUE(is_whole(argmax(reals({1, kNan, kInf, kNan})), {1}));
  EXPECT_TRUE(is_whole(argmin(reals({1, kNan, -kInf, kNan})), {1}));
}

TEST_P(Order, ArgmaxShapes) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(shape_of(argmax(x)), "()");
  EXPECT_EQ(shape_of(argmax(x, {}, true)), "(1, 1)");
  EXPECT_EQ(shape_of(argmax(x, 1)), "(2,)");
  EXPECT_EQ(shape_of(argmax(x, 1, true)), "(2, 1)");
  EXPECT_EQ(shape_of(argmax(number(4))), "()");
  EXPECT_EQ(shape_of(argmax(number(4), 0)), "()");
  EXPECT_THROW(argmax(reals({}, {2, 0}), 1), Error);
}

TEST_P(Order, MaxAlongADimGivesValuesAndIndices) {
  const Tensor x = reals({1, 9, 2, 8, 8, 0}, {2, 3});
  const auto [top, where_top] = max(x, 1);
  EXPECT_TRUE(is_exactly(top, {9, 8}));
  EXPECT_TRUE(is_whole(where_top, {1, 0}));
  const auto [low, where_low] = min(x, 0, true);
  EXPECT_TRUE(is_exactly(low, {1, 8, 0}));
  EXPECT_TRUE(is_whole(where_low, {0, 1, 1}));
  EXPECT_EQ(shape_of(low), "(1, 3)");
}

TEST_P(Order, AmaxAndAminTakeSeveralDims) {
  const Tensor x = counting({2, 3, 2});
  EXPECT_TRUE(is_exactly(amax(x, {0, 2}), {7, 9, 11}));
  EXPECT_TRUE(is_exactly(amin(x, {0, 2}), {0, 2, 4}));
  EXPECT_TRUE(is_whole(amin(wholes({5, kMin, 3})), {kMin}));
  EXPECT_TRUE(is_whole(amin(wholes({5, 250, 3}, DType::u8)), {3}));
  EXPECT_TRUE(is_whole(amax(bools({false, true})), {1}));
  EXPECT_TRUE(is_exactly(amin(reals({1, kNan})), {kNan}));
  EXPECT_THROW(amax(reals({}, {0, 2}), {0}), Error);
}

TEST_P(Order, SortAlongAnyDim) {
  const Tensor x = reals({3, 1, 2, 0, 5, 4}, {2, 3});
  EXPECT_TRUE(is_exactly(sort(x, 1).first, {1, 2, 3, 0, 4, 5}));
  EXPECT_TRUE(is_whole(sort(x, 1).second, {1, 2, 0, 0, 2, 1}));
  EXPECT_TRUE(is_exactly(sort(x, 0, true).first, {3, 5, 4, 0, 1, 2}));
  EXPECT_TRUE(is_whole(argsort(x, -1, true), {0, 2, 1, 1, 2, 0}));
  EXPECT_TRUE(is_whole(sort(number(7)).second, {0}));
}

TEST_P(Order, TopkIsSorted) {
  const auto [values, indices] = topk(reals({1, 5, 3, 5, 2}), 3);
  EXPECT_TRUE(is_exactly(values, {5, 5, 3}));
  EXPECT_TRUE(is_whole(indices, {1, 3, 2}));
  EXPECT_TRUE(is_exactly(topk(reals({1, 5, 3, 4, 2}), 2, 0, false).first, {1, 2}));
  EXPECT_TRUE(is_exactly(topk(reals({3, 1, 2, 0, 5, 4}, {2, 3}), 1, 0).first, {3, 5, 4}));
  EXPECT_TRUE(is_exactly(topk(reals({1, kNan, 3}), 2).first, {kNan, 3}));
  EXPECT_EQ(shape_of(topk(counting({2, 3}), 0).first), "(2, 0)");
  EXPECT_THROW(topk(counting({2, 3}), 4), Error);
}

// ---- Powers, logarithms, hyperbolics -------------------------------------------------------------------------------

class Powers : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Powers, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Powers, OfNumbersThatHaveTheirOwnFormula) {
  const Tensor x = reals({-2, 0.25, 4});
  EXPECT_TRUE(is_exactly(pow(x, 0), {1, 1, 1}));
  EXPECT_TRUE(is_exactly(pow(x, 1), {-2, 0.25, 4}));
  EXPECT_TRUE(is_exactly(pow(x, 2), {4, 0.0625, 16}));
  EXPECT_TRUE(is_exactly(pow(x, 3), {-8, 0.015625, 64}));
  EXPECT_TRUE(is_exactly(pow(x, -1), {-0.5, 4, 0.25}));
  EXPECT_TRUE(is_exactly(pow(x, 0.5), {kNan, 0.5, 2}));
  EXPECT_TRUE(is_exactly(pow(x, -2), {0.25, 16, 0.0625}));
  EXPECT_TRUE(is_exactly(pow(2.0, reals({-1, 0, 10})), {0.5, 1, 1024}));
}

TEST_P(Powers, AtZeroInfinityAndNan) {
  EXPECT_TRUE(is_exactly(pow(reals({0, kNan, kInf}), 0), {1, 1, 1}));
  EXPECT_TRUE(is_exactly(pow(reals({0, 0, -8, 1}), reals({0, -1, 1.0 / 3, kNan})), {1, kInf, kNan, 1}));
}

TEST_P(Powers, OfIntegersAreIntegers) {
  EXPECT_TRUE(is_whole(pow(wholes({-3, 0, 7}), 2), {9, 0, 49}));
  EXPECT_TRUE(is_whole(pow(wholes({-3, 0, 7}), 3), {-27, 0, 343}));
  EXPECT_TRUE(is_whole(pow(wholes({2, 3, -2}), wholes({10, 4, 3})), {1024, 81, -8}));
  EXPECT_TRUE(is_whole(pow(2, wholes({0, 5})), {1, 32}));
  EXPECT_TRUE(is_whole(pow(wholes({2, 1, -1}), wholes({-1, -1, -1})), {0, 1, -1}));
  EXPECT_THROW(pow(wholes({2}), -1), Error);
}

TEST_P(Powers, OfLargeIntegersAreExact) { EXPECT_TRUE(is_whole(pow(wholes({300001}), 3), {27000270000900001})); }

TEST_P(Powers, OfIntegersToARealAreReal) {
  EXPECT_EQ(dtype_of(pow(wholes({3}), 2.5)), "f32");
  EXPECT_EQ(dtype_of(pow(wholes({3}), 2.0)), "f32");
  EXPECT_TRUE(is_exactly(pow(wholes({4, 9}), 0.5), {2, 3}));
}

TEST_P(Powers, OfBoolToAnIntegerAreIntegers) { EXPECT_EQ(dtype_of(pow(bools({true}), 2)), "i64"); }

TEST_P(Powers, LogarithmsOfPowersAreExact) {
  Numbers powers, exponents;
  for (int k = -10; k <= 20; ++k) {
    powers.push_back(std::ldexp(1, k));
    exponents.push_back(k);
  }
  EXPECT_TRUE(is_exactly(log2(reals(powers)), exponents));
  EXPECT_TRUE(is_exactly(exp2(reals(exponents)), powers));
  EXPECT_TRUE(is(log10(reals({1, 10, 100, 1000, 1e10})), {0, 1, 2, 3, 10}));
}

TEST_P(Powers, Hyperbolics) {
  EXPECT_TRUE(is(sinh(reals({0, 1, -1})), {0, 1.1752011936438014, -1.1752011936438014}));
  EXPECT_TRUE(is(cosh(reals({0, 1, -1})), {1, 1.5430806348152437, 1.5430806348152437}));
  EXPECT_TRUE(is_exactly(sinh(reals({kInf, -kInf, kNan})), {kInf, -kInf, kNan}));
  EXPECT_TRUE(is_exactly(sinh(reals({1e-20})), {1e-20})) << "small arguments keep their digits";
}

// e^89 is beyond f32, half of it is not.
TEST_P(Powers, HyperbolicsReachTheEndOfTheRange) {
  const Numbers wanted{2.2448060e38};
  EXPECT_TRUE(is(sinh(reals({89})), wanted));
  EXPECT_TRUE(is(cosh(reals({89})), wanted));
}

TEST_P(Powers, RootsAndReciprocals) {
  EXPECT_TRUE(is(rsqrt(reals({4, 0, kInf, -1})), {0.5, kInf, 0, kNan}));
  EXPECT_TRUE(is_exactly(reciprocal(reals({4, 0, -0.0, kInf})), {0.25, kInf, -kInf, 0}));
  EXPECT_TRUE(is_exactly(reciprocal(wholes({4, 2})), {0.25, 0.5}));
  EXPECT_TRUE(is(tan(reals({0, 1})), {0, 1.5574077246549023}));
  EXPECT_TRUE(is_exactly(square(wholes({-3, 4})), {9, 16}));
}

// ---- Not quite numbers ---------------------------------------------------------------------------------------------

class Gamma : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Gamma, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Gamma, KeepsItsDigitsNearThePoles) {
  const Tensor x = reals({-1e-8, 1e-8, -4.0000005, -3.9999998, -1.0000001, 1e-30, -1e-30});
  EXPECT_TRUE(is(lgamma(x), {18.4206808, 18.4206807, 11.3780362, 12.0711845, 15.9423851, 69.0775528, 69.0775528}));
  EXPECT_TRUE(is(lgamma(reals({-1e-8, 1e-20}, DType::bf16)), {18.375, 46}));
  EXPECT_TRUE(is(digamma(reals({-1e-8, -1.0000001})), {1e8, 8388608.42}));
}

TEST_P(Gamma, OfSubnormalNumbersIsFinite) {
  if (GetParam() != "cpu" && GetParam() != "reference") GTEST_SKIP() << "a GPU may take them for 0";
  EXPECT_TRUE(is(lgamma(reals({1e-40, -1e-40})), {92.1034091, 92.1034091}));
  EXPECT_TRUE(is(digamma(reals({-1e-40, -1e-300}, DType::f64)), {1e40, 1e300}, 1e-14));
}

class Unusual : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Unusual, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Unusual, AreRecognised) {
  for (DType dtype : floats_on(GetParam())) {
    const Tensor x = reals({0, kNan, kInf, -kInf, 1e4}, dtype);
    EXPECT_TRUE(is_whole(isnan(x), {0, 1, 0, 0, 0})) << name(dtype);
    EXPECT_TRUE(is_whole(isinf(x), {0, 0, 1, 1, 0})) << name(dtype);
    EXPECT_TRUE(is_whole(isfinite(x), {1, 0, 0, 0, 1})) << name(dtype);
  }
  EXPECT_TRUE(is_whole(isnan(wholes({kMax})), {0}));
  EXPECT_TRUE(is_whole(isinf(wholes({kMax})), {0}));
  EXPECT_TRUE(is_whole(isfinite(wholes({kMax})), {1}));
}

TEST_P(Unusual, BecomeNumbers) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  const Numbers values{kNan, kInf, -kInf, 2};
  EXPECT_TRUE(is_exactly(nan_to_num(reals(values)), {0, 3.4028234663852886e38, -3.4028234663852886e38, 2}));
  EXPECT_TRUE(is_exactly(nan_to_num(reals(values, DType::f16)), {0, 65504, -65504, 2}));
  EXPECT_TRUE(
      is_exactly(nan_to_num(reals(values, DType::bf16)), {0, 3.3895313892515355e38, -3.3895313892515355e38, 2}));
  EXPECT_TRUE(
      is_exactly(nan_to_num(reals(values, DType::f64)), {0, 1.7976931348623157e308, -1.7976931348623157e308, 2}));
  EXPECT_TRUE(is_exactly(nan_to_num(reals(values), 1, 5, -5), {1, 5, -5, 2}));
  EXPECT_TRUE(is_whole(nan_to_num(wholes({3})), {3}));
}

// ---- Choosing and logic --------------------------------------------------------------------------------------------

class Logic : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Logic, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Logic, OfNumbersAsksWhetherTheyAreNotZero) {
  const Tensor a = reals({0, 2, kNan, 0}), b = reals({1, -1, 0, 0});
  EXPECT_TRUE(is_whole(logical_and(a, b), {0, 1, 0, 0}));
  EXPECT_TRUE(is_whole(logical_or(a, b), {1, 1, 1, 0}));
  EXPECT_TRUE(is_whole(logical_xor(a, b), {1, 0, 1, 0}));
  EXPECT_TRUE(is_whole(logical_not(a), {1, 0, 0, 1}));
}

TEST_P(Logic, OfBits) {
  EXPECT_TRUE(is_whole(bitwise_and(wholes({12}), wholes({10})), {8}));
  EXPECT_TRUE(is_whole(bitwise_or(wholes({12}), 3), {15}));
  EXPECT_TRUE(is_whole(bitwise_xor(wholes({12}), wholes({10})), {6}));
  EXPECT_TRUE(is_whole(bitwise_not(wholes({0, -1, 5})), {-1, 0, -6}));
  EXPECT_TRUE(is_whole(bitwise_not(wholes({0, 255}, DType::u8)), {255, 0}));
  EXPECT_TRUE(is_whole(bitwise_not(bools({true, false})), {0, 1}));
  EXPECT_TRUE(is_whole(wholes({1, -8}) << 3, {8, -64}));
  EXPECT_TRUE(is_whole(wholes({9, -9}) >> 1, {4, -5}));
  EXPECT_THROW(bitwise_and(reals({1}), reals({1})), Error);
}

TEST_P(Logic, AnyAndAll) {
  const Tensor x = from_vector(std::vector<bool>{true, false, true, true}, {2, 2}, of(DType::boolean));
  EXPECT_TRUE(is_whole(any(x), {1}));
  EXPECT_TRUE(is_whole(all(x), {0}));
  EXPECT_TRUE(is_whole(any(x, {0}), {1, 1}));
  EXPECT_TRUE(is_whole(all(x, {1}), {0, 1}));
  EXPECT_EQ(shape_of(all(x, {1}, true)), "(2, 1)");
  EXPECT_TRUE(is_whole(any(reals({0, kNan})), {1})) << "NaN is not zero";
  EXPECT_TRUE(is_whole(all(reals({1, kNan})), {1}));
  EXPECT_TRUE(is_whole(any(wholes({0, -0})), {0}));
}

TEST_P(Logic, AnyOfNothingIsFalseAndAllIsTrue) {
  const Tensor nothing = reals({}, {0, 2});
  EXPECT_TRUE(is_whole(any(nothing, {0}), {0, 0}));
  EXPECT_TRUE(is_whole(all(nothing, {0}), {1, 1}));
}

TEST_P(Logic, AnyOfManyBytesDoesNotWrap) { EXPECT_TRUE(is_whole(any(full({256}, 1, of(DType::u8))), {1})); }

TEST_P(Logic, WhereBroadcastsAndPromotes) {
  const Tensor condition = from_vector(std::vector<bool>{true, false}, {2, 1}, of(DType::boolean));
  EXPECT_TRUE(is_exactly(where(condition, reals({1, 2, 3}), reals({9}, {1})), {1, 2, 3, 9, 9, 9}));
  EXPECT_EQ(dtype_of(where(bools({true}), wholes({1}), reals({0.5}))), "f32");
  EXPECT_EQ(dtype_of(where(bools({true}), wholes({1}), 0.5)), "f32");
  EXPECT_TRUE(is_exactly(where(bools({true, false}), 1.5, 2.5), {1.5, 2.5}));
  EXPECT_THROW(where(wholes({1}), 1, 2), Error);
}

TEST_P(Logic, MaskedFillKeepsTheDType) {
  EXPECT_TRUE(is_exactly(masked_fill(reals({1, 2, 3}), bools({true, false, true}), -kInf), {-kInf, 2, -kInf}));
  EXPECT_TRUE(is_whole(masked_fill(wholes({1, 2}), bools({true, false}), 7), {7, 2}));
  EXPECT_TRUE(is_exactly(masked_fill(counting({2, 2}), bools({true, false}), 9), {9, 1, 9, 3}));
}

// ---- Dtypes of mixed operands --------------------------------------------------------------------------------------

class Promotion : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Promotion, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Promotion, FollowsPyTorch) {
  const auto one = [&](DType dtype) { return ones({1}, of(dtype)); };
  const auto zero_dim = [&](DType dtype) { return ones({}, of(dtype)); };
  EXPECT_EQ(dtype_of(one(DType::i64) + 0.5), "f32");
  EXPECT_EQ(dtype_of(one(DType::f16) + 0.5), "f16");
  EXPECT_EQ(dtype_of(one(DType::u8) + 1), "u8");
  EXPECT_EQ(dtype_of(one(DType::boolean) + 1), "i64");
  EXPECT_EQ(dtype_of(one(DType::boolean) + 1.0), "f32");
  EXPECT_EQ(dtype_of(one(DType::f16) + one(DType::bf16)), "f32");
  EXPECT_EQ(dtype_of(one(DType::f16) + one(DType::f32)), "f32");
  EXPECT_EQ(dtype_of(one(DType::f32) + one(DType::f64)), "f64");
  EXPECT_EQ(dtype_of(one(DType::i64) + one(DType::f16)), "f16");
  EXPECT_EQ(dtype_of(one(DType::u8) + one(DType::i32)), "i32");
  EXPECT_EQ(dtype_of(one(DType::boolean) + one(DType::u8)), "u8");
  EXPECT_EQ(dtype_of(one(DType::f32) + zero_dim(DType::f64)), "f32");
  EXPECT_EQ(dtype_of(one(DType::i32) + zero_dim(DType::i64)), "i32");
  EXPECT_EQ(dtype_of(one(DType::i32) + zero_dim(DType::f64)), "f64");
  EXPECT_EQ(dtype_of(zero_dim(DType::f32) + zero_dim(DType::f64)), "f64");
}

TEST_P(Promotion, AddAndMulOfBoolAreLogic) {
  EXPECT_TRUE(is_whole(bools({true, true, false}) + bools({true, false, false}), {1, 1, 0}));
  EXPECT_TRUE(is_whole(bools({true, true, false}) * bools({true, false, false}), {1, 0, 0}));
  EXPECT_EQ(dtype_of(bools({true}) + bools({true})), "bool");
  EXPECT_THROW(bools({true}) - bools({true}), Error);
}

TEST_P(Promotion, ReductionsOfIntegersAreI64) {
  EXPECT_TRUE(is_whole(sum(wholes({200, 100}, DType::u8)), {300}));
  EXPECT_EQ(dtype_of(sum(bools({true, true}))), "i64");
  EXPECT_EQ(dtype_of(prod(wholes({2}, DType::i32))), "i64");
  EXPECT_EQ(dtype_of(cumsum(wholes({2}, DType::u8), 0)), "i64");
  EXPECT_EQ(dtype_of(amax(wholes({2}, DType::u8))), "u8");
  EXPECT_THROW(mean(wholes({1, 2})), Error);
}

TEST_P(Promotion, FunctionsOfIntegersAreF32) {
  EXPECT_EQ(dtype_of(exp(wholes({1}))), "f32");
  EXPECT_EQ(dtype_of(sqrt(bools({true}))), "f32");
  EXPECT_TRUE(is(log(wholes({1, 10})), {0, 2.302585092994046}));
}

// ---- A result is a tensor of its own -------------------------------------------------------------------------------

class Results : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Results, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Results, DoNotShareMemoryWithTheOperand) {
  using Function = std::function<Tensor(const Tensor&)>;
  const auto untouched = [](Tensor x, const Function& f) {
    const Numbers before = x.to_vector<double>();
    f(x).fill_(1);
    return x.to_vector<double>() == before;
  };
  const auto untouched_reals = [&](const Function& f) { return untouched(reals({5, 6}), f); };
  const auto untouched_wholes = [&](const Function& f) { return untouched(wholes({5, 6}), f); };
  const auto untouched_number = [&](const Function& f) { return untouched(number(5), f); };
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return pow(x, 1.0); })) << "pow(x, 1)";
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return roll(x, 0, 0); })) << "roll by 0";
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return cat({x}); })) << "cat of one";
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return repeat(x, {1}); })) << "repeat once";
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return pad(x, {0, 0}); })) << "pad by 0";
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return flip(x, {}); })) << "flip of no dim";
  EXPECT_TRUE(untouched_reals([](const Tensor& x) { return einsum("i->i", {x}); })) << "einsum that does nothing";
  EXPECT_TRUE(untouched_wholes([](const Tensor& x) { return floor(x); })) << "floor of integers";
  EXPECT_TRUE(untouched_wholes([](const Tensor& x) { return ceil(x); })) << "ceil of integers";
  EXPECT_TRUE(untouched_wholes([](const Tensor& x) { return round(x); })) << "round of integers";
  EXPECT_TRUE(untouched_wholes([](const Tensor& x) { return trunc(x); })) << "trunc of integers";
  EXPECT_TRUE(untouched_wholes([](const Tensor& x) { return nan_to_num(x); })) << "nan_to_num of integers";
  EXPECT_TRUE(untouched_number([](const Tensor& x) { return sort(x).first; })) << "sort of a number";
  EXPECT_TRUE(untouched_number([](const Tensor& x) { return max(x, 0).first; })) << "max of a number";
  EXPECT_TRUE(untouched_number([](const Tensor& x) { return cumsum(x, 0); })) << "cumsum of a number";
  EXPECT_TRUE(untouched(bools({false, false}), [](const Tensor& x) { return abs(x); })) << "abs of bool";
}

TEST_P(Results, AreComparedOnTheHost) {
  EXPECT_TRUE(equal(reals({1, 2}), reals({1, 2})));
  EXPECT_FALSE(equal(reals({1, kNan}), reals({1, kNan})));
  EXPECT_FALSE(equal(reals({1, 2}), reals({1, 2}, {2, 1})));
  EXPECT_TRUE(allclose(reals({1, kInf}), reals({1 + 1e-7, kInf})));
  EXPECT_FALSE(allclose(reals({1}), reals({1.1})));
  EXPECT_FALSE(allclose(reals({kInf}), reals({1})));
  EXPECT_FALSE(allclose(reals({kNan}), reals({kNan})));
  EXPECT_TRUE(allclose(reals({kNan}), reals({kNan}), 1e-5, 1e-8, true));
}

// ---- The gamma function --------------------------------------------------------------------------------------------

class Lgamma : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Lgamma, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Lgamma, KeepsItsDigitsNearItsZeros) {
  const Tensor x = reals({0.9, 0.999, 1.001, 1.25, 1.75, 1.9854211, 1.999, 2.001, 2.5});
  const Numbers at = x.to_vector<double>(), found = lgamma(x).to_vector<double>();
  for (size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(found[i] / std::lgamma(at[i]), 1, 1e-6) << "at " << at[i];
  EXPECT_TRUE(is_exactly(lgamma(reals({1, 2})), {0, 0}));
}

}  // namespace
}  // namespace tenon::ops_test
