// The three sides of a convolution against the reference, with the same bits for any number of threads.

#include "tests/cpu/calls_support.h"

namespace tenon::backends::cpu {
namespace {

struct Channels {
  int64_t images, in, out, groups = 1;  // channels of a group
};

void expect_all_sides(DType dtype, const Channels& c, const std::vector<ir::ConvAxis>& axes) {
  const auto shape = [&](int64_t first, int64_t second, int64_t ir::ConvAxis::*size) {
    Dims dims{first, second};
    for (const ir::ConvAxis& axis : axes) dims.push_back(axis.*size);
    return dims;
  };
  const Given x = given(dtype, shape(c.images, c.in * c.groups, &ir::ConvAxis::image), {}, 1);
  const Given w = given(dtype, shape(c.out * c.groups, c.in, &ir::ConvAxis::kernel), {}, 2);
  const Given y = given(dtype, shape(c.images, c.out * c.groups, &ir::ConvAxis::out), {}, 3);
  const ir::ConvAttrs attrs{axes, c.groups, dtype};
  const auto check = [&](ir::Op op, const Given& a, const Given& b, const Given& result) {
    expect_as_reference(call_of(op, attrs, {a, b}, {{dtype, result.shape()}}), {a, b}, 64);
  };
  check(ir::Op::conv, x, w, y);
  check(ir::Op::conv_transpose, y, w, x);
  check(ir::Op::conv_weight, x, y, w);
}

ir::ConvAxis axis_of(int64_t image, int64_t kernel, int64_t stride = 1, int64_t padding = 0, int64_t dilation = 1) {
  return {image, kernel, (image + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1, stride, padding, dilation};
}

TEST(Convolution, OfMoreChannelsThanABlockHas) {
  expect_all_sides(DType::f32, {1, 45, 200}, {axis_of(5, 3, 1, 1), axis_of(6, 3, 1, 1)});
}
TEST(Convolution, OfMoreRowsThanABandHas) {
  expect_all_sides(DType::f32, {2, 3, 5}, {axis_of(70, 3, 2, 1), axis_of(31, 5, 1, 2)});
}
TEST(Convolution, OfManyImages) { expect_all_sides(DType::f32, {19, 4, 9}, {axis_of(6, 2, 2), axis_of(5, 3, 3, 1)}); }
TEST(Convolution, OfSequences) { expect_all_sides(DType::f64, {3, 7, 6}, {axis_of(150, 5, 2, 4, 2)}); }
TEST(Convolution, ChannelByChannel) {
  expect_all_sides(DType::bf16, {2, 1, 1, 12}, {axis_of(9, 3, 1, 1), axis_of(9, 3, 2, 1)});
}
TEST(Convolution, Of16Bits) { expect_all_sides(DType::f16, {2, 6, 10, 2}, {axis_of(7, 3, 1, 1), axis_of(8, 3, 1, 1)}); }

}  // namespace
}  // namespace tenon::backends::cpu
