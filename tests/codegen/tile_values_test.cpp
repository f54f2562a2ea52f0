// Transpositions through shared tiles give what the cpu gives: every dtype, sizes that no tile divides, batches, views
// that go backwards, padding, and several loads in one nest.

#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64,
                            DType::i32, DType::i64, DType::u8,   DType::boolean};
const Dims kShapes[] = {{64, 64}, {16, 16}, {33, 50}, {130, 17}, {2, 40, 36}, {3, 65, 100}};

Tensor numbers(const Dims& shape, DType dtype) {
  const Tensor all = arange(ir::count(shape), Options(DType::i32, "cpu"));
  return (remainder(all * 37, 101)).reshape(shape).to(dtype);
}

/// Whether the function gives the same on both devices.
template <typename F>
testing::AssertionResult is_same_on_gpu(const Tensor& x, const F& f) {
  const Tensor want = f(x), got = f(x.to("simulated")).to("cpu");
  if ((want.to(DType::f64) == got.to(DType::f64)).all().item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "of " << ir::to_string(x.shape()) << " " << name(x.dtype());
}

template <typename F>
void expect_same_everywhere(const F& f) {
  for (const DType dtype : kTypes) {
    for (const Dims& shape : kShapes) EXPECT_TRUE(is_same_on_gpu(numbers(shape, dtype), f));
  }
}

TEST(TileValues, ATransposeIsThatOfTheCpu) {
  expect_same_everywhere([](const Tensor& x) { return x.transpose(-1, -2).contiguous(); });
}

TEST(TileValues, AConversionIsFusedWithIt) {
  expect_same_everywhere([](const Tensor& x) { return x.transpose(-1, -2).to(DType::f32) * 2.0; });
}

TEST(TileValues, ViewsMayGoBackwardsAlongBothAxes) {
  expect_same_everywhere([](const Tensor& x) { return flip(x, {-1}).transpose(-1, -2).contiguous(); });
  expect_same_everywhere([](const Tensor& x) { return flip(x, {-2}).transpose(-1, -2).contiguous(); });
}

TEST(TileValues, PaddingIsZero) {
  expect_same_everywhere([](const Tensor& x) { return pad(x, {1, 2, 3, 0}).transpose(-1, -2).contiguous(); });
}

TEST(TileValues, SeveralLoadsMayBeTurned) {
  const auto f = [](const Tensor& x) {
    const Tensor turned = x.to(DType::f32).contiguous(), other = (x.to(DType::f32) + 1.0).contiguous();
    return turned.transpose(-1, -2) * other.transpose(-1, -2) - x.transpose(-1, -2).to(DType::f32);
  };
  expect_same_everywhere(f);
}

TEST(TileValues, TheFirstAxisMayBecomeTheLast) {
  const auto f = [](const Tensor& x) { return x.permute({2, 1, 0}).contiguous(); };
  for (const DType dtype : kTypes) EXPECT_TRUE(is_same_on_gpu(numbers({40, 3, 70}, dtype), f));
}

}  // namespace
}  // namespace tenon
