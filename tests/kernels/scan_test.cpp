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

TEST_F(Scan, SumsAViewThatGoesBackwards) {
  const Twice x = twice(9, {40, 50});
  EXPECT_TRUE(same_bits(cumsum(flip(x.opencl, {0}).transpose(0, 1), 1), cumsum(flip(x.cpu, {0}).transpose(0, 1), 1)));
}

}  // namespace
}  // namespace tenon::kernels_test
