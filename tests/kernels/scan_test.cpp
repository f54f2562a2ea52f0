// Running sums and products of lines that are shorter and longer than a tile, side by side and one after another.
// Whole numbers have exact sums: those must be the cpu's, wherever lines are cut.

#include "on_opencl.h"

namespace tenon::kernels_test {
namespace {

using Scan = OnOpenCl;

TEST_F(Scan, SumsLinesOfEveryLength) {
  for (const int64_t length : {1, 2, 31, 257, 1025, 5000}) {
    const Twice x = twice(9, {length});
    EXPECT_TRUE(same_bits(cumsum(x.opencl, 0), cumsum(x.cpu, 0))) << length;
  }
}

TEST_F(Scan, SumsLinesOfEveryAxis) {
  for (const Dims& shape : {Dims{70, 33, 5}, Dims{3, 1100, 40}}) {
    for (const int64_t axis : {0, 1, 2}) {
      const Twice x = twice(9, shape);
      EXPECT_TRUE(same_bits(cumsum(x.opencl, axis), cumsum(x.cpu, axis))) << axis;
    }
  }
}

TEST_F(Scan, CutsLongLinesIntoParts) {
  const Twice x = twice(9, {2, 100'003});
  EXPECT_TRUE(same_bits(cumsum(x.opencl, 1), cumsum(x.cpu, 1)));
}

TEST_F(Scan, KeepsTheErrorOfLongSumsSmall) {
  const Twice x = twice(1000, {200'000});
  EXPECT_TRUE(close(cumsum(x.opencl / 7 + 30, 0), cumsum(x.cpu / 7 + 30, 0), 1e-6));
}

TEST_F(Scan, MultipliesAndWraps) {
  const Twice factors = twice(3, {4, 700}), odd = twice(9, {700}, DType::i32);
  EXPECT_TRUE(close(cumprod(factors.opencl / 300 + 1, 1), cumprod(factors.cpu / 300 + 1, 1), 1e-5));
  EXPECT_TRUE(same_bits(cumprod(odd.opencl * 2 + 1, 0), cumprod(odd.cpu * 2 + 1, 0)));
}

// Threads multiply parts of a line, whose products are no floats where those from its beginning are.
TEST_F(Scan, ProductsOfPartsMayBeBeyondFloats) {
  for (const int64_t length : {64, 3000, 40'000}) {
    std::vector<float> values(static_cast<size_t>(length), 1.0f);
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 64 < 32 ? 0x1p-30f : 0x1p30f;
    values[0] = 0x1p120f;
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      for (const char* device : {"opencl", "simulated"}) {
        if (device == std::string_view("opencl") && length != 3000) continue;
        const auto products = [&](const Device& on) {
          return cumprod(from_vector(values, {length}, Options(DType::f32, on)).to(dtype), 0);
        };
        EXPECT_TRUE(same_bits(products(device), products("cpu"))) << device << ", " << length << ", " << name(dtype);
      }
    }
  }
}

TEST_F(Scan, ProductsWithZerosAndInfinities) {
  const std::vector<float> values = {2, -INFINITY, -3, 1e-38f, 0, 5, -0.0f, NAN, 1};
  const auto products = [&](const Device& on) {
    return cumprod(from_vector(values, {9}, Options(DType::f32, on)), 0).to_vector<float>();
  };
  for (const char* device : {"opencl", "simulated"}) {
    const std::vector<float> got = products(device), wanted = products("cpu");
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) << device << ", " << i;
  }
}

TEST_F(Scan, SumsAViewThatGoesBackwards) {
  const Twice x = twice(9, {40, 50});
  EXPECT_TRUE(same_bits(cumsum(flip(x.opencl, {0}).transpose(0, 1), 1), cumsum(flip(x.cpu, {0}).transpose(0, 1), 1)));
}

}  // namespace
}  // namespace tenon::kernels_test
