// Every tensor has a gradient of its own, however many of them the same formula gives: equal expressions, views taken
// twice, ops that leave their operand as it is, and what a composition computes inside. Nothing is computed twice for it.

#include "tenon/ir/node.h"
#include "tenon/tensor/access.h"
#include "tests/grad/support.h"

namespace tenon {
namespace {

std::vector<Reals> gradients_of(const Tensor& loss, std::vector<Tensor> inputs) {
  std::vector<Reals> all;
  GradOptions options;
  options.allow_unused = true;
  for (const Tensor& gradient : grad(std::span(&loss, 1), inputs, options))
    all.push_back(gradient.defined() ? reals(gradient) : Reals());
  return all;
}

TEST(OwnGradient, EqualExpressionsHaveOneEach) {
  Tensor x = leaf({1, 2}), y = x * 2, w = x * 2;
  const auto all = gradients_of(sum(y) * 3 + sum(w), {y, w, x});
  EXPECT_EQ(all[0], Reals({3, 3}));
  EXPECT_EQ(all[1], Reals({1, 1}));
  EXPECT_EQ(all[2], Reals({8, 8}));
}

TEST(OwnGradient, EqualViewsHaveOneEach) {
  Tensor x = leaf({1, 2, 3}), first = x.slice(0, 0, 2), second = x.slice(0, 0, 2), turned = x.reshape({3, 1});
  const auto all = gradients_of(sum(first) * 3 + sum(second) + sum(turned.reshape({3})), {first, second, turned});
  EXPECT_EQ(all[0], Reals({3, 3}));
  EXPECT_EQ(all[1], Reals({1, 1}));
  EXPECT_EQ(all[2], Reals({1, 1, 1}));
}

TEST(OwnGradient, StaysAViewsOneWhenValuesAreRead) {
  Tensor x = leaf({1, 2, 3}), y = x * 2, part = y.slice(0, 0, 2), inner = part.reshape({2, 1});
  const Tensor before = sum(inner * 5);
  part.eval();
  inner.eval();
  y.eval();
  const auto all = gradients_of(before + sum(inner), {part, inner, y});
  EXPECT_EQ(all[0], Reals({6, 6}));
  EXPECT_EQ(all[1], Reals({6, 6}));
  EXPECT_EQ(all[2], Reals({6, 6, 0}));
}

TEST(OwnGradient, IsNotThatOfAnOperandLeftAsItIs) {
  Tensor x = leaf({1, 2}), same = x * 1, again = same * 1, y = x * 2, joined = cat({y});
  const auto all = gradients_of(sum(same) * 3 + sum(again) + sum(joined) + sum(y), {same, again, joined, y, x});
  EXPECT_EQ(all[0], Reals({4, 4}));
  EXPECT_EQ(all[1], Reals({1, 1}));
  EXPECT_EQ(all[2], Reals({1, 1}));
  EXPECT_EQ(all[3], Reals({2, 2}));
  EXPECT_EQ(all[4], Reals({8, 8}));
}

TEST(OwnGradient, IsNotThatOfWhatACompositionComputesInside) {
  Tensor x = leaf({0.5, -1});
  for (const bool composed_first : {false, true}) {
    Tensor soft, y;
    if (composed_first) soft = logsumexp(x, -1);
    y = exp(x - amax(x, {-1}, true));
    if (!composed_first) soft = logsumexp(x, -1);
    EXPECT_EQ(gradients_of(sum(y) * 3 + soft, {y})[0], Reals({3, 3})) << composed_first;
  }
}

TEST(OwnGradient, IsNotGivenToATensorRecordedLater) {
  Tensor x = leaf({1, 2}), z;
  {
    Tensor y = x * 2;
    z = sum(y * y);
  }
  Tensor late = x * 2;
  EXPECT_EQ(gradients_of(z, {late})[0], Reals());
  EXPECT_EQ(gradients_of(z + sum(late), {late})[0], Reals({1, 1}));
}

TEST(OwnGradient, IsKeptAndHookedForOneTensorAlone) {
  Tensor x = leaf({1, 2}), y = x * 2, w = x * 2;
  y.retain_grad();
  w.retain_grad();
  Reals seen;
  y.register_hook([&](const Tensor& g) {
    seen = reals(g);
    return Tensor();
  });
  (sum(y) * 3 + sum(w)).backward();
  EXPECT_EQ(seen, Reals({3, 3}));
  EXPECT_EQ(reals(y.grad()), Reals({3, 3}));
  EXPECT_EQ(reals(w.grad()), Reals({1, 1}));
}

TEST(OwnGradient, BelongsToWhatWasCopiedToo) {
  Tensor x = leaf({1, 2}), y = x * 2, held = zeros({2}, DType::f64);
  held.copy_(y);
  const auto all = gradients_of(sum(held) * 3 + sum(y), {held, y});
  EXPECT_EQ(all[0], Reals({3, 3}));
  EXPECT_EQ(all[1], Reals({4, 4}));
}

TEST(OwnGradient, HoldsForEachResultOfAnOp) {
  Tensor x = leaf({3, 1, 2}), y = sort(x).first, w = sort(x).first, again = y * 1;
  const auto all = gradients_of(sum(y) * 3 + sum(w) + sum(again), {y, w, again});
  EXPECT_EQ(all[0], Reals({4, 4, 4}));
  EXPECT_EQ(all[1], Reals({1, 1, 1}));
  EXPECT_EQ(all[2], Reals({1, 1, 1}));
}

TEST(OwnGradient, LeavesNoNodesBehind) {
  const size_t before = ir::live_nodes();
  {
    Tensor x = leaf({1, 2});
    std::vector<Tensor> kept;
    for (int i = 0; i < 100; ++i) kept.push_back(x * 2);
    Tensor total = kept[0];
    for (const Tensor& one : kept) total = total + one * 1;
    sum(total).backward();
    EXPECT_EQ(reals(x.grad()), Reals({202, 202}));
  }
  EXPECT_EQ(ir::live_nodes(), before);
}

}  // namespace
}  // namespace tenon
