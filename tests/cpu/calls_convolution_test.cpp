// The three sides of a convolution against the reference, with the same bits for any number of threads.

#include "tenon/backends/cpu/convolution/convolution.h"
#include "tests/cpu/calls_support.h"

namespace tenon::backends::cpu {
namespace {

struct Channels {
  int64_t images, in, out, groups = 1;  // channels of a group
};

// With our own loops and with oneDNN's, whatever this machine would choose.
void expect_as_reference_on_every_engine(const ir::Call& call, const std::vector<Given>& inputs) {
  const Results expected = run_on_reference(call, inputs);
  for (const MatmulEngine engine : {MatmulEngine::own, MatmulEngine::onednn, MatmulEngine::automatic}) {
    const Results results = run(*compile_convolution_with(call, engine), call, inputs);
    expect_close(call, results, expected, 64);
    const Threads one(1);
    EXPECT_EQ(run(*compile_convolution_with(call, engine), call, inputs), results);
  }
}

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
    expect_as_reference_on_every_engine(call_of(op, attrs, {a, b}, {{dtype, result.shape()}}), {a, b});
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
// The input's gradient goes through its phases one after another, and one of fewer taps may be summed in longer parts.
TEST(Convolution, WhosePhasesAreOfDifferentDepth) {
  expect_all_sides(DType::f32, {1, 1, 32}, {axis_of(15, 7, 2, 3), axis_of(15, 3, 1, 1)});
  expect_all_sides(DType::f32, {1, 3, 64}, {axis_of(16, 7, 2, 3), axis_of(16, 7, 2, 3)});
}
TEST(Convolution, OfManyImages) { expect_all_sides(DType::f32, {19, 4, 9}, {axis_of(6, 2, 2), axis_of(5, 3, 3, 1)}); }
TEST(Convolution, OfSlicesOfImages) {
  expect_all_sides(DType::f32, {37, 16, 24}, {axis_of(12, 3, 1, 1), axis_of(12, 3, 1, 1)});
  expect_all_sides(DType::f32, {35, 3, 16}, {axis_of(16, 5, 2, 2), axis_of(16, 5, 2, 2)});
}
TEST(Convolution, OfGroupsAndHoles) {
  expect_all_sides(DType::f32, {3, 8, 16, 2}, {axis_of(11, 3, 2, 2, 2), axis_of(10, 3, 1, 2, 2)});
  expect_all_sides(DType::f32, {3, 1, 1, 32}, {axis_of(11, 3, 1, 1), axis_of(10, 3, 1, 1)});
}
TEST(Convolution, OfSequences) {
  expect_all_sides(DType::f32, {5, 16, 32}, {axis_of(60, 5, 2, 4, 2)});
  expect_all_sides(DType::f64, {3, 7, 6}, {axis_of(150, 5, 2, 4, 2)});
}
TEST(Convolution, ChannelByChannel) {
  expect_all_sides(DType::bf16, {2, 1, 1, 12}, {axis_of(9, 3, 1, 1), axis_of(9, 3, 2, 1)});
}
TEST(Convolution, Of16Bits) { expect_all_sides(DType::f16, {2, 6, 10, 2}, {axis_of(7, 3, 1, 1), axis_of(8, 3, 1, 1)}); }

}  // namespace
}  // namespace tenon::backends::cpu
