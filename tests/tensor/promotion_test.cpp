// Which dtype an op gives, and the values that hang on it: PyTorch's rules, written out as tables and small cases.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, f64 = DType::f64;
constexpr DType i32 = DType::i32, i64 = DType::i64, u8 = DType::u8, b8 = DType::boolean;

// torch.promote_types, rows and columns in the order of kAllDTypes.
constexpr DType kPromoted[8][8] = {
    // f32  f16   bf16  f64  i32   i64   u8    bool
    {f32, f32, f32, f64, f32, f32, f32, f32},       // f32
    {f32, f16, f32, f64, f16, f16, f16, f16},       // f16
    {f32, f32, bf16, f64, bf16, bf16, bf16, bf16},  // bf16
    {f64, f64, f64, f64, f64, f64, f64, f64},       // f64
    {f32, f16, bf16, f64, i32, i64, i32, i32},      // i32
    {f32, f16, bf16, f64, i64, i64, i64, i64},      // i64
    {f32, f16, bf16, f64, i32, i64, u8, u8},        // u8
    {f32, f16, bf16, f64, i32, i64, u8, b8},        // bool
};

DType promoted(DType a, DType b) { return kPromoted[static_cast<size_t>(a)][static_cast<size_t>(b)]; }

// bool < integers < floats: only a higher category of a number or 0-d tensor changes the dtype of a tensor with dims.
int category(DType dtype) { return is_float(dtype) ? 2 : dtype == b8 ? 0 : 1; }

std::string names(DType a, DType b) { return std::string(name(a)) + " with " + std::string(name(b)); }

std::vector<double> reals(const Tensor& x) { return x.to_vector<double>(); }
std::vector<int64_t> wholes(const Tensor& x) { return x.to_vector<int64_t>(); }

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;
using Bools = std::vector<bool>;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// ---- pairs of tensors ----

TEST(Promotion, PairsOfTensorsFollowTheTable) {
  for (DType a : kAllDTypes) {
    for (DType b : kAllDTypes) {
      const Tensor x = ones({2}, a), y = ones({3, 1}, b);
      EXPECT_EQ(add(x, y).dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(mul(x, y).dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(maximum(x, y).dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(minimum(x, y).dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(where(x == x, x, y).dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(promote(a, b), promoted(a, b)) << names(a, b);
    }
  }
}

TEST(Promotion, CatAndStackFollowTheTable) {
  for (DType a : kAllDTypes) {
    for (DType b : kAllDTypes) {
      const Tensor x = ones({2}, a), y = ones({2}, b);
      const Tensor joined = cat({x, y}), stacked = stack({x, y});
      EXPECT_EQ(joined.dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(stacked.dtype(), promoted(a, b)) << names(a, b);
      EXPECT_EQ(reals(joined), Reals({1, 1, 1, 1})) << names(a, b);
    }
  }
}

TEST(Promotion, ValuesOfEveryPairAreThoseOfTheWiderDtype) {
  for (DType a : kAllDTypes) {
    for (DType b : kAllDTypes) {
      const bool both_bool = a == b8 && b == b8;  // bool + bool is "or"
      EXPECT_EQ(reals(ones({2}, a) + ones({2}, b)), both_bool ? Reals({1, 1}) : Reals({2, 2})) << names(a, b);
      EXPECT_EQ(reals(full({2}, 3, a) * full({2}, 5, b)), Reals(2, (a == b8 ? 1 : 3) * (b == b8 ? 1 : 5)))
          << names(a, b);
    }
  }
}

TEST(Promotion, DivisionOfTensorsIsRealAndFollowsTheTableAmongFloats) {
  for (DType a : kAllDTypes) {
    for (DType b : kAllDTypes) {
      const DType wide = promoted(a, b);
      EXPECT_EQ(div(ones({2}, a), ones({2}, b)).dtype(), is_float(wide) ? wide : f32) << names(a, b);
    }
  }
}

TEST(Promotion, ComparisonsOfEveryPairGiveBool) {
  for (DType a : kAllDTypes) {
    for (DType b : kAllDTypes) {
      const Tensor x = ones({2}, a), y = ones({2}, b);
      EXPECT_EQ((x == y).dtype(), b8);
      EXPECT_EQ((x < y).dtype(), b8);
      EXPECT_EQ((x >= y).to_vector<bool>(), Bools({true, true})) << names(a, b);
      EXPECT_EQ((x != y).to_vector<bool>(), Bools({false, false})) << names(a, b);
      EXPECT_EQ(logical_and(x, y).dtype(), b8);
    }
  }
}

TEST(Promotion, ComparisonHappensInThePromotedDtype) {
  const Tensor big = tensor<int64_t>({16777217}), rounded = tensor<float>({16777216.0f});
  EXPECT_EQ((big == rounded).to_vector<bool>(), Bools({true}));  // i64 becomes f32, as in PyTorch
  EXPECT_EQ((big == rounded.to(f64)).to_vector<bool>(), Bools({false}));
}

// ---- 0-d tensors ----

TEST(Promotion, ZeroDimTensorsChangeOnlyTheCategory) {
  for (DType dim : kAllDTypes) {
    for (DType single : kAllDTypes) {
      const DType expected = category(single) > category(dim) ? promoted(dim, single) : dim;
      EXPECT_EQ(add(ones({2}, dim), ones({}, single)).dtype(), expected) << names(dim, single);
      EXPECT_EQ(add(ones({}, single), ones({2}, dim)).dtype(), expected) << names(single, dim);
    }
  }
}

TEST(Promotion, ProductsAndQuotientsThatAreAddedAreOfTheResultsDtype) {
  const Tensor small = full({1}, 20, u8), zero = zeros({1});
  EXPECT_EQ(reals(addcmul(zero, small, small)), Reals({400}));
  const Tensor third = addcdiv(zeros({1}, f64), ones({1}, f32), full({1}, 3, f32));
  EXPECT_DOUBLE_EQ(third.item<double>(), 1.0 / 3);
}

TEST(Promotion, AZeroDimDividendDoesNotDecideTheDtypeOfARemainder) {
  const Tensor rest = remainder(full({}, 3.5, f64), ones({3}, f32));
  EXPECT_EQ(rest.dtype(), f32);
  EXPECT_EQ(reals(rest), Reals({0.5, 0.5, 0.5}));
}

TEST(Promotion, TwoZeroDimTensorsFollowTheTable) {
  for (DType a : kAllDTypes) {
    for (DType b : kAllDTypes) EXPECT_EQ(add(ones({}, a), ones({}, b)).dtype(), promoted(a, b)) << names(a, b);
  }
}

TEST(Promotion, AnEmptyTensorWithDimsStillDecides) {
  EXPECT_EQ(add(ones({0}, f16), ones({}, f64)).dtype(), f16);
  EXPECT_EQ(add(ones({1}, f16), ones({}, f64)).dtype(), f16);
}

TEST(Promotion, ZeroDimTensorDecidesBeforeNumbers) {
  EXPECT_EQ((ones({}, f16) + 1.5).dtype(), f16);
  EXPECT_EQ((ones({}, u8) + 1).dtype(), u8);
  EXPECT_EQ((ones({}, i32) + 1.5).dtype(), f32);
  EXPECT_EQ((ones({}, b8) + 1).dtype(), i64);
  EXPECT_EQ((ones({}, f64) + 1.5).dtype(), f64);
}

TEST(Promotion, ThreeRanksOfOperandsMeetInWhere) {
  const Tensor yes = ones({2}, b8);
  EXPECT_EQ(where(yes, ones({2}, i32), ones({}, f64)).dtype(), f64);
  EXPECT_EQ(where(yes, ones({2}, f16), ones({}, f64)).dtype(), f16);
  EXPECT_EQ(where(yes, 1, 2).dtype(), i64);
  EXPECT_EQ(where(yes, 1.0, 2).dtype(), f32);
  EXPECT_EQ(where(yes, true, false).dtype(), b8);
  EXPECT_EQ(where(yes, ones({2}, bf16), 2.5).dtype(), bf16);
  EXPECT_EQ(where(yes, ones({2}, i64), 2.5).dtype(), f32);
}

// ---- numbers ----

TEST(Promotion, RealNumbersMakeIntegersF32AndLeaveFloats) {
  const DType expected[] = {f32, f16, bf16, f64, f32, f32, f32, f32};
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ((ones({2}, dtype) + 1.5).dtype(), expected[static_cast<size_t>(dtype)]) << name(dtype);
    EXPECT_EQ((1.5 + ones({2}, dtype)).dtype(), expected[static_cast<size_t>(dtype)]) << name(dtype);
    EXPECT_EQ((1.5f * ones({2}, dtype)).dtype(), expected[static_cast<size_t>(dtype)]) << name(dtype);
    EXPECT_EQ(reals(ones({2}, dtype) + 1.5), Reals({2.5, 2.5})) << name(dtype);
  }
}

TEST(Promotion, WholeNumbersMakeBoolI64AndLeaveTheRest) {
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ((ones({2}, dtype) + 1).dtype(), dtype == b8 ? i64 : dtype) << name(dtype);
    EXPECT_EQ((ones({2}, dtype) + int64_t{1}).dtype(), dtype == b8 ? i64 : dtype) << name(dtype);
    EXPECT_EQ(reals(ones({2}, dtype) + 1), Reals({2, 2})) << name(dtype);
  }
}

TEST(Promotion, BoolNumbersLeaveEveryDtype) {
  for (DType dtype : kAllDTypes) EXPECT_EQ((ones({2}, dtype) + true).dtype(), dtype) << name(dtype);
  EXPECT_EQ((tensor({true, false}) + true).to_vector<bool>(), Bools({true, true}));
  EXPECT_EQ((tensor({true, false}) * true).to_vector<bool>(), Bools({true, false}));
  EXPECT_EQ(wholes(tensor({5, 6}) + true), Wholes({6, 7}));
}

TEST(Promotion, NumbersWrapToNarrowIntegers) {
  EXPECT_EQ((tensor<uint8_t>({0, 5}) + (-1)).to_vector<uint8_t>(), (std::vector<uint8_t>{255, 4}));
  EXPECT_EQ((tensor<uint8_t>({250}) + 10).to_vector<uint8_t>(), (std::vector<uint8_t>{4}));
  EXPECT_EQ((tensor<uint8_t>({200}) * 2).to_vector<uint8_t>(), (std::vector<uint8_t>{144}));
  EXPECT_EQ((-tensor<uint8_t>({1})).to_vector<uint8_t>(), (std::vector<uint8_t>{255}));
  EXPECT_EQ(wholes(full({1}, 2147483647, i32) + 1), Wholes({-2147483648LL}));
}

TEST(Promotion, WholeNumbersKeepEveryBitInI64) {
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_EQ(wholes(tensor<int64_t>({0}) + large), Wholes({large}));
  EXPECT_EQ(wholes(full({1}, large)), Wholes({large}));
  EXPECT_EQ((tensor<int64_t>({large}) == large).to_vector<bool>(), Bools({true}));
  EXPECT_EQ((tensor<int64_t>({large}) == large - 1).to_vector<bool>(), Bools({false}));
}

TEST(Promotion, RealNumbersAreRoundedToTheTensorsDtype) {
  EXPECT_EQ(reals(zeros({1}, f32) + 0.1), Reals({static_cast<double>(0.1f)}));
  EXPECT_EQ(reals(zeros({1}, f64) + 0.1), Reals({0.1}));
  EXPECT_EQ(reals(zeros({1}, f16) + 0.1), Reals({0.0999755859375}));
}

TEST(Promotion, ClampTakesPartInPromotion) {
  EXPECT_EQ(clamp(tensor({1, 2, 3}), 2, {}).dtype(), i64);
  EXPECT_EQ(clamp(tensor({1, 2, 3}), 1.5, {}).dtype(), f32);
  EXPECT_EQ(reals(clamp(tensor({1, 2, 3}), 1.5, 2.5)), Reals({1.5, 2, 2.5}));
  EXPECT_EQ(clamp(ones({2}, f16), 0.5, 2.0).dtype(), f16);
}

// ---- division, remainder, power ----

TEST(Promotion, DivisionOfIntegersGivesF32) {
  EXPECT_EQ((tensor({7}) / tensor({2})).dtype(), f32);
  EXPECT_EQ(reals(tensor({7, -7, 1}) / 2), Reals({3.5, -3.5, 0.5}));
  EXPECT_EQ(reals(1 / tensor({4})), Reals({0.25}));
  EXPECT_EQ(reals(tensor({true}) / tensor({true})), Reals({1}));
  EXPECT_EQ((tensor<uint8_t>({1}) / 2.0).dtype(), f32);
}

int64_t floored(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}

TEST(Promotion, IntegerFloorDivisionAndRemainderHaveEverySign) {
  for (DType dtype : {i32, i64}) {
    const Tensor a = arange(-9, 10, 1, dtype).reshape({19, 1}), b = tensor({-5, -3, -2, -1, 1, 2, 3, 5}, dtype);
    const Wholes quotients = wholes(floor_divide(a, b)), rests = wholes(a % b), c_rests = wholes(fmod(a, b));
    EXPECT_EQ(floor_divide(a, b).dtype(), dtype);
    EXPECT_EQ((a % b).dtype(), dtype);
    const Wholes divisors = wholes(b);
    for (size_t i = 0; i < 19; ++i) {
      for (size_t j = 0; j < 8; ++j) {
        const int64_t x = static_cast<int64_t>(i) - 9, y = divisors[j];
        EXPECT_EQ(quotients[i * 8 + j], floored(x, y)) << x << " // " << y;
        EXPECT_EQ(rests[i * 8 + j], x - floored(x, y) * y) << x << " % " << y;
        EXPECT_EQ(c_rests[i * 8 + j], x % y) << "fmod " << x << " " << y;
      }
    }
  }
}

TEST(Promotion, IntegerDivisionTakesNumbersOnEitherSide) {
  EXPECT_EQ(wholes(floor_divide(tensor({-7, 7}), 2)), Wholes({-4, 3}));
  EXPECT_EQ(wholes(floor_divide(7, tensor({-2, 2}))), Wholes({-4, 3}));
  EXPECT_EQ(wholes(tensor({-7, 7}) % 3), Wholes({2, 1}));
  EXPECT_EQ(wholes(tensor({-7, 7}) % -3), Wholes({-1, -2}));
  EXPECT_EQ(wholes(7 % tensor({-3, 3})), Wholes({-2, 1}));
  EXPECT_EQ(wholes(tensor<uint8_t>({7, 250}) % 4), Wholes({3, 2}));
  EXPECT_EQ(floor_divide(tensor<uint8_t>({250}), 4).dtype(), u8);
  EXPECT_EQ(wholes(floor_divide(tensor<uint8_t>({250}), 4)), Wholes({62}));
}

TEST(Promotion, RealFloorDivisionAndRemainderHaveEverySign) {
  const Tensor a = tensor({7.5, -7.5, 7.5, -7.5}), b = tensor({2.0, 2.0, -2.0, -2.0});
  EXPECT_EQ(reals(floor_divide(a, b)), Reals({3, -4, -4, 3}));
  EXPECT_EQ(reals(a % b), Reals({1.5, 0.5, -0.5, -1.5}));
  EXPECT_EQ(reals(fmod(a, b)), Reals({1.5, -1.5, 1.5, -1.5}));
}

// The quotient 1.0f / 0.1f rounds up to 10, but ten times 0.1f is more than 1: Python and PyTorch answer 9.
TEST(Promotion, RealFloorDivisionIsThatOfTheExactQuotient) {
  EXPECT_EQ(reals(floor_divide(tensor({1.0}), 0.1)), Reals({9}));
  EXPECT_EQ(reals(floor_divide(tensor({1.0}, f64), 0.1)), Reals({9}));
}

TEST(Promotion, PowersFollowTheRulesOfNumbers) {
  const Tensor whole = tensor({2, 3});
  EXPECT_EQ(pow(whole, 2).dtype(), i64);
  EXPECT_EQ(wholes(pow(whole, 5)), Wholes({32, 243}));
  EXPECT_EQ(pow(whole, 0.5).dtype(), f32);
  EXPECT_EQ(pow(whole, 1.0).dtype(), f32);
  EXPECT_EQ(pow(whole, 2.5).dtype(), f32);
  EXPECT_EQ(pow(2, whole).dtype(), i64);
  EXPECT_EQ(wholes(pow(2, whole)), Wholes({4, 8}));
  EXPECT_EQ(pow(2.0, whole).dtype(), f32);
  EXPECT_EQ(pow(ones({2}, f16), 2.0).dtype(), f16);
  EXPECT_EQ(pow(ones({2}, f16), 3).dtype(), f16);
}

TEST(Promotion, WholePowersGivenAsRealsMakeIntegersF32) {
  EXPECT_EQ(pow(tensor({2, 3}), 2.0).dtype(), f32);
  EXPECT_EQ(pow(tensor({2, 3}), 3.0).dtype(), f32);
  EXPECT_EQ(pow(tensor({2, 3}), -1.0).dtype(), f32);
}

TEST(Promotion, SquaresOfBoolAreI64) {
  EXPECT_EQ(pow(tensor({true, false}), 2).dtype(), i64);
  EXPECT_EQ(square(tensor({true, false})).dtype(), i64);
}

TEST(Promotion, IntegerPowersAreExact) {
  EXPECT_EQ(wholes(pow(tensor({3, -3}), 39)), Wholes({4052555153018976267, -4052555153018976267}));
  EXPECT_EQ(wholes(pow(tensor({2}), 62)), Wholes({int64_t{1} << 62}));
}

// ---- unary ops ----

struct RealFunction {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*exact)(double);
};

const RealFunction kRealFunctions[] = {
    {"sqrt", sqrt, std::sqrt},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"exp", exp, std::exp},
    {"exp2", exp2, std::exp2},
    {"expm1", expm1, std::expm1},
    {"log", log, std::log},
    {"log2", log2, std::log2},
    {"log10", log10, std::log10},
    {"log1p", log1p, std::log1p},
    {"sin", sin, std::sin},
    {"cos", cos, std::cos},
    {"tan", tan, std::tan},
    {"atan", atan, std::atan},
    {"tanh", tanh, std::tanh},
    {"sinh", sinh, std::sinh},
    {"cosh", cosh, std::cosh},
    {"erf", erf, std::erf},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }},
};

TEST(Promotion, RealFunctionsTakeIntegersAndBoolAsF32) {
  for (const RealFunction& f : kRealFunctions) {
    for (DType dtype : kAllDTypes) {
      Tensor y;
      EXPECT_EQ(error_of([&] { y = f.op(ones({2}, dtype)); }), "no error") << f.name << " of " << name(dtype);
      if (!y.defined()) continue;
      EXPECT_EQ(y.dtype(), is_float(dtype) ? dtype : f32) << f.name << " of " << name(dtype);
      EXPECT_NEAR(reals(y)[0], f.exact(1),
                  dtype == bf16  ? 2e-2
                  : dtype == f16 ? 2e-3
                                 : 1e-6)
          << f.name << " of " << name(dtype);
    }
  }
}

TEST(Promotion, RoundingKeepsIntegersAsTheyAre) {
  for (auto op : {floor, ceil, static_cast<Tensor (*)(const Tensor&)>(round), trunc}) {
    EXPECT_EQ(op(tensor({1, -2})).dtype(), i64);
    EXPECT_EQ(wholes(op(tensor({1, -2}))), Wholes({1, -2}));
    EXPECT_EQ(op(ones({2}, bf16)).dtype(), bf16);
  }
}

TEST(Promotion, SignAndAbsKeepTheDtype) {
  EXPECT_EQ(wholes(sign(tensor({-3, 0, 5}))), Wholes({-1, 0, 1}));
  EXPECT_EQ(sign(tensor<uint8_t>({0, 200})).dtype(), u8);
  EXPECT_EQ(wholes(sign(tensor<uint8_t>({0, 200}))), Wholes({0, 1}));
  EXPECT_EQ(wholes(abs(tensor({-3, 3}))), Wholes({3, 3}));
  EXPECT_EQ(reals(sign(tensor({-2.5, 0.0, 2.5}))), Reals({-1, 0, 1}));
}

TEST(Promotion, SignOfBoolIsItself) {
  Tensor y;
  ASSERT_EQ(error_of([&] { y = sign(tensor({true, false})); }), "no error");
  EXPECT_EQ(y.dtype(), b8);
  EXPECT_EQ(y.to_vector<bool>(), Bools({true, false}));
}

TEST(Promotion, BoolArithmeticIsLogic) {
  const Tensor a = tensor({false, false, true, true}), b = tensor({false, true, false, true});
  EXPECT_EQ((a + b).to_vector<bool>(), Bools({false, true, true, true}));
  EXPECT_EQ((a * b).to_vector<bool>(), Bools({false, false, false, true}));
  EXPECT_EQ((a ^ b).to_vector<bool>(), Bools({false, true, true, false}));
  EXPECT_EQ((!a).to_vector<bool>(), Bools({true, true, false, false}));
  EXPECT_EQ(bitwise_not(a).to_vector<bool>(), Bools({true, true, false, false}));
  EXPECT_EQ(maximum(a, b).to_vector<bool>(), Bools({false, true, true, true}));
  EXPECT_EQ(minimum(a, b).to_vector<bool>(), Bools({false, false, false, true}));
  EXPECT_EQ(wholes(a - 1), Wholes({-1, -1, 0, 0}));
}

TEST(Promotion, BoolHasNoDifferenceAndNoNegative) {
  const Tensor a = tensor({true}), b = tensor({false});
  EXPECT_EQ(error_of([&] { a - b; }), "[sub] is not defined on bool; use logical_xor");
  EXPECT_EQ(error_of([&] { -a; }), "[neg] is not defined on bool; use logical_not");
  EXPECT_EQ(error_of([&] { a % b; }), "[remainder] is not defined on bool; use integers");
}

TEST(Promotion, BitsOfIntegers) {
  EXPECT_EQ(wholes(tensor({6, -1}) & 3), Wholes({2, 3}));
  EXPECT_EQ(wholes(tensor({6}) | tensor({true})), Wholes({7}));
  EXPECT_EQ((tensor<uint8_t>({6}) ^ tensor({3})).dtype(), i64);
  EXPECT_EQ(wholes(bitwise_not(tensor<uint8_t>({1}))), Wholes({254}));
  EXPECT_EQ(wholes(bitwise_not(tensor({1}))), Wholes({-2}));
  EXPECT_EQ(wholes(tensor({1, -8}) << 2), Wholes({4, -32}));
  EXPECT_EQ(wholes(tensor({9, -8}) >> 1), Wholes({4, -4}));
}

// ---- reductions ----

TEST(Promotion, SumsAndProductsOfIntegersAndBoolAreI64) {
  for (DType dtype : {i32, i64, u8, b8}) {
    EXPECT_EQ(sum(ones({3}, dtype)).dtype(), i64);
    EXPECT_EQ(prod(ones({3}, dtype)).dtype(), i64);
    EXPECT_EQ(cumsum(ones({3}, dtype), 0).dtype(), i64);
    EXPECT_EQ(cumprod(ones({3}, dtype), 0).dtype(), i64);
    EXPECT_EQ(sum(ones({3}, dtype)).item<int64_t>(), 3);
  }
  EXPECT_EQ(sum(full({1000}, 255, u8)).item<int64_t>(), 255000);
}

TEST(Promotion, SumsOfFloatsKeepTheDtype) {
  for (DType dtype : {f32, f16, bf16, f64}) {
    EXPECT_EQ(sum(ones({3}, dtype)).dtype(), dtype);
    EXPECT_EQ(mean(ones({3}, dtype)).dtype(), dtype);
    EXPECT_EQ(var(ones({3}, dtype)).dtype(), dtype);
    EXPECT_EQ(softmax(ones({3}, dtype), 0).dtype(), dtype);
  }
}

TEST(Promotion, ReductionsOf16BitValuesAccumulateInF32) {
  EXPECT_EQ(sum(ones({4096}, f16)).item<double>(), 4096);           // f16 alone would stop at 2048
  EXPECT_EQ(sum(ones({1024}, bf16)).item<double>(), 1024);          // bf16 alone would stop at 256
  EXPECT_EQ(mean(full({1000}, 60000, f16)).item<double>(), 60000);  // the sum does not fit f16
}

TEST(Promotion, MeanOfIntegersIsAnError) {
  EXPECT_EQ(error_of([] {
              mean(tensor({1, 2}));
            }),
            "[mean] takes floating-point values, got i64; convert with to(DType::f32)");
  EXPECT_EQ(error_of([] { mean(tensor({true})); }),
            "[mean] takes floating-point values, got bool; convert with to(DType::f32)");
}

TEST(Promotion, ExtremesKeepTheDtypeAndPositionsAreI64) {
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ(amax(ones({3}, dtype)).dtype(), dtype);
    EXPECT_EQ(amin(ones({3}, dtype)).dtype(), dtype);
    EXPECT_EQ(max(ones({3}, dtype), 0).first.dtype(), dtype);
    EXPECT_EQ(argmax(ones({3}, dtype)).dtype(), i64);
    EXPECT_EQ(argmin(ones({3}, dtype)).dtype(), i64);
    EXPECT_EQ(sort(ones({3}, dtype)).second.dtype(), i64);
    EXPECT_EQ(any(ones({3}, dtype)).dtype(), dtype == u8 ? u8 : b8);
    EXPECT_EQ(all(ones({3}, dtype)).dtype(), dtype == u8 ? u8 : b8);
  }
}

TEST(Promotion, ProductsOfMatricesKeepTheDtype) {
  for (DType dtype : {f32, f16, bf16, f64, i32, i64, u8}) {
    EXPECT_EQ(matmul(ones({2, 3}, dtype), ones({3, 2}, dtype)).dtype(), dtype);
    EXPECT_EQ(reals(matmul(ones({2, 3}, dtype), ones({3, 1}, dtype))), Reals({3, 3})) << name(dtype);
  }
}

// ---- in place ----

TEST(Promotion, WritingInPlaceKeepsTheDtype) {
  Tensor half = ones({2}, f16);
  half.add_(ones({2}, f64));
  EXPECT_EQ(half.dtype(), f16);
  Tensor real = ones({2});
  real.add_(tensor({1, 2}));
  EXPECT_EQ(reals(real), Reals({2, 3}));
  Tensor bytes = ones({2}, u8);
  bytes.add_(tensor({1, 300}));  // the same category: allowed, and wraps
  EXPECT_EQ(wholes(bytes), Wholes({2, 45}));
  Tensor whole = tensor({1, 2});
  whole.copy_(tensor({1.9, -1.9}));  // copy_ converts between all dtypes
  EXPECT_EQ(wholes(whole), Wholes({1, -1}));
}

// PyTorch: "result type Float can't be cast to the desired output type Long".
TEST(Promotion, ArithmeticInPlaceDoesNotLowerTheCategory) {
  EXPECT_THROW(tensor({1, 2}).add_(1.5), Error);
  EXPECT_THROW(tensor({1, 2}).mul_(tensor({0.5, 0.5})), Error);
  EXPECT_THROW(tensor({1, 2}).div_(2), Error);
  EXPECT_THROW(tensor({true}).add_(1), Error);
}

}  // namespace
}  // namespace tenon
