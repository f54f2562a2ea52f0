// Arithmetic on numbers while recording.

#include "tenon/ir/fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/ir/build.h"

namespace tenon::ir {
namespace {

Value number(double value, DType dtype = DType::f32) { return full({2, 3}, value, dtype, {}); }

double value_of(const Value& value) {
  const ConstantAttrs* made = number_behind(value);
  EXPECT_NE(made, nullptr);
  return made ? (is_float(made->dtype) ? made->as_double() : static_cast<double>(made->as_int())) : 0;
}

TEST(Fold, OneOperationOnNumbersIsANumber) {
  EXPECT_EQ(value_of(add(number(0.1), number(0.2))), static_cast<double>(0.1f + 0.2f));
  EXPECT_EQ(value_of(mul(number(0.1), number(0.3))), static_cast<double>(0.1f * 0.3f));
  EXPECT_EQ(value_of(binary(Op::div, number(1), number(3))), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(value_of(unary(Op::sqrt, number(2))), static_cast<double>(std::sqrt(2.0f)));
  EXPECT_EQ(value_of(neg(number(5))), -5);
}

TEST(Fold, RoundsToTheDtype) {
  EXPECT_EQ(value_of(add(number(256, DType::bf16), number(1, DType::bf16))), 256);
  EXPECT_EQ(value_of(mul(number(65504, DType::f16), number(2, DType::f16))), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value_of(cast(number(1.0 / 3), DType::f16)), 0.333251953125);
}

TEST(Fold, IntegersWrapAround) {
  EXPECT_EQ(value_of(add(number(200, DType::u8), number(100, DType::u8))), 44);
  EXPECT_EQ(value_of(mul(number(1 << 30, DType::i32), number(4, DType::i32))), 0);
}

TEST(Fold, ShapesAreKept) { EXPECT_EQ(add(number(1), number(2)).shape(), (Dims{2, 3})); }

TEST(Fold, WhatDevicesMayRoundDifferentlyIsLeftAlone) {
  EXPECT_EQ(exp(number(1)).node->op(), Op::exp);
  EXPECT_EQ(binary(Op::div, number(0), number(0)).node->op(), Op::div);  // NaN
}

TEST(Fold, PaddingIsNoNumber) {
  const Value padded = pad(number(1), {1, 0}, {0, 0});
  EXPECT_EQ(number_behind(padded), nullptr);
}

}  // namespace
}  // namespace tenon::ir
