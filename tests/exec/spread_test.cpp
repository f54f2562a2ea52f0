// Slices of a value that are spread over it again, beside reductions of it: what a kernel computes for one element must
// not take the place of another's.

#include <gtest/gtest.h>

#include <random>

#include "tenon/tenon.h"

namespace tenon {
namespace {

// What is in one kernel with what, `waits` takes apart.
struct SpreadProgram {
  uint32_t seed;
  bool waits;
  std::mt19937 random{seed};

  int64_t below(int64_t count) { return static_cast<int64_t>(random() % static_cast<uint32_t>(count)); }
  Tensor apart(const Tensor& x) const {
    if (waits) wait({x});
    return x;
  }

  Tensor reduced(const Tensor& x, int64_t dim) {
    switch (below(3)) {
      case 0: return apart(sum(x, {dim}, true));
      case 1: return apart(amax(x, {dim}, true));
      default: return apart(mean(x, {dim}, true));
    }
  }
  Tensor combined(const Tensor& a, const Tensor& b) {
    switch (below(3)) {
      case 0: return apart(a - b);
      case 1: return apart(a * b);
      default: return apart(maximum(a, b));
    }
  }
  // One place along a dim, with or without the dim, spread where it is used.
  Tensor slice_of(const Tensor& x) {
    const int64_t dim = below(x.dim()), at = below(3) == 0 ? below(x.size(dim)) : 0;
    return below(2) == 0 && dim == 0 ? x.select(0, at) : x.slice(dim, at, at + 1);
  }

  std::vector<std::vector<float>> results() {
    Dims shape;
    for (int64_t dims = 2 + below(2); dims > 0; --dims) shape.push_back(1 + below(5));
    Generator generator(seed);
    const Tensor x = randn(shape, {}, &generator);
    Tensor v = combined(x, reduced(x, below(x.dim())));
    std::vector<Tensor> made{v};
    for (int64_t steps = 1 + below(3); steps > 0; --steps) {
      const Tensor from = made[static_cast<size_t>(below(std::ssize(made)))];
      made.push_back(combined(slice_of(from), below(3) == 0 ? x : made.back()));
      if (below(3) == 0) made.push_back(combined(made.back(), reduced(made.back(), below(made.back().dim()))));
    }
    if (below(2) == 0) {
      Tensor part = slice_of(v);
      part.fill_(0.5);
      apart(v);
    }
    std::vector<std::vector<float>> all;
    for (size_t i = made.size(); i-- > 0;) all.push_back(made[i].to_vector<float>());
    return all;
  }
};

TEST(Spread, SlicesOverTheirWholeAreWhatTheyAreAlone) {
  const std::string device = Device().name();
  const bool compiles_slowly = device.starts_with("opencl") || device.starts_with("vulkan") || device == "cuda";
  for (uint32_t seed = 0; seed < (compiles_slowly ? 10 : 1000); ++seed)
    ASSERT_EQ((SpreadProgram{seed, false}.results()), (SpreadProgram{seed, true}.results())) << "program " << seed;
}

TEST(Spread, TheFirstRowIsNoValuePerRow) {
  const Tensor x = from_vector<float>({1, 2, 3, 5}, {2, 2});
  Tensor v = x - x.sum(0);
  const Tensor r = v.select(0, 0) * v;
  Tensor first = v.select(0, 0);
  first.fill_(0);
  EXPECT_EQ(r.to_vector<float>(), (std::vector<float>{9, 25, 3, 10}));
}

}  // namespace
}  // namespace tenon
