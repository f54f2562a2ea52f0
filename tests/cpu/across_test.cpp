// Sums over an axis that lies apart, in chains and one instruction after the other: the same bits.

#include <gtest/gtest.h>

#include <array>

#include "tenon/tenon.h"

namespace tenon {
namespace {

// Coordinates lie in one piece each, so that vectors run along the second points.
Tensor squares(const Tensor& a, const Tensor& b) {
  const Tensor difference = a.t().unsqueeze(1) - b.t().unsqueeze(0);
  return sum(difference * difference, {2});
}

// A value that is read twice, a number for all, and two sums at once.
Tensor moments(const Tensor& a, const Tensor& b) {
  const Tensor x = (a.t().unsqueeze(1) * 3.0 + b.t().unsqueeze(0)) * b.t().unsqueeze(0);
  return sum(x * x + x, {2}) / (sum(x, {2}) + 100.0);
}

TEST(Across, ChainsGiveTheBitsOfSingleInstructions) {
  const Device plain("cpu_unfused");
  for (const auto& [coordinates, first, second] : std::vector<std::array<int64_t, 3>>{
           {3, 100, 100}, {1, 5, 128}, {17, 9, 129}, {64, 3, 700}, {40, 2, 31}, {9000, 1, 33}}) {
    const Tensor a = rand({coordinates, first}), b = rand({coordinates, second});
    for (const auto f : {squares, moments}) {
      const auto fused = f(a, b).to_vector<float>(), alone = f(a.to(plain), b.to(plain)).to_vector<float>();
      EXPECT_EQ(fused, alone) << coordinates << " coordinates of " << first << " and " << second << " points";
    }
  }
}

}  // namespace
}  // namespace tenon
