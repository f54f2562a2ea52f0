// One test per rule: where it applies, and where it must not because a bit would change.

#include "tenon/plan/simplify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tenon/ir/build.h"
#include "tenon/ir/fold.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/rewrite.h"

namespace tenon::plan {
namespace {

using ir::add;
using ir::cast;
using ir::mul;
using ir::neg;
using ir::Op;
using ir::Value;

Value number(double value, DType dtype = DType::f32) { return ir::full({2, 3}, value, dtype, {}); }
Value leaf(uint64_t id, DType dtype = DType::f32) {
  return ir::buffer({(uint64_t{1} << 52) + id, 0, {}, {dtype, {2, 3}}});
}

Value simple(const Value& value) {
  return rewrite({&value, 1}, [](const ir::Node& node, std::span<const Value> in) -> std::optional<std::vector<Value>> {
    if (auto made = simplified(node, in)) return std::vector<Value>{std::move(*made)};
    return std::nullopt;
  })[0];
}

double number_of(const Value& value) {
  const Value made = simple(value);
  const ir::ConstantAttrs* constant = ir::number_behind(made);
  EXPECT_NE(constant, nullptr);
  EXPECT_EQ(made.type(), value.type());
  return constant ? (is_float(constant->dtype) ? constant->as_double() : static_cast<double>(constant->as_int())) : 0;
}

TEST(Simplify, RecordingKeepsWhatWasWritten) {
  EXPECT_EQ(add(number(1), number(2)).node->op(), Op::add);
  EXPECT_EQ(neg(neg(leaf(1))).node->op(), Op::neg);
}

// ---- fold numbers ----

TEST(Simplify, OneOperationOnNumbersIsANumber) {
  EXPECT_EQ(number_of(add(number(0.1), number(0.2))), static_cast<double>(0.1f + 0.2f));
  EXPECT_EQ(number_of(mul(number(0.1), number(0.3))), static_cast<double>(0.1f * 0.3f));
  EXPECT_EQ(number_of(ir::div(number(1), number(3))), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(number_of(ir::unary(Op::sqrt, number(2))), static_cast<double>(std::sqrt(2.0f)));
  EXPECT_EQ(number_of(neg(number(5))), -5);
}

TEST(Simplify, NumbersAreRoundedStepByStep) {
  EXPECT_EQ(number_of(add(number(256, DType::bf16), number(1, DType::bf16))), 256);
  EXPECT_EQ(number_of(mul(number(65504, DType::f16), number(2, DType::f16))), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_of(cast(number(1.0 / 3), DType::f16)), 0.333251953125);
  EXPECT_EQ(number_of(add(add(number(16777216), number(1)), number(1))), 16777216);
}

TEST(Simplify, IntegersWrapAround) {
  EXPECT_EQ(number_of(add(number(200, DType::u8), number(100, DType::u8))), 44);
  EXPECT_EQ(number_of(mul(number(1 << 30, DType::i32), number(4, DType::i32))), 0);
}

TEST(Simplify, WhatDevicesMayRoundDifferentlyIsLeftAlone) {
  EXPECT_EQ(simple(ir::exp(number(1))).node->op(), Op::exp);
  EXPECT_EQ(simple(ir::div(number(0), number(0))).node->op(), Op::div);  // NaN
}

TEST(Simplify, PaddingIsNoNumber) {
  EXPECT_EQ(ir::number_behind(ir::pad(number(1), {1, 0}, {0, 0})), nullptr);
  EXPECT_EQ(simple(neg(ir::pad(number(1), {1, 0}, {0, 0}))).node->op(), Op::neg);
}

TEST(Simplify, ANumberThatHasBeenEvaluatedIsMemory) {
  const Value two = ir::constant(2, DType::f32, {0, "simplify_test"});
  two.node->set_data(0, std::make_shared<ir::Data>());
  EXPECT_EQ(simple(mul(two, two)).node->op(), Op::mul);
}

// ---- leave out ones ----

TEST(Simplify, FactorsOfOneGo) {
  const Value x = leaf(1), one = add(number(0.5), number(0.5));  // known only once it is folded
  EXPECT_EQ(simple(mul(x, one)), x);
  EXPECT_EQ(simple(mul(one, x)), x);
  EXPECT_EQ(simple(ir::div(x, one)), x);
  EXPECT_EQ(simple(ir::div(one, x)).node->op(), Op::div);
}

TEST(Simplify, AddingZeroStays) {  // -0 + 0 is 0
  EXPECT_EQ(simple(add(leaf(1), number(0))).node->op(), Op::add);
}

// ---- negate once, negate sums ----

TEST(Simplify, TwoNegationsAreNone) {
  const Value x = leaf(1);
  EXPECT_EQ(simple(neg(neg(x))), x);
  EXPECT_EQ(simple(neg(neg(neg(x)))), neg(x));
}

TEST(Simplify, TheSignOfASumWaits) {
  const Value x = leaf(1), sum = simple(ir::reduce(Op::sum, neg(x), {1}));
  const Value whole = ir::reduce(Op::sum, x, {1});
  EXPECT_EQ(sum, ir::sub(ir::full_like(whole, 0), whole));
}

TEST(Simplify, TheSignOfAnIntegerSumStays) {
  EXPECT_EQ(simple(ir::reduce(Op::sum, neg(leaf(1, DType::i32)), {1})).node->op(), Op::sum);
}

// ---- leave out marks ----

TEST(Simplify, MarksForGradientsAreNoValuesOfTheirOwn) {
  const Value x = leaf(1, DType::f32);
  EXPECT_EQ(simple(ir::detach(x)), x);
  EXPECT_EQ(simple(ir::exp(ir::detach(x))), ir::exp(x));
}

// ---- convert there and back ----

TEST(Simplify, TensorsOfOneFormulaAreOneValue) {
  const auto slot = std::make_shared<ir::Param>();
  const Value weight = ir::param(leaf(1), slot), first = ir::Node::apart(mul(weight, weight));
  const Value second = ir::Node::apart(mul(weight, weight)), marked = ir::Node::apart(first);
  EXPECT_FALSE(first == second);
  EXPECT_FALSE(first == marked);
  const Value sums = simple(add(add(first, second), marked));
  EXPECT_EQ(sums.node->input(0).node->input(0), sums.node->input(0).node->input(1));
  EXPECT_EQ(sums.node->input(0).node->input(0), sums.node->input(1));
}

TEST(Simplify, ThereAndBackIsNowhere) {
  const Value x = leaf(1, DType::bf16);
  EXPECT_EQ(simple(cast(cast(x, DType::f32), DType::bf16)), x);
  const Value turned = cast(ir::permute(cast(x, DType::f32), {1, 0}), DType::bf16);
  EXPECT_EQ(simple(turned), ir::permute(x, {1, 0}));
  EXPECT_EQ(simple(cast(ir::detach(cast(x, DType::f32)), DType::bf16)), x);
}

TEST(Simplify, ANarrowPlaceInBetweenStays) {
  const Value x = leaf(1, DType::f32), rounded = cast(cast(x, DType::bf16), DType::f32);
  EXPECT_EQ(simple(rounded), rounded);
  const Value whole = cast(cast(leaf(2, DType::i64), DType::f64), DType::i64);  // f64 does not hold every i64
  EXPECT_EQ(simple(whole), whole);
}

// ---- choose the larger ----

Value relu(const Value& x, const Value& bound, const Value& instead) {
  const Value either = ir::binary(Op::bit_or, ir::less(x, bound), ir::equal(x, bound));
  return ir::where(either, instead, x);
}

TEST(Simplify, ReluIsTheLargerOfXAndZero) {
  const Value x = leaf(1), zero = number(0);
  EXPECT_EQ(simple(relu(x, zero, zero)), ir::binary(Op::maximum, x, zero));
  EXPECT_EQ(simple(relu(neg(neg(x)), zero, zero)), ir::binary(Op::maximum, x, zero));
}

TEST(Simplify, TheGradientOfReluLooksAtItsResult) {
  const Value x = leaf(1), slope = leaf(2), zero = number(0);
  const Value either = ir::binary(Op::bit_or, ir::less(x, zero), ir::equal(x, zero));
  const Value is_zero = ir::equal(ir::binary(Op::maximum, x, zero), zero);
  EXPECT_EQ(simple(ir::where(either, zero, slope)), ir::where(is_zero, zero, slope));
}

TEST(Simplify, ComparisonsOfTwoValuesStay) {
  const Value x = leaf(1), y = leaf(2), zero = number(0);
  const Value either = ir::binary(Op::bit_or, ir::less(x, zero), ir::equal(y, zero));
  EXPECT_EQ(simple(either), either);
}

TEST(Simplify, WhatOnlyLooksLikeReluStays) {
  const Value x = leaf(1), zero = number(0), one = number(1), minus = number(-0.0);
  for (const Value& other : {relu(x, one, zero), relu(x, zero, one), relu(x, zero, minus)})
    EXPECT_EQ(simple(other).node->op(), Op::where);
  const Value either = ir::binary(Op::bit_or, ir::less(x, zero), ir::equal(x, zero));
  EXPECT_EQ(simple(ir::where(either, zero, leaf(2))).node->op(), Op::where);  // the gradient of it
}

TEST(Simplify, EveryRuleHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Simplification& rule : simplifications()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  EXPECT_EQ(names.size(), 9u);
}

// ---- choose before spreading ----

TEST(Simplify, ReluBehindPoolingIsTakenOfItsResults) {
  const auto image = [](uint64_t id, int64_t side) {
    return ir::buffer({(uint64_t{1} << 52) + id, 0, {}, {DType::f32, {1, 1, side}}});
  };
  const ir::PoolAttrs windows{{{.image = 4, .kernel = 2, .out = 2, .stride = 2}}};
  const Value y = image(1, 4), slope = image(2, 2), other = image(3, 4), zero = ir::full_like(y, 0);
  const auto [largest, places] = ir::max_pool(y, windows);
  const Value spread = ir::max_pool_backward(slope, places, windows);
  const Value kept = ir::where(ir::equal(largest, ir::full_like(largest, 0)), ir::full_like(slope, 0), slope);
  EXPECT_EQ(simple(ir::where(ir::equal(y, zero), zero, spread)), ir::max_pool_backward(kept, places, windows));
  const Value of_another = ir::where(ir::equal(other, zero), zero, spread);
  EXPECT_EQ(simple(of_another), of_another);
}

}  // namespace
}  // namespace tenon::plan
