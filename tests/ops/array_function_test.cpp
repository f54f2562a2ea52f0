// Functions of tensor/ops.h that look at more than one element: statistics, shapes, indexing, products. Against values
// a person can check and PyTorch's answers.

#include <gtest/gtest.h>

#include <map>

#include "tenon/base/error.h"
#include "tenon/tensor/access.h"
#include "tests/ops/differences.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

// ---- Statistics ----------------------------------------------------------------------------------------------------

class Statistics : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Statistics, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Statistics, VarianceDividesByOneLess) {
  const Tensor x = reals({1, 2, 3, 4});
  EXPECT_TRUE(is(var(x), {1.6666666666666667}));
  EXPECT_TRUE(is(var(x, {}, 0), {1.25}));
  EXPECT_TRUE(is(tenon::std(x), {1.2909944487358056}));
  EXPECT_TRUE(is(var(reals({1, 2, 3, 3, 3, 3}, {2, 3}), {1}), {1, 0}));
  EXPECT_TRUE(is(var(reals({1, 2, 3, 5}, {2, 2}), {0}, 1, true), {2, 4.5}));
  EXPECT_EQ(shape_of(var(counting({2, 3}), {0}, 1, true)), "(1, 3)");
}

TEST_P(Statistics, VarianceOfOneElementIsUndefined) {
  EXPECT_TRUE(is(var(reals({3})), {kNan}));
  EXPECT_TRUE(is(var(reals({3}), {}, 0), {0}));
  EXPECT_TRUE(is(tenon::std(reals({3})), {kNan}));
  EXPECT_TRUE(is(var(reals({3}), {}, 2), {kNan})) << "no divisor is less than 0";
  EXPECT_TRUE(is(tenon::std(reals({3}), {}, 2), {kNan}));
  EXPECT_TRUE(is(var(reals({1, 2}), {}, 3), {kInf}));
}

TEST_P(Statistics, VarianceOfLargeNumbersKeepsItsDigits) {
  EXPECT_TRUE(is(var(reals({10001, 10002, 10003})), {1}));  // the squares have no digits left for it in f32
  EXPECT_TRUE(is(tenon::std(full({5}, 0.1, of(DType::f32))), {0}));
}

TEST_P(Statistics, MeanOfHalvesDoesNotOverflow) {
  EXPECT_TRUE(is_exactly(mean(full({100}, 60000.0, of(DType::f16))), {60000}));
  EXPECT_TRUE(is_exactly(sum(full({100}, 60000.0, of(DType::f16))), {kInf}));
  EXPECT_TRUE(is(mean(reals({}, {0})), {kNan}));
}

TEST_P(Statistics, Norms) {
  const Tensor x = reals({3, -4, 0});
  EXPECT_TRUE(is(norm(x), {5}));
  EXPECT_TRUE(is(norm(x, 1), {7}));
  EXPECT_TRUE(is(norm(x, 3), {4.497941445275415}));
  EXPECT_TRUE(is(norm(x, 0), {2}));
  EXPECT_TRUE(is(norm(x, kInf), {4}));
  EXPECT_TRUE(is(norm(x, -kInf), {0}));
  EXPECT_TRUE(is(norm(reals({3, 4, 5, 12}, {2, 2}), 2, {1}), {5, 13}));
  EXPECT_EQ(shape_of(norm(counting({2, 3}), 2, {0}, true)), "(1, 3)");
  EXPECT_TRUE(is_exactly(norm(full({4}, 300.0, of(DType::f16))), {600})) << "squares of halves do not overflow";
  EXPECT_TRUE(is(norm(reals({}, {0})), {0}));
}

TEST_P(Statistics, ProductsAndSumsOfNothing) {
  EXPECT_TRUE(is_exactly(sum(reals({}, {0})), {0}));
  EXPECT_TRUE(is_exactly(prod(reals({}, {0})), {1}));
  EXPECT_EQ(shape_of(sum(reals({}, {0, 3}), {1})), "(0,)");
}

TEST_P(Statistics, DimsMayBeNegativeButNotTwice) {
  const Tensor x = counting({2, 3});
  EXPECT_TRUE(is_exactly(sum(x, {-1}), {3, 12}));
  EXPECT_TRUE(is_exactly(sum(x, {-2}), {3, 5, 7}));
  EXPECT_THROW(sum(x, {1, -1}), Error);
  EXPECT_THROW(sum(x, {2}), Error);
  EXPECT_TRUE(is_exactly(sum(number(4), {0}), {4})) << "a number may be summed along dim 0, as in PyTorch";
}

TEST_P(Statistics, CumulativeSumsAndProducts) {
  const Tensor x = reals({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_TRUE(is_exactly(cumsum(x, 1), {1, 3, 6, 4, 9, 15}));
  EXPECT_TRUE(is_exactly(cumsum(x, 0), {1, 2, 3, 5, 7, 9}));
  EXPECT_TRUE(is_exactly(cumprod(x, -1), {1, 2, 6, 4, 20, 120}));
}

TEST_P(Statistics, TheMostExtremeSoFar) {
  const auto [high, high_at] = cummax(reals({1, 3, 2, 3, kNan, 4}), 0);
  EXPECT_TRUE(is_exactly(high, {1, 3, 3, 3, kNan, kNan}));
  EXPECT_TRUE(is_exactly(high_at, {0, 1, 1, 3, 4, 4}));
  const auto [low, low_at] = cummin(reals({3, 1, 2, 1, kNan, 0}, {2, 3}), 1);
  EXPECT_TRUE(is_exactly(low, {3, 1, 1, 1, kNan, kNan}));
  EXPECT_TRUE(is_exactly(low_at, {0, 1, 1, 0, 1, 1}));
  const auto [least, least_at] = cummin(reals({0, -3, 2}).to(DType::i64), 0);
  EXPECT_TRUE(is_exactly(least, {0, -3, -3}));
  EXPECT_TRUE(is_exactly(cummin(reals({1, 0, 1}).to(DType::boolean), 0).first, {1, 0, 0}));
  EXPECT_TRUE(is_whole(cumsum(bools({true, false, true}), 0), {1, 1, 2}));
  EXPECT_TRUE(is_exactly(cumsum(number(3), 0), {3}));
}

// ---- Softmax and activations ---------------------------------------------------------------------------------------

class Activations : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Activations, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Activations, LogSumExpIsStable) {
  EXPECT_TRUE(is(logsumexp(reals({1, 2, 3}), {0}), {3.40760596444438}));
  EXPECT_TRUE(is(logsumexp(reals({1000, 1000}), {0}), {1000.6931471805599}));
  EXPECT_TRUE(is(logsumexp(reals({-1000, -1000}), {0}), {-999.3068528194401}));
  EXPECT_TRUE(is(logsumexp(reals({-kInf, -kInf, kInf, 1, kNan, 1}, {3, 2}), {1}), {-kInf, kInf, kNan}));
  EXPECT_EQ(shape_of(logsumexp(counting({2, 3}), {1}, true)), "(2, 1)");
}

TEST_P(Activations, LogSumExpOfNothingIsMinusInfinity) {
  EXPECT_TRUE(is(logsumexp(reals({}, {2, 0}), {1}), {-kInf, -kInf}));
}

TEST_P(Activations, SoftmaxIsStable) {
  EXPECT_TRUE(is(softmax(reals({1, 2, 3}), 0), {0.09003057317038046, 0.24472847105479764, 0.6652409557748218}));
  EXPECT_TRUE(is(softmax(reals({1000, 1000, -1000}), 0), {0.5, 0.5, 0}));
  EXPECT_TRUE(is(softmax(reals({0, -kInf}), 0), {1, 0}));
  EXPECT_TRUE(is(softmax(reals({-kInf, -kInf}), 0), {kNan, kNan}));
  EXPECT_TRUE(is(log_softmax(reals({1000, 0}), 0), {0, -1000}));
  EXPECT_TRUE(is(log_softmax(reals({1, 2, 3}), -1), {-2.4076059644443806, -1.4076059644443806, -0.4076059644443806}));
  EXPECT_TRUE(is(softmax(number(5), 0), {1}));
  EXPECT_EQ(shape_of(softmax(reals({}, {2, 0}), 1)), "(2, 0)");
}

TEST_P(Activations, KnownValues) {
  const Tensor x = reals({-2, -0.5, 0, 0.5, 2});
  EXPECT_TRUE(is(relu(x), {0, 0, 0, 0.5, 2}));
  EXPECT_TRUE(is(leaky_relu(x, 0.1), {-0.2, -0.05, 0, 0.5, 2}));
  EXPECT_TRUE(is(elu(x), {-0.8646647167633873, -0.3934693402873666, 0, 0.5, 2}));
  EXPECT_TRUE(is(softplus(x),
                 {0.1269280110429726, 0.4740769841801067, 0.6931471805599453, 0.9740769841801067, 2.1269280110429727}));
  EXPECT_TRUE(is(silu(x), {-0.2384058440442351, -0.1887703343990727, 0, 0.3112296656009273, 1.7615941559557649}));
  EXPECT_TRUE(is(mish(x), {-0.2525014922, -0.2207409546, 0, 0.3752518718, 1.9439589596}, 1e-5));
  EXPECT_TRUE(is(hardswish(reals({-4, -3, -1, 0, 1, 3, 4})), {0, 0, -0.3333333333, 0, 0.6666666667, 3, 4}));
  EXPECT_TRUE(is(gelu(x), {-0.04550026389635842, -0.15426876936299344, 0, 0.34573123063700656, 1.9544997361036416}));
  EXPECT_TRUE(is(gelu(x, "tanh"), {-0.0454023059, -0.1542859972, 0, 0.3457140028, 1.9545976941}, 1e-5));
  EXPECT_THROW(gelu(x, "fast"), Error);
}

TEST_P(Activations, ReluKeepsNan) {
  EXPECT_TRUE(is_exactly(relu(reals({kNan, -kInf, kInf, -0.0})), {kNan, 0, kInf, 0}));
}

TEST_P(Activations, LargeInputsGiveFiniteValues) {
  const Tensor x = reals({-1e4, -100, 100, 1e4});
  EXPECT_TRUE(is(elu(x), {-1, -1, 100, 1e4}));
  EXPECT_TRUE(is(softplus(x), {0, 0, 100, 1e4}));
  EXPECT_TRUE(is(silu(x), {0, 0, 100, 1e4}));
  EXPECT_TRUE(is(mish(x), {0, 0, 100, 1e4}));
  EXPECT_TRUE(is(gelu(x), {0, 0, 100, 1e4}));
  EXPECT_TRUE(is(gelu(x, "tanh"), {0, 0, 100, 1e4}));
}

TEST_P(Activations, SoftplusWithBetaAndThreshold) {
  EXPECT_TRUE(is(softplus(reals({1}), 2), {1.0634640055214861}));
  EXPECT_TRUE(is(softplus(reals({3}), 2, 5), {3})) << "above the threshold it is the identity";
}

// ---- Joining, cutting, turning -------------------------------------------------------------------------------------

class Shapes : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Shapes, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Shapes, CatJoinsAlongADim) {
  const Tensor a = reals({1, 2, 3, 4}, {2, 2}), b = reals({5, 6}, {1, 2}), c = reals({7, 8}, {2, 1});
  EXPECT_TRUE(is_exactly(cat({a, b}), {1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(is_exactly(cat({a, c, a}, -1), {1, 2, 7, 1, 2, 3, 4, 8, 3, 4}));
  EXPECT_TRUE(is_exactly(cat({reals({}, {0, 2}), b}), {5, 6}));
  EXPECT_EQ(shape_of(cat({reals({}, {0, 2}), reals({}, {0, 2})})), "(0, 2)");
  EXPECT_EQ(dtype_of(cat({wholes({1}), reals({0.5}, DType::f16)})), "f16");
  EXPECT_THROW(cat({a, c}), Error);
}

TEST_P(Shapes, CatKeepsEveryBit) {
  EXPECT_TRUE(is_exactly(cat({reals({-0.0, kNan}), reals({-0.0, -kInf})}), {-0.0, kNan, -0.0, -kInf}));
  EXPECT_TRUE(is_whole(cat({wholes({kMin}), wholes({kMax})}), {kMin, kMax}));
  EXPECT_TRUE(is_whole(cat({bools({true}), bools({false, true})}), {1, 0, 1}));
}

TEST_P(Shapes, StackAddsADim) {
  const Tensor a = reals({1, 2}), b = reals({3, 4});
  EXPECT_TRUE(is_exactly(stack({a, b}), {1, 2, 3, 4}));
  EXPECT_TRUE(is_exactly(stack({a, b}, 1), {1, 3, 2, 4}));
  EXPECT_EQ(shape_of(stack({a, b, a}, -1)), "(2, 3)");
  EXPECT_EQ(shape_of(stack({number(1), number(2)})), "(2,)");
  EXPECT_THROW(stack({a, reals({1})}), Error);
}

TEST_P(Shapes, SplitAndChunk) {
  const Tensor x = counting({5});
  const auto sizes = [](const std::vector<Tensor>& parts) {
    Wholes all;
    for (const Tensor& part : parts) all.push_back(part.numel());
    return all;
  };
  EXPECT_EQ(sizes(split(x, 2)), (Wholes{2, 2, 1}));
  EXPECT_EQ(sizes(split(x, Dims{1, 4})), (Wholes{1, 4}));
  EXPECT_EQ(sizes(chunk(x, 2)), (Wholes{3, 2}));
  EXPECT_EQ(sizes(chunk(counting({6}), 4)), (Wholes{2, 2, 2})) << "fewer chunks than asked for, as in PyTorch";
  EXPECT_TRUE(is_exactly(split(x, 2)[1], {2, 3}));
  EXPECT_TRUE(is_exactly(unbind(counting({2, 3}), 1)[2], {2, 5}));
  EXPECT_THROW(split(x, Dims{1, 3}), Error);
}

TEST_P(Shapes, AnEmptyAxisGivesAsManyChunksAsAskedFor) {
  const std::vector<Tensor> parts = chunk(reals({}, {3, 0}), 4, 1);
  ASSERT_EQ(parts.size(), 4U);
  for (const Tensor& part : parts) EXPECT_EQ(part.shape(), (Dims{3, 0}));
  EXPECT_EQ(split(reals({}, {0}), 2).size(), 1U) << "parts of a given size are as many as it takes, but one";
}

TEST_P(Shapes, RollTurnsAround) {
  EXPECT_TRUE(is_exactly(roll(counting({5}), 2, 0), {3, 4, 0, 1, 2}));
  const Tensor none = zeros({0});
  EXPECT_TRUE(roll(none, 1, 0).requires_grad_().requires_grad());
  EXPECT_FALSE(none.requires_grad());  // what is empty is a tensor of its own, too
  EXPECT_TRUE(is_exactly(roll(counting({5}), -1, 0), {1, 2, 3, 4, 0}));
  EXPECT_TRUE(is_exactly(roll(counting({5}), 7, 0), {3, 4, 0, 1, 2}));
  EXPECT_TRUE(is_exactly(roll(counting({5}), 5, 0), {0, 1, 2, 3, 4}));
  EXPECT_TRUE(is_exactly(roll(counting({2, 3}), 1, 1), {2, 0, 1, 5, 3, 4}));
}

TEST_P(Shapes, RepeatTilesAndAddsDims) {
  EXPECT_TRUE(is_exactly(repeat(counting({2}), {3}), {0, 1, 0, 1, 0, 1}));
  EXPECT_TRUE(is_exactly(repeat(counting({1, 2}), {2, 2}), {0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(shape_of(repeat(counting({3}), {2, 4, 2})), "(2, 4, 6)");
  EXPECT_EQ(shape_of(repeat(counting({3}), {0})), "(0,)");
  EXPECT_THROW(repeat(counting({2, 2}), {2}), Error);
}

TEST_P(Shapes, TrianglesOnAnyDiagonal) {
  const Tensor x = reals({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  EXPECT_TRUE(is_exactly(tril(x), {1, 0, 0, 4, 5, 0, 7, 8, 9}));
  EXPECT_TRUE(is_exactly(tril(x, -1), {0, 0, 0, 4, 0, 0, 7, 8, 0}));
  EXPECT_TRUE(is_exactly(tril(x, 1), {1, 2, 0, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(is_exactly(triu(x), {1, 2, 3, 0, 5, 6, 0, 0, 9}));
  EXPECT_TRUE(is_exactly(triu(x, 1), {0, 2, 3, 0, 0, 6, 0, 0, 0}));
  EXPECT_TRUE(is_exactly(tril(full({2, 3}, kNan, of(DType::f32)), -1), {0, 0, 0, kNan, 0, 0}))
      << "zero, not NaN times zero";
  EXPECT_EQ(shape_of(triu(counting({2, 3, 4}))), "(2, 3, 4)");
  EXPECT_THROW(tril(counting({3})), Error);
}

TEST_P(Shapes, PadStartsAtTheLastDim) {
  const Tensor x = reals({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(is_exactly(pad(x, {1, 0}), {0, 1, 2, 0, 3, 4}));
  EXPECT_TRUE(is_exactly(pad(x, {0, 1}, 9), {1, 2, 9, 3, 4, 9}));
  EXPECT_TRUE(is_exactly(pad(x, {0, 0, 1, 0}, -1), {-1, -1, 1, 2, 3, 4}));
  EXPECT_TRUE(is_exactly(pad(x, {-1, 1}, 5), {2, 5, 4, 5})) << "negative sizes cut";
  EXPECT_TRUE(is_exactly(pad(reals({kNan}), {1, 1}, 2), {2, kNan, 2}));
  EXPECT_TRUE(is_whole(pad(bools({true}), {1, 0}), {0, 1}));
  EXPECT_THROW(pad(x, {1}), Error);
  EXPECT_THROW(pad(x, {-3, 0}), Error);
}

TEST_P(Shapes, FlipReversesDims) {
  EXPECT_TRUE(is_exactly(flip(counting({2, 3}), {0}), {3, 4, 5, 0, 1, 2}));
  EXPECT_TRUE(is_exactly(flip(counting({2, 3}), {0, -1}), {5, 4, 3, 2, 1, 0}));
}

TEST_P(Shapes, SlicesFollowPython) {
  const Tensor x = counting({6});
  EXPECT_TRUE(is_exactly(x.slice(0, 1, 5, 2), {1, 3}));
  EXPECT_TRUE(is_exactly(x.slice(0, -2), {4, 5}));
  EXPECT_TRUE(is_exactly(x.slice(0, {}, {}, -1), {5, 4, 3, 2, 1, 0}));
  EXPECT_TRUE(is_exactly(x.slice(0, 4, 1, -2), {4, 2}));
  EXPECT_TRUE(is_exactly(x.slice(0, 3, 100), {3, 4, 5}));
  EXPECT_EQ(shape_of(x.slice(0, 4, 2)), "(0,)");
  EXPECT_TRUE(is_exactly(counting({2, 3}).index({Ellipsis{}, 1}), {1, 4}));
  EXPECT_TRUE(is_exactly(counting({2, 3}).index({Slice(), wholes({2, 0})}), {2, 0, 5, 3}));
  EXPECT_EQ(shape_of(counting({2, 3}).index({NewAxis{}, 1})), "(1, 3)");
}

TEST_P(Shapes, ReshapeInfersOneSize) {
  EXPECT_EQ(shape_of(counting({2, 6}).reshape({3, -1})), "(3, 4)");
  EXPECT_EQ(shape_of(counting({2, 3, 4}).flatten(1)), "(2, 12)");
  EXPECT_EQ(shape_of(counting({1, 3, 1}).squeeze()), "(3,)");
  EXPECT_EQ(shape_of(counting({3}).unsqueeze(-1)), "(3, 1)");
  EXPECT_EQ(shape_of(expand(counting({3, 1}), {2, -1, 4})), "(2, 3, 4)");
  EXPECT_THROW(counting({6}).reshape({4, -1}), Error);
  EXPECT_THROW(counting({6}).reshape({-1, -1}), Error);
}

// ---- Indexing ------------------------------------------------------------------------------------------------------

class Indexing : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Indexing, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Indexing, GatherPicksPerElement) {
  const Tensor x = reals({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_TRUE(is_exactly(gather(x, 1, wholes({2, 0, 1, 1}, {2, 2})), {3, 1, 5, 5}));
  EXPECT_TRUE(is_exactly(gather(x, 0, wholes({1, 0, 1}, {1, 3})), {4, 2, 6}));
  EXPECT_TRUE(is_exactly(gather(x, -1, wholes({2}, {1, 1}, DType::i32)), {3}));
  EXPECT_EQ(shape_of(gather(x, 1, wholes({}, {2, 0}))), "(2, 0)");
  EXPECT_THROW(gather(x, 1, wholes({3}, {1, 1})), Error);
  EXPECT_THROW(gather(x, 1, wholes({-1}, {1, 1})), Error);
  EXPECT_THROW(gather(x, 1, wholes({0, 0, 0}, {3, 1})), Error);
}

TEST_P(Indexing, IndexSelectPicksWholeRows) {
  const Tensor x = counting({3, 2});
  EXPECT_TRUE(is_exactly(index_select(x, 0, wholes({2, 2, 0})), {4, 5, 4, 5, 0, 1}));
  EXPECT_TRUE(is_exactly(index_select(x, 1, wholes({1})), {1, 3, 5}));
  EXPECT_THROW(index_select(x, 0, wholes({3})), Error);
}

TEST_P(Indexing, ScatterAddAddsUpDuplicates) {
  const Tensor x = zeros({2, 3}, of(DType::f32));
  const Tensor index = wholes({0, 0, 2, 1, 1, 1}, {2, 3}), source = reals({1, 2, 4, 8, 16, 32}, {2, 3});
  EXPECT_TRUE(is_exactly(scatter_add(x, 1, index, source), {3, 0, 4, 0, 56, 0}));
  EXPECT_TRUE(is_exactly(
      scatter_add(ones({3, 2}, of(DType::f32)), 0, wholes({2, 2, 2, 0}, {2, 2}), reals({1, 2, 4, 8}, {2, 2})),
      {1, 9, 1, 1, 6, 3}));
}

TEST_P(Indexing, OfSeveralForOnePlaceTheLastIsWritten) {
  const Tensor x = reals({0, 1, 2, 3}), twice = wholes({2, 0, 2}), source = reals({-0.0, kInf, kNan});
  EXPECT_TRUE(is_exactly(scatter(x, 0, twice, source), {kInf, 1, kNan, 3}));
  EXPECT_TRUE(is_exactly(index_copy(x, 0, twice, flip(source, {0})), {kInf, 1, -0.0, 3}));
  EXPECT_TRUE(is_exactly(index_fill(x, 0, twice, -0.0), {-0.0, 1, -0.0, 3}));
  EXPECT_TRUE(is_whole(index_copy(bools({true, true, false}), 0, wholes({0, 0}), bools({true, false})), {0, 1, 0}));
  EXPECT_TRUE(is_exactly(index_copy(counting({2, 3}), 1, wholes({1, 1}), counting({2, 2})), {0, 1, 2, 3, 3, 5}));
}

TEST_P(Indexing, WhatIsReplacedHasNoGradient) {
  Tensor x = reals({0, 1, 2, 3}), source = reals({4, 5, 6}), value = number(7);
  for (Tensor* each : {&x, &source, &value}) *each = each->detach().clone().requires_grad_();
  const Tensor at = wholes({2, 0, 2});
  square(index_copy(x, 0, at, source)).sum().backward();
  EXPECT_TRUE(is(x.grad(), {0, 2, 0, 6}));
  EXPECT_TRUE(is(source.grad(), {0, 10, 12}));
  square(index_fill(x, 0, at, value)).sum().backward();
  EXPECT_TRUE(is(value.grad(), {28}));
}

TEST_P(Indexing, ScatterAddTakesTheCornerOfALargerSource) {
  const Tensor source = reals({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_TRUE(is_exactly(scatter_add(zeros({2, 2}, of(DType::f32)), 1, wholes({1, 0}, {1, 2}), source), {2, 1, 0, 0}));
}

TEST_P(Indexing, OneHotMarksTheClass) {
  EXPECT_TRUE(is_whole(one_hot(wholes({2, 0}), 3), {0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(dtype_of(one_hot(wholes({2, 0}), 3)), "i64");
  EXPECT_EQ(shape_of(one_hot(wholes({0, 1, 1, 0}, {2, 2}), 5)), "(2, 2, 5)");
  EXPECT_THROW(one_hot(wholes({3}), 3), Error);
}

TEST_P(Indexing, OneHotOfBytesKnowsMoreThan256Classes) {
  EXPECT_EQ(sum(one_hot(wholes({1}, DType::u8), 300)).item<int64_t>(), 1);
}

// ---- Products ------------------------------------------------------------------------------------------------------

class Products : public FunctionTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Products, testing::ValuesIn(computing_devices()), device_name);

TEST_P(Products, MatmulOfVectorsAndMatrices) {
  const Tensor a = reals({1, 2, 3, 4, 5, 6}, {2, 3}), v = reals({1, 0, -1});
  EXPECT_TRUE(is_exactly(matmul(v, v), {2}));
  EXPECT_EQ(shape_of(matmul(v, v)), "()");
  EXPECT_TRUE(is_exactly(matmul(a, v), {-2, -2}));
  EXPECT_TRUE(is_exactly(matmul(reals({1, 1}), a), {5, 7, 9}));
  EXPECT_TRUE(is_exactly(matmul(a, a.t()), {14, 32, 32, 77}));
  EXPECT_TRUE(is_exactly(dot(v, v), {2}));
  EXPECT_TRUE(is_exactly(outer(reals({1, 2}), v), {1, 0, -1, 2, 0, -2}));
}

TEST_P(Products, MatmulBroadcastsBatches) {
  const Tensor a = counting({2, 1, 2, 2}), b = counting({3, 2, 1});
  const Tensor product = matmul(a, b);
  EXPECT_EQ(shape_of(product), "(2, 3, 2, 1)");
  EXPECT_TRUE(is_exactly(product, {1, 3, 3, 13, 5, 23, 5, 7, 23, 33, 41, 59}));
  EXPECT_EQ(shape_of(matmul(counting({2, 3, 4}), counting({4}))), "(2, 3)");
  EXPECT_EQ(shape_of(matmul(counting({4}), counting({2, 4, 3}))), "(2, 3)");
}

TEST_P(Products, MatmulOfNothingIsZero) {
  EXPECT_TRUE(is_exactly(matmul(reals({}, {2, 0}), reals({}, {0, 2})), {0, 0, 0, 0}));
  EXPECT_EQ(shape_of(matmul(reals({}, {0, 3}), counting({3, 2}))), "(0, 2)");
}

TEST_P(Products, MatmulOfIntegersIsExact) {
  EXPECT_TRUE(is_whole(matmul(wholes({kMax, 1}, {1, 2}), wholes({1, -1}, {2, 1})), {kMax - 1}));
}

TEST_P(Products, MatmulRefusesWhatDoesNotFit) {
  EXPECT_THROW(matmul(counting({2, 3}), counting({2, 3})), Error);
  EXPECT_THROW(matmul(counting({2, 3}), counting({3, 2}, DType::f64)), Error);
  EXPECT_THROW(matmul(number(1), counting({3})), Error);
}

/// An einsum by its definition: for every value of every letter, multiply and add.
Numbers einsum_by_loops(const std::vector<std::string>& terms, const std::string& output,
                        const std::vector<Tensor>& operands) {
  std::map<char, int64_t> sizes;
  std::vector<Numbers> values;
  std::string letters = output;
  for (size_t k = 0; k < terms.size(); ++k) {
    values.push_back(operands[k].to_vector<double>());
    for (size_t i = 0; i < terms[k].size(); ++i) {
      sizes[terms[k][i]] = operands[k].shape()[i];
      if (letters.find(terms[k][i]) == std::string::npos) letters += terms[k][i];
    }
  }
  std::map<char, int64_t> at;
  const auto place = [&](const std::string& term) {
    int64_t position = 0;
    for (char c : term) position = position * sizes[c] + at[c];
    return static_cast<size_t>(position);
  };
  int64_t results = 1;
  for (char c : output) results *= sizes[c];
  Numbers totals(static_cast<size_t>(results), 0);
  while (true) {
    double product = 1;
    for (size_t k = 0; k < terms.size(); ++k) product *= values[k][place(terms[k])];
    totals[place(output)] += product;
    size_t next = letters.size();
    while (next > 0 && ++at[letters[next - 1]] == sizes[letters[next - 1]]) at[letters[--next]] = 0;
    if (next == 0) return totals;
  }
}

struct EinsumCase {
  std::string equation;
  std::vector<std::string> terms;
  std::string output;
};

TEST_P(Products, EinsumIsItsLoops) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  const std::map<char, int64_t> sizes{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'e', 3}};
  const EinsumCase cases[] = {{"ab,bc->ac", {"ab", "bc"}, "ac"},
                              {"ab,cb->ac", {"ab", "cb"}, "ac"},
                              {"ab,bc->ca", {"ab", "bc"}, "ca"},
                              {"eab,ebc->eac", {"eab", "ebc"}, "eac"},
                              {"aebd,acbd->aebc", {"aebd", "acbd"}, "aebc"},
                              {"ab->ba", {"ab"}, "ba"},
                              {"ab->a", {"ab"}, "a"},
                              {"ab->", {"ab"}, ""},
                              {"bb->b", {"bb"}, "b"},
                              {"bb->", {"bb"}, ""},
                              {"babc->ac", {"babc"}, "ac"},
                              {"a,b->ab", {"a", "b"}, "ab"},
                              {"ab,ab->", {"ab", "ab"}, ""},
                              {"ab,ab->ab", {"ab", "ab"}, "ab"},
                              {"abc,c->ab", {"abc", "c"}, "ab"},
                              {"ab,bc,ce->ae", {"ab", "bc", "ce"}, "ae"},
                              {"b,b,b->b", {"b", "b", "b"}, "b"},
                              {"ab,ce->aceb", {"ab", "ce"}, "aceb"},
                              {"ab,b", {"ab", "b"}, "a"},
                              {"ab,bc", {"ab", "bc"}, "ac"},
                              {"ba", {"ba"}, "ab"},
                              {" ab , bc -> ac ", {"ab", "bc"}, "ac"},
                              {"abc,b->c", {"abc", "b"}, "c"},
                              {"ab,bb->a", {"ab", "bb"}, "a"}};
  for (const EinsumCase& tested : cases) {
    std::vector<Tensor> operands;
    for (const std::string& term : tested.terms) {
      Dims shape;
      for (char c : term) shape.push_back(sizes.at(c));
      operands.push_back(tensor_of(upload(random_host({DType::f64, shape}, operands.size() + 1), device().id)));
    }
    const Tensor product = einsum(tested.equation, operands);
    EXPECT_TRUE(is(product, einsum_by_loops(tested.terms, tested.output, operands), 1e-12)) << tested.equation;
    EXPECT_EQ(product.shape().size(), tested.output.size()) << tested.equation;
  }
}

TEST_P(Products, EinsumBroadcastsTheEllipsis) {
  const Tensor a = counting({2, 2, 3}), b = counting({2, 3, 2});
  EXPECT_TRUE(equal(einsum("...ij,...jk->...ik", {a, b}), matmul(a, b)));
  EXPECT_TRUE(equal(einsum("...ij->...ji", {a}), a.transpose(1, 2)));
  EXPECT_TRUE(equal(einsum("b...,b...->...", {a, a}), sum(a * a, {0})));
  EXPECT_TRUE(equal(einsum("...i,i->...", {a, counting({3})}), matmul(a, counting({3}))));
}

TEST_P(Products, EinsumBroadcastsAnEllipsisOfLowerRankBehind) {
  const Tensor rows = counting({2, 3}), row = counting({3});
  EXPECT_TRUE(equal(einsum("...i,...i->...", {rows, row}), sum(rows * row, {1})));
}

TEST_P(Products, EinsumBroadcastsAnEllipsisOfLowerRankInFront) {
  const Tensor rows = counting({2, 3}), row = counting({3});
  EXPECT_TRUE(equal(einsum("...i,...i->...", {row, rows}), sum(rows * row, {1})));
}

TEST_P(Products, EinsumOffTheDiagonalDoesNotCount) {
  EXPECT_TRUE(is_exactly(einsum("ii->i", {reals({1, kNan, kInf, 4}, {2, 2})}), {1, 4}));
}

TEST_P(Products, EinsumRefusesWhatDoesNotFit) {
  const Tensor a = counting({2, 3});
  EXPECT_THROW(einsum("ij,jk->ik", {a, a}), Error);
  EXPECT_THROW(einsum("ijk->i", {a}), Error);
  EXPECT_THROW(einsum("ij->k", {a}), Error);
  EXPECT_THROW(einsum("ij->ii", {a}), Error);
  EXPECT_THROW(einsum("ij,jk", {a}), Error);
  EXPECT_THROW(einsum("i.j", {a}), Error);
  EXPECT_THROW(einsum("ii", {a}), Error);
}

}  // namespace
}  // namespace tenon::ops_test
