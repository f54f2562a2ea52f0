// What arrays look like in print. Every expected text but those of bf16 was written by numpy 1.24.

#include "tenon/tensor/format.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The values, rounded to the dtype, in print.
std::string floats(const Dims& shape, DType dtype, std::vector<double> values) {
  for (double& value : values) {
    value = dispatch(dtype, [&]<typename T>() { return static_cast<double>(static_cast<T>(value)); });
  }
  return format_array(shape, dtype, values, {});
}

std::string wholes(const Dims& shape, DType dtype, const std::vector<int64_t>& values) {
  return format_array(shape, dtype, {}, values);
}

std::vector<int64_t> counting(size_t count, int64_t from = 0) {
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(Format, WholeFloatsEndInAPoint) { EXPECT_EQ(floats({3}, DType::f64, {1, 2, 3}), "[1. 2. 3.]"); }

TEST(Format, FractionsAlignAtThePoint) {
  EXPECT_EQ(floats({3}, DType::f64, {1, 2.5, -10.125}), "[  1.      2.5   -10.125]");
}

TEST(Format, DigitsAreCutAtEight) { EXPECT_EQ(floats({2}, DType::f64, {1.0 / 3, 2.5}), "[0.33333333 2.5       ]"); }
TEST(Format, CuttingMayCarryIntoTheWholePart) { EXPECT_EQ(floats({2}, DType::f64, {99.9999999999, 1}), "[100.   1.]"); }
TEST(Format, F32HasTheShortestDigitsOfF32) { EXPECT_EQ(floats({3}, DType::f32, {0.1, 0.2, 0.3}), "[0.1 0.2 0.3]"); }

TEST(Format, F16HasTheShortestDigitsOfF16) {
  EXPECT_EQ(floats({3}, DType::f16, {0.1, 1.0 / 3, 3.14159}), "[0.1    0.3333 3.14  ]");
}

TEST(Format, F16ShowsItsWholePartInFull) { EXPECT_EQ(floats({2}, DType::f16, {65504, 2050}), "[65504.  2050.]"); }
TEST(Format, NegativeZeroKeepsItsSign) { EXPECT_EQ(floats({2}, DType::f64, {-0.0, 0}), "[-0.  0.]"); }
TEST(Format, ExponentFromOneHundredMillion) { EXPECT_EQ(floats({2}, DType::f64, {1e8, 1e7}), "[1.e+08 1.e+07]"); }
TEST(Format, NoExponentJustBelow) { EXPECT_EQ(floats({2}, DType::f64, {99999999, 1e7}), "[99999999. 10000000.]"); }
TEST(Format, ExponentBelowOneTenThousandth) { EXPECT_EQ(floats({2}, DType::f64, {9e-05, 0.001}), "[9.e-05 1.e-03]"); }
TEST(Format, NoExponentAtOneTenThousandth) { EXPECT_EQ(floats({2}, DType::f64, {0.0001, 0.01}), "[0.0001 0.01  ]"); }
TEST(Format, F32OneTenThousandthLiesBelowIt) { EXPECT_EQ(floats({2}, DType::f32, {0.0001, 0.01}), "[1.e-04 1.e-02]"); }

TEST(Format, ExponentWhenTheRatioExceedsOneThousand) {
  EXPECT_EQ(floats({2}, DType::f64, {0.5, 500.5}), "[5.000e-01 5.005e+02]");
}

TEST(Format, NoExponentAtRatioOneThousand) { EXPECT_EQ(floats({3}, DType::f64, {0.5, 500, 0}), "[  0.5 500.    0. ]"); }

TEST(Format, ExponentsShareTheirDigits) {
  EXPECT_EQ(floats({4}, DType::f32, {0.3, -1.25e-05, 12345.678, 0}),
            "[ 3.0000001e-01 -1.2500000e-05  1.2345678e+04  0.0000000e+00]");
}

TEST(Format, ThreeDigitExponentsWidenAll) { EXPECT_EQ(floats({2}, DType::f64, {1e-300, 1}), "[1.e-300 1.e+000]"); }
TEST(Format, SmallestSubnormals) { EXPECT_EQ(floats({2}, DType::f64, {5e-324, 1e-323}), "[5.e-324 1.e-323]"); }

TEST(Format, PowerOfTwoHasACloserNeighbourBelow) {
  EXPECT_EQ(floats({}, DType::f64, {0x1p-44}), "5.684341886080802e-14");
}

TEST(Format, NanAndInfinityAlignRight) {
  EXPECT_EQ(floats({4}, DType::f64, {1.5, kNan, kInf, -kInf}), "[ 1.5  nan  inf -inf]");
}

TEST(Format, OnlyNan) { EXPECT_EQ(floats({2}, DType::f32, {kNan, kNan}), "[nan nan]"); }

TEST(Format, InfinityInAnExponentColumn) {
  EXPECT_EQ(floats({3}, DType::f32, {1e10, -kInf, -2.5}), "[ 1.0e+10     -inf -2.5e+00]");
}

TEST(Format, IntegersAlignRight) {
  EXPECT_EQ(wholes({2, 3}, DType::i64, {1, -20, 300, 4, 5, 6}),
            "[[  1 -20 300]\n"
            " [  4   5   6]]");
}

TEST(Format, IntegerExtremes) {
  EXPECT_EQ(wholes({2}, DType::i64, {INT64_MIN, INT64_MAX}), "[-9223372036854775808  9223372036854775807]");
}

TEST(Format, Bytes) { EXPECT_EQ(wholes({3}, DType::u8, {0, 7, 255}), "[  0   7 255]"); }

TEST(Format, BoolsPadTrue) {
  EXPECT_EQ(wholes({2, 2}, DType::boolean, {1, 0, 1, 1}),
            "[[ True False]\n"
            " [ True  True]]");
}

TEST(Format, MatrixRowsStandBelowEachOther) {
  EXPECT_EQ(floats({2, 2}, DType::f32, {1, 2.5, 3, 4}),
            "[[1.  2.5]\n"
            " [3.  4. ]]");
}

TEST(Format, BlankLinesBetweenMatrices) {
  EXPECT_EQ(wholes({2, 2, 2}, DType::i32, {0, 1, 2, 3, 4, 5, 6, 7}),
            "[[[0 1]\n"
            "  [2 3]]\n"
            "\n"
            " [[4 5]\n"
            "  [6 7]]]");
}

TEST(Format, OneMoreBlankLinePerRank) {
  EXPECT_EQ(wholes({2, 1, 2, 1}, DType::i32, {0, 1, 2, 3}),
            "[[[[0]\n"
            "   [1]]]\n"
            "\n"
            "\n"
            " [[[2]\n"
            "   [3]]]]");
}

TEST(Format, LongRowsWrap) {
  EXPECT_EQ(wholes({30}, DType::i64, counting(30, -5)),
            "[-5 -4 -3 -2 -1  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18\n"
            " 19 20 21 22 23 24]");
}

TEST(Format, WrappedLinesLoseTrailingSpaces) {
  EXPECT_EQ(floats({16}, DType::f64, {0.25, 1, 2, 3, 4, 5, 6, 7, 0.25, 9, 10, 11, 12, 13, 14, 15}),
            "[ 0.25  1.    2.    3.    4.    5.    6.    7.    0.25  9.   10.   11.\n"
            " 12.   13.   14.   15.  ]");
}

TEST(Format, NestedRowsWrapUnderTheirBracket) {
  EXPECT_EQ(wholes({2, 30}, DType::i64, counting(60)),
            "[[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            "  24 25 26 27 28 29]\n"
            " [30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53\n"
            "  54 55 56 57 58 59]]");
}

TEST(Format, OneThousandElementsAreShownInFull) {
  std::string expected = "[";
  for (int line = 0; line < 27; ++line) {
    expected += "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n ";
  }
  EXPECT_EQ(wholes({1000}, DType::u8, std::vector<int64_t>(1000)), expected + "0]");
}

TEST(Format, MoreAreSummarised) {
  EXPECT_EQ(wholes({1001}, DType::i64, counting(1001)), "[   0    1    2 ...  998  999 1000]");
}

TEST(Format, OnlyShownElementsSetTheWidth) {
  std::vector<double> values(1001);
  values[500] = 1e9;
  EXPECT_EQ(floats({1001}, DType::f64, values), "[0. 0. 0. ... 0. 0. 0.]");
}

TEST(Format, LongAxesAreSummarisedEach) {
  EXPECT_EQ(wholes({40, 40}, DType::i64, counting(1600)),
            "[[   0    1    2 ...   37   38   39]\n"
            " [  40   41   42 ...   77   78   79]\n"
            " [  80   81   82 ...  117  118  119]\n"
            " ...\n"
            " [1480 1481 1482 ... 1517 1518 1519]\n"
            " [1520 1521 1522 ... 1557 1558 1559]\n"
            " [1560 1561 1562 ... 1597 1598 1599]]");
}

TEST(Format, ShortAxesAreShownInFull) {
  EXPECT_EQ(wholes({2, 7, 100}, DType::i64, counting(1400)),
            "[[[   0    1    2 ...   97   98   99]\n"
            "  [ 100  101  102 ...  197  198  199]\n"
            "  [ 200  201  202 ...  297  298  299]\n"
            "  ...\n"
            "  [ 400  401  402 ...  497  498  499]\n"
            "  [ 500  501  502 ...  597  598  599]\n"
            "  [ 600  601  602 ...  697  698  699]]\n"
            "\n"
            " [[ 700  701  702 ...  797  798  799]\n"
            "  [ 800  801  802 ...  897  898  899]\n"
            "  [ 900  901  902 ...  997  998  999]\n"
            "  ...\n"
            "  [1100 1101 1102 ... 1197 1198 1199]\n"
            "  [1200 1201 1202 ... 1297 1298 1299]\n"
            "  [1300 1301 1302 ... 1397 1398 1399]]]");
}

TEST(Format, ScalarFloat) { EXPECT_EQ(floats({}, DType::f64, {1.0 / 3}), "0.3333333333333333"); }
TEST(Format, ScalarWholeFloat) { EXPECT_EQ(floats({}, DType::f32, {3}), "3.0"); }
TEST(Format, ScalarSmall) { EXPECT_EQ(floats({}, DType::f32, {1.5e-05}), "1.5e-05"); }
TEST(Format, ScalarLarge) { EXPECT_EQ(floats({}, DType::f64, {1e+16}), "1e+16"); }
TEST(Format, ScalarF16HasOnlyShortestDigits) { EXPECT_EQ(floats({}, DType::f16, {65504}), "65500.0"); }
TEST(Format, ScalarNan) { EXPECT_EQ(floats({}, DType::f32, {kNan}), "nan"); }
TEST(Format, ScalarNegativeInfinity) { EXPECT_EQ(floats({}, DType::f32, {-kInf}), "-inf"); }
TEST(Format, ScalarInteger) { EXPECT_EQ(wholes({}, DType::i64, {-42}), "-42"); }
TEST(Format, ScalarBool) { EXPECT_EQ(wholes({}, DType::boolean, {1}), "True"); }
TEST(Format, EmptyVector) { EXPECT_EQ(floats({0}, DType::f32, {}), "[]"); }
TEST(Format, EmptyMatrix) { EXPECT_EQ(wholes({2, 0}, DType::i64, {}), "[]"); }

// Of 1/3's neighbours in bf16, 0.33203125, 0.333984375 and 0.3359375, three digits name the middle one.
TEST(Format, Bf16HasTheShortestDigitsOfBf16) {
  EXPECT_EQ(floats({3}, DType::bf16, {0.1, 1.0 / 3, 3.14159}), "[0.1   0.334 3.14 ]");
}

TEST(Format, Bf16ShowsItsWholePartInFull) { EXPECT_EQ(floats({2}, DType::bf16, {1001, 33000}), "[ 1000. 33024.]"); }
TEST(Format, ScalarBf16HasOnlyShortestDigits) { EXPECT_EQ(floats({}, DType::bf16, {33000}), "33000.0"); }

TEST(Format, RefusesAWrongNumberOfValues) {
  EXPECT_THROW(floats({3}, DType::f32, {1, 2}), Error);
  EXPECT_THROW(wholes({2, 2}, DType::i64, {1, 2, 3, 4, 5}), Error);
}

}  // namespace
}  // namespace tenon
