// Pooling and its gradient against the reference, with the same bits for any number of threads.

#include <cmath>
#include <limits>

#include "tests/cpu/calls_support.h"

namespace tenon::backends::cpu {
namespace {

ir::ConvAxis windows_of(int64_t image, int64_t kernel, int64_t stride, int64_t padding = 0, int64_t dilation = 1) {
  return {image, kernel, (image + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1, stride, padding, dilation};
}

void expect_pooled(DType dtype, int64_t images, int64_t channels, const std::vector<ir::ConvAxis>& axes) {
  const ir::PoolAttrs attrs{axes};
  Dims image{images, channels}, out = image;
  for (const ir::ConvAxis& axis : axes) {
    image.push_back(axis.image);
    out.push_back(axis.out);
  }
  const Given x = given(dtype, image);
  const ir::Call forward = call_of(ir::Op::max_pool, attrs, {x}, {{dtype, out}, {attrs.place_dtype(), out}});
  expect_as_reference(forward, {x});
  const Bytes places = run_on_cpu(forward, {x})[1];
  const Given g = given(dtype, out, {}, 2),
              found = exactly(attrs.place_dtype(), out, numbers(attrs.place_dtype(), places));
  expect_as_reference(call_of(ir::Op::max_pool_backward, attrs, {g, found}, {{dtype, image}}), {g, found}, 16);
}

TEST(MaxPool, OfEveryDtype) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    expect_pooled(dtype, 3, 5, {windows_of(28, 2, 2), windows_of(28, 2, 2)});
    expect_pooled(dtype, 2, 3, {windows_of(11, 3, 2, 1), windows_of(19, 3, 2, 1)});
    expect_pooled(dtype, 2, 3, {windows_of(101, 4, 3, 2)});
  }
}
TEST(MaxPool, OfRowsOfEveryLength) {
  for (int64_t size = 2; size < 40; ++size) {
    expect_pooled(DType::f32, 2, 2, {windows_of(5, 2, 2), windows_of(size, 2, 2)});
    expect_pooled(DType::f32, 1, 2, {windows_of(4, 3, 1, 1), windows_of(size, 2, 2, 1)});
  }
}
TEST(MaxPool, OfPlanesOfSeveralBands) {
  expect_pooled(DType::f32, 1, 1, {windows_of(300, 3, 2, 1), windows_of(250, 3, 2, 1)});
  expect_pooled(DType::f32, 1, 2, {windows_of(301, 2, 2), windows_of(203, 2, 2)});
  expect_pooled(DType::f32, 1, 1, {windows_of(260, 5, 1, 2), windows_of(260, 3, 3)});
}
TEST(MaxPool, OfManyPlaces) { expect_pooled(DType::f32, 2, 1, {windows_of(40, 17, 2, 8), windows_of(50, 16, 1)}); }
TEST(MaxPool, OfADilatedWindow) {
  expect_pooled(DType::f32, 2, 2, {windows_of(20, 3, 1, 1, 4), windows_of(33, 2, 2, 1, 3)});
  expect_pooled(DType::f32, 2, 2, {windows_of(20, 2, 5, 0, 2), windows_of(33, 2, 4, 0, 7)});
}

TEST(MaxPool, TakesTheFirstOfEqualElementsTheLastNanAndNeverPadding) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), low = -std::numeric_limits<double>::infinity();
  const Given x = exactly(DType::f32, {1, 1, 12}, {1, 1, 1, nan, 2, 3, nan, 5, nan, low, low, low});
  const ir::Call call = call_of(ir::Op::max_pool, ir::PoolAttrs{{windows_of(12, 3, 3)}}, {x},
                                {{DType::f32, {1, 1, 4}}, {DType::u8, {1, 1, 4}}});
  const Results results = run_on_cpu(call, {x});
  EXPECT_EQ(numbers(DType::u8, results[1]), (std::vector<double>{0, 0, 2, 0}));
  EXPECT_TRUE(std::isnan(numbers(DType::f32, results[0])[2]));
  const Given lowest = exactly(DType::f32, {1, 1, 4}, {low, low, low, low});
  const ir::Call padded = call_of(ir::Op::max_pool, ir::PoolAttrs{{windows_of(4, 3, 2, 1)}}, {lowest},
                                  {{DType::f32, {1, 1, 2}}, {DType::u8, {1, 1, 2}}});
  EXPECT_EQ(numbers(DType::u8, run_on_cpu(padded, {lowest})[1]), (std::vector<double>{1, 0}));
}

}  // namespace
}  // namespace tenon::backends::cpu
