// New tensors, what they hold, and how their values come back to the host.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/tenon.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;
using Bools = std::vector<bool>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Reals reals(const Tensor& x) { return x.to_vector<double>(); }
Wholes wholes(const Tensor& x) { return x.to_vector<int64_t>(); }

// ---- from host values ----

TEST(Creation, ListsOfNumbersAreAsInPython) {
  EXPECT_EQ(tensor({1, 2, 3}).dtype(), DType::i64);
  EXPECT_EQ(tensor({1.5, 2.0}).dtype(), DType::f32);
  EXPECT_EQ(tensor({1.5f}).dtype(), DType::f32);
  EXPECT_EQ(tensor({true, false}).dtype(), DType::boolean);
  EXPECT_EQ(tensor<uint8_t>({1, 2}).dtype(), DType::u8);
  EXPECT_EQ(wholes(tensor({1, 2, 3})), Wholes({1, 2, 3}));
  EXPECT_EQ(tensor({1, 2, 3}).shape(), (Dims{3}));
}

TEST(Creation, NumbersOfSeveralTypesAreRealWhereOneIs) {
  const int64_t n = 7;
  EXPECT_EQ(tensor({1, 2.5}).dtype(), DType::f32);
  EXPECT_EQ(reals(tensor({1, 2.5})), Reals({1, 2.5}));
  EXPECT_EQ(reals(tensor({1, 0.1}, DType::f64)), Reals({1, 0.1}));
  EXPECT_EQ(tensor({1, n}).dtype(), DType::i64);
  EXPECT_EQ(wholes(tensor({1, n, true})), Wholes({1, 7, 1}));
  EXPECT_EQ(wholes(tensor({1, 2.5}, DType::i64)), Wholes({1, 2}));
  EXPECT_EQ(tensor({{1, 2}, {0.5, 3}}).shape(), (Dims{2, 2}));
  EXPECT_EQ(reals(tensor({{1, 2}, {0.5, 3}})), Reals({1, 2, 0.5, 3}));
  EXPECT_EQ(reals(tensor({{{1, 0.5}, {2, 3}}})), Reals({1, 0.5, 2, 3}));
}

TEST(Creation, ListsTakeADtype) {
  EXPECT_EQ(tensor({1, 2}, DType::f16).dtype(), DType::f16);
  EXPECT_EQ(reals(tensor({0.1}, DType::f64)), Reals({0.1}));
  EXPECT_EQ(reals(tensor({0.1})), Reals({static_cast<double>(0.1f)}));
  EXPECT_EQ(tensor({0.0, 0.5, 2.0}, DType::boolean).to_vector<bool>(), Bools({false, true, true}));
  EXPECT_EQ(wholes(tensor({1.9, -1.9}, DType::i32)), Wholes({1, -1}));
}

TEST(Creation, NestedListsAreMatrices) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.dtype(), DType::i64);
  EXPECT_EQ(x.shape(), (Dims{2, 3}));
  EXPECT_EQ(wholes(x), Wholes({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor({{0.5}, {1.5}}).dtype(), DType::f32);
  EXPECT_EQ(tensor({{true}, {false}}).dtype(), DType::boolean);
  EXPECT_EQ(reals(tensor({{0.1}}, DType::f64)), Reals({0.1}));
  EXPECT_EQ(tensor({{0.5, 1.0}}, DType::bf16).dtype(), DType::bf16);
}

TEST(Creation, NestedListsOfBytesAreBytes) { EXPECT_EQ(tensor<uint8_t>({{1, 2}, {3, 4}}).dtype(), DType::u8); }

TEST(Creation, VectorsKeepTheirType) {
  EXPECT_EQ(from_vector<float>({1, 2}, {2}).dtype(), DType::f32);
  EXPECT_EQ(from_vector<double>({1, 2}, {2}).dtype(), DType::f64);
  EXPECT_EQ(from_vector<int32_t>({1, 2}, {2}).dtype(), DType::i32);
  EXPECT_EQ(from_vector<int64_t>({1, 2}, {2}).dtype(), DType::i64);
  EXPECT_EQ(from_vector<uint8_t>({1, 2}, {2}).dtype(), DType::u8);
  EXPECT_EQ(from_vector<bool>({true, false}, {2}).dtype(), DType::boolean);
  EXPECT_EQ(from_vector<base::Half>({base::Half(1.5), base::Half(2)}, {2}).dtype(), DType::f16);
  EXPECT_EQ(from_vector<base::BFloat16>({base::BFloat16(1.5), base::BFloat16(2)}, {2}).dtype(), DType::bf16);
}

TEST(Creation, EveryDtypeComesBackAsItWent) {
  for (DType dtype : kAllDTypes) {
    dispatch(dtype, [&]<typename T>() {
      const std::vector<T> values{T(1), T(0), T(1)};
      const Tensor x = from_vector(values, {3});
      EXPECT_EQ(x.dtype(), dtype);
      EXPECT_EQ(reals(x), Reals({1, 0, 1})) << name(dtype);
      EXPECT_EQ(x.to_bytes().size(), 3 * size_of(dtype));
    });
  }
}

TEST(Creation, AConversionOnTheWayIn) {
  const Tensor x = from_vector<double>({1.25, -2.75}, {2, 1}, DType::i32);
  EXPECT_EQ(x.dtype(), DType::i32);
  EXPECT_EQ(x.shape(), (Dims{2, 1}));
  EXPECT_EQ(wholes(x), Wholes({1, -2}));
}

TEST(Creation, HostValuesAreCopied) {
  std::vector<float> values{1, 2};
  const Tensor x = from_vector(values, {2});
  values[0] = 9;
  EXPECT_EQ(reals(x), Reals({1, 2}));
}

TEST(Creation, OptionsMayAskForGradients) {
  Options options(DType::f64);
  options.requires_grad = true;
  for (const Tensor& x : {tensor({1.0}, options), zeros({2}, options), arange(3, options), linspace(0, 1, 3, options),
                          eye(2, {}, options), rand({2}, options), randn({2}, options),
                          from_vector<float>({1}, {1}, options), scalar(1, options)}) {
    EXPECT_TRUE(x.requires_grad());
    EXPECT_TRUE(x.is_leaf());
    EXPECT_EQ(x.dtype(), DType::f64);
  }
}

TEST(Creation, EmptyTensorsOfEveryRank) {
  for (const Dims& shape : {Dims{0}, Dims{0, 3}, Dims{2, 0, 3}}) {
    const Tensor x = zeros(shape);
    EXPECT_EQ(x.shape(), shape);
    EXPECT_EQ(x.numel(), 0);
    EXPECT_TRUE(reals(x).empty());
    EXPECT_TRUE(reals(x + 1).empty());
    EXPECT_EQ(sum(x).item<double>(), 0);
    EXPECT_EQ(prod(x).item<double>(), 1);
  }
  EXPECT_EQ(from_vector<float>({}, {0}).numel(), 0);
  EXPECT_EQ(from_vector<int64_t>({}, {0, 2}).shape(), (Dims{0, 2}));
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).to_vector<double>(), Reals(6, 0));
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item<double>()));
}

// ---- filled ----

TEST(Creation, FilledTensorsTakeTheirDtypeFromTheNumber) {
  EXPECT_EQ(full({2}, 3).dtype(), DType::i64);
  EXPECT_EQ(full({2}, 3.0).dtype(), DType::f32);
  EXPECT_EQ(full({2}, true).dtype(), DType::boolean);
  EXPECT_EQ(zeros({2}).dtype(), DType::f32);
  EXPECT_EQ(ones({2}).dtype(), DType::f32);
  EXPECT_EQ(scalar(2).dtype(), DType::i64);
  EXPECT_EQ(scalar(2.5).dtype(), DType::f32);
  EXPECT_EQ(scalar(2.5).shape(), Dims{});
  EXPECT_EQ(reals(full({2, 2}, 2.5)), Reals(4, 2.5));
  EXPECT_EQ(reals(full({}, 7)), Reals({7}));
}

TEST(Creation, EmptyHoldsZeros) {
  EXPECT_EQ(reals(empty({2, 2}, DType::f16)), Reals(4, 0));
  EXPECT_EQ(empty_like(tensor({1, 2})).dtype(), DType::i64);
  EXPECT_EQ(wholes(empty_like(tensor({1, 2}))), Wholes({0, 0}));
}

TEST(Creation, FilledTensorsOfEveryDtype) {
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ(reals(ones({2}, dtype)), Reals({1, 1})) << name(dtype);
    EXPECT_EQ(reals(zeros({2}, dtype)), Reals({0, 0})) << name(dtype);
    EXPECT_EQ(full({2}, 3, dtype).dtype(), dtype);
    EXPECT_EQ(reals(full({2}, 3, dtype)), Reals(2, dtype == DType::boolean ? 1 : 3)) << name(dtype);
  }
}

TEST(Creation, EveryNumberButZeroIsTrue) {
  EXPECT_EQ(full({1}, 0.5, DType::boolean).to_vector<bool>(), Bools({true}));
  EXPECT_EQ(full({1}, -0.25, DType::boolean).to_vector<bool>(), Bools({true}));
  EXPECT_EQ(zeros({1}, DType::boolean).fill_(0.5).to_vector<bool>(), Bools({true}));
  EXPECT_EQ(full({1}, 0.0, DType::boolean).to_vector<bool>(), Bools({false}));
}

TEST(Creation, LikeKeepsDtypeShapeAndDevice) {
  const Tensor far = zeros({2, 3}, Options(DType::bf16, "null"));
  for (const Tensor& x : {zeros_like(far), ones_like(far), full_like(far, 2), rand_like(far), randn_like(far)}) {
    EXPECT_EQ(x.dtype(), DType::bf16);
    EXPECT_EQ(x.shape(), (Dims{2, 3}));
    EXPECT_EQ(x.device().name(), "null");
  }
  const Tensor whole = tensor({1, 2});
  EXPECT_EQ(full_like(whole, 2.9).dtype(), DType::i64);
  EXPECT_EQ(wholes(full_like(whole, 2.9)), Wholes({2, 2}));
  EXPECT_EQ(zeros_like(whole, DType::f64).dtype(), DType::f64);
  EXPECT_EQ(ones_like(tensor({true, false})).to_vector<bool>(), Bools({true, true}));
}

TEST(Creation, LikeOfAParameterIsNoParameter) {
  const Tensor p = ones({2}).requires_grad_();
  EXPECT_FALSE(zeros_like(p).requires_grad());
  EXPECT_FALSE(rand_like(p).requires_grad());
}

// ---- counted ----

TEST(Creation, ArangeOfIntegers) {
  EXPECT_EQ(arange(3).dtype(), DType::i64);
  EXPECT_EQ(wholes(arange(3)), Wholes({0, 1, 2}));
  EXPECT_EQ(wholes(arange(2, 5)), Wholes({2, 3, 4}));
  EXPECT_EQ(wholes(arange(1, 10, 4)), Wholes({1, 5, 9}));
  EXPECT_EQ(wholes(arange(1, 9, 4)), Wholes({1, 5}));
  EXPECT_EQ(wholes(arange(5, 0, -2)), Wholes({5, 3, 1}));
  EXPECT_EQ(wholes(arange(-3, 3, 2)), Wholes({-3, -1, 1}));
  EXPECT_EQ(arange(0).numel(), 0);
  EXPECT_EQ(arange(4, 4).shape(), (Dims{0}));
}

TEST(Creation, ArangeOfReals) {
  EXPECT_EQ(arange(2.5).dtype(), DType::f32);
  EXPECT_EQ(reals(arange(2.5)), Reals({0, 1, 2}));
  EXPECT_EQ(reals(arange(1, 2.5, 0.5)), Reals({1, 1.5, 2}));
  EXPECT_EQ(reals(arange(1.0, 0.0, -0.25)), Reals({1, 0.75, 0.5, 0.25}));
  EXPECT_EQ(arange(0, 1, 0.1).numel(), 10);
  EXPECT_FLOAT_EQ(arange(0, 1, 0.1).to_vector<float>()[9], 0.9f);
}

TEST(Creation, ArangeTakesADtype) {
  EXPECT_EQ(arange(3, DType::f32).dtype(), DType::f32);
  EXPECT_EQ(reals(arange(3, DType::f16)), Reals({0, 1, 2}));
  EXPECT_EQ(arange(0, 3, 1, DType::u8).dtype(), DType::u8);
  EXPECT_EQ(arange(0, 300, 1, DType::i32).to_vector<int32_t>()[299], 299);
}

TEST(Creation, ArangeIsExactForLargeIntegers) {
  const int64_t start = (int64_t{1} << 53) - 1;
  EXPECT_EQ(wholes(arange(start, start + 2)), Wholes({start, start + 1}));
  const int64_t large = int64_t{1} << 53;
  EXPECT_EQ(wholes(arange(large, large + 3)), Wholes({large, large + 1, large + 2}));
}

TEST(Creation, RangesOfIntegersCutRealNumbers) {  // PyTorch's answers
  EXPECT_EQ(wholes(arange(-0.9, 2.1, 1.2, DType::i64)), Wholes({0, 1, 2}));
  EXPECT_EQ(wholes(arange(2.1, 6.9, 2.0, DType::i64)), Wholes({2, 4, 6}));
  EXPECT_EQ(wholes(linspace(0.9, 3.9, 4, DType::i64)), Wholes({0, 1, 2, 3}));
}

TEST(Creation, Logspace) {
  EXPECT_EQ(reals(logspace(0, 2, 3)), Reals({1, 10, 100}));
  EXPECT_EQ(wholes(logspace(0, 2, 5, 10, DType::i64)), Wholes({1, 3, 10, 31, 100}));
  EXPECT_EQ(wholes(logspace(0, 2, 3, 2.9, DType::i64)), Wholes({1, 2, 8}));
  EXPECT_EQ(logspace(0, 1, 0).numel(), 0);
}

TEST(Creation, LinspaceHitsBothEnds) {
  for (int64_t steps : {2, 3, 7, 10, 101}) {
    for (const auto& [start, end] : {std::pair{0.1, 0.7}, {-1.0, 1.0}, {3.0, -5.5}, {0.0, 1e-3}, {1e6, 1e6 + 1}}) {
      const Reals values = reals(linspace(start, end, steps, DType::f64)), narrow = reals(linspace(start, end, steps));
      ASSERT_EQ(values.size(), static_cast<size_t>(steps));
      EXPECT_EQ(values.front(), start);
      EXPECT_EQ(values.back(), end);
      EXPECT_EQ(narrow.front(), static_cast<double>(static_cast<float>(start)));
      EXPECT_EQ(narrow.back(), static_cast<double>(static_cast<float>(end)));
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[i], start + (end - start) * static_cast<double>(i) / static_cast<double>(steps - 1), 1e-9);
      }
    }
  }
}

TEST(Creation, LinspaceOfFewSteps) {
  EXPECT_EQ(reals(linspace(3, 8, 1)), Reals({3}));
  EXPECT_EQ(linspace(3, 8, 0).numel(), 0);
  EXPECT_EQ(reals(linspace(0, 1, 5)), Reals({0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(0, 1, 5, DType::f16).dtype(), DType::f16);
  EXPECT_EQ(wholes(linspace(0, 10, 5, DType::i64)), Wholes({0, 2, 5, 7, 10}));
}

TEST(Creation, Eye) {
  EXPECT_EQ(reals(eye(2)), Reals({1, 0, 0, 1}));
  EXPECT_EQ(reals(eye(2, 3)), Reals({1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(reals(eye(3, 1)), Reals({1, 0, 0}));
  EXPECT_EQ(eye(2, {}, DType::i64).dtype(), DType::i64);
  EXPECT_EQ(eye(2, {}, DType::boolean).to_vector<bool>(), Bools({true, false, false, true}));
  EXPECT_EQ(eye(0).shape(), (Dims{0, 0}));
}

// ---- back to the host ----

TEST(Creation, ItemConverts) {
  EXPECT_EQ(scalar(2.75).item<double>(), 2.75);
  EXPECT_EQ(scalar(2.75).item<int>(), 2);
  EXPECT_EQ(scalar(-2.75).item<int64_t>(), -2);
  EXPECT_TRUE(scalar(0.5).item<bool>());
  EXPECT_FALSE(scalar(0).item<bool>());
  EXPECT_EQ(scalar(true).item<float>(), 1);
  EXPECT_EQ(tensor({{7}}).item<int>(), 7);
  EXPECT_EQ(scalar(1.5, DType::bf16).item<double>(), 1.5);
}

TEST(Creation, ToVectorIsInRowMajorOrderOfWhatIsSeen) {
  const Tensor x = arange(6).reshape({2, 3});
  EXPECT_EQ(wholes(x.t()), Wholes({0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(reals(x.slice(1, 1)), Reals({1, 2, 4, 5}));
  EXPECT_EQ(tensor({0, 1, 2}).to_vector<bool>(), Bools({false, true, true}));
}

TEST(Creation, ConversionToIntegersTruncates) {
  EXPECT_EQ(wholes(tensor({2.7, -2.7, 0.99, -0.99, 3.0}).to(DType::i64)), Wholes({2, -2, 0, 0, 3}));
  EXPECT_EQ(wholes(tensor({2.7, -2.7}).to(DType::i32)), Wholes({2, -2}));
  EXPECT_EQ(wholes(tensor({2.7, 255.9}).to(DType::u8)), Wholes({2, 255}));
  EXPECT_EQ(wholes(tensor({2.5, -2.5}, DType::f16).to(DType::i64)), Wholes({2, -2}));
}

TEST(Creation, ConversionToNarrowerIntegersWraps) {
  EXPECT_EQ(wholes(tensor({256, 257, -1}).to(DType::u8)), Wholes({0, 1, 255}));
  EXPECT_EQ(wholes(tensor<int64_t>({(int64_t{1} << 32) + 5}).to(DType::i32)), Wholes({5}));
}

TEST(Creation, ConversionToBoolAsksForNonZero) {
  EXPECT_EQ(tensor({0.0, -0.0, 0.5, kNan, kInf}).to(DType::boolean).to_vector<bool>(),
            Bools({false, false, true, true, true}));
  EXPECT_EQ(tensor({0, 256, -1}).to(DType::boolean).to_vector<bool>(), Bools({false, true, true}));
}

TEST(Creation, ConversionToNarrowerFloatsRoundsToEven) {
  EXPECT_EQ(reals(tensor({2049.0, 2051.0}).to(DType::f16)), Reals({2048, 2052}));
  EXPECT_EQ(reals(tensor({257.0, 259.0}).to(DType::bf16)), Reals({256, 260}));
  EXPECT_EQ(reals(tensor({65519.0, 65520.0, -1e9}).to(DType::f16)), Reals({65504, kInf, -kInf}));
  EXPECT_EQ(reals(tensor<int64_t>({16777217, 16777219}).to(DType::f32)), Reals({16777216, 16777220}));
  EXPECT_EQ(reals(tensor({6e-8}).to(DType::f16)), Reals({0x1p-24}));  // the smallest subnormal
  EXPECT_TRUE(std::isnan(tensor({kNan}).to(DType::f16).item<double>()));
}

TEST(Creation, PrintingComputes) {
  const Tensor x = tensor({{1, 2}, {3, 4}}) * 2;
  EXPECT_EQ(x.to_string(), "[[2 4]\n [6 8]]");
  EXPECT_EQ(fmt::format("{}", tensor({1.5, 2.0})), "[1.5 2. ]");
}

// ---- comparison on the host ----

TEST(Creation, EqualComparesShapesAndElements) {
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_TRUE(equal(x, x.clone()));
  EXPECT_FALSE(equal(x, tensor({1.0, 2.5})));
  EXPECT_FALSE(equal(x, x.reshape({2, 1})));
  EXPECT_FALSE(equal(tensor({kNan}), tensor({kNan})));
  EXPECT_TRUE(equal(zeros({0, 3}), zeros({0, 3})));
  EXPECT_FALSE(equal(zeros({0, 3}), zeros({0})));
  EXPECT_TRUE(equal(tensor({0.0}), tensor({-0.0})));
}

TEST(Creation, AllcloseHasBothTolerances) {
  const Tensor x = tensor({100.0, 1e-9}, DType::f64);
  EXPECT_TRUE(allclose(x, tensor({100.0005, 0.0}, DType::f64)));
  EXPECT_FALSE(allclose(x, tensor({100.002, 0.0}, DType::f64)));
  EXPECT_FALSE(allclose(x, tensor({100.0, 2e-8}, DType::f64)));
  EXPECT_TRUE(allclose(x, tensor({101.0, 0.0}, DType::f64), 0, 1.5));
  EXPECT_FALSE(allclose(x, tensor({101.0, 0.0}, DType::f64), 0, 0.5));
}

TEST(Creation, AllcloseOfSpecialValues) {
  EXPECT_TRUE(allclose(tensor({kInf, -kInf}), tensor({kInf, -kInf})));
  EXPECT_FALSE(allclose(tensor({kInf}), tensor({-kInf})));
  EXPECT_FALSE(allclose(tensor({1.0}), tensor({kInf})));
  EXPECT_FALSE(allclose(tensor({kInf}), tensor({1.0})));
  EXPECT_FALSE(allclose(tensor({kNan}), tensor({kNan})));
  EXPECT_TRUE(allclose(tensor({kNan}), tensor({kNan}), 1e-5, 1e-8, true));
  EXPECT_FALSE(allclose(tensor({kNan}), tensor({1.0}), 1e-5, 1e-8, true));
}

}  // namespace
}  // namespace tenon
