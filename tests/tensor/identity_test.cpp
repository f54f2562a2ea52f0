// Every op gives a tensor of its own: whether it shares memory, is a leaf or holds a gradient is decided by the op
// alone, never by what the graph made of it. The list of what shares memory is PyTorch's, but for one case.

#include <cmath>
#include <functional>

#include "tenon/nn/functional.h"
#include "tenon/tensor/access.h"
#include "tests/error_text.h"
#include "tests/tensor/views.h"

namespace tenon {
namespace {

struct Case {
  const char* name;
  bool shares;
  std::function<Tensor(const Tensor&)> op;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"x * 1", false, [](const Tensor& x) { return x * 1; }},
      {"x / 1", false, [](const Tensor& x) { return x / 1; }},
      {"pow(x, 1)", false, [](const Tensor& x) { return pow(x, 1); }},
      {"-(-x)", false, [](const Tensor& x) { return -(-x); }},
      {"x + 0", false, [](const Tensor& x) { return x + 0; }},
      {"x - 0", false, [](const Tensor& x) { return x - 0; }},
      {"cat({x})", false, [](const Tensor& x) { return cat({x}); }},
      {"stack({x})", false, [](const Tensor& x) { return stack({x}).reshape(x.shape()); }},
      {"pad 0", false,
       [](const Tensor& x) {
         return pad(x, {0, 0});
       }},
      {"flip", false, [](const Tensor& x) { return flip(flip(x, {0}), {0}); }},
      {"flip of size 1", false, [](const Tensor& x) { return flip(x.unsqueeze(0), {0}).squeeze(0); }},
      {"roll 0", false, [](const Tensor& x) { return roll(x, 0, 0); }},
      {"repeat 1", false, [](const Tensor& x) { return repeat(x, {1}); }},
      {"clamp", false, [](const Tensor& x) { return clamp(x, -1e30, 1e30); }},
      {"maximum(x, x)", false, [](const Tensor& x) { return maximum(x, x); }},
      {"where(true, x, x)", false, [](const Tensor& x) { return where(ones({3}, DType::boolean), x, x); }},
      {"masked_fill of nothing", false, [](const Tensor& x) { return x.masked_fill(zeros({3}, DType::boolean), 5); }},
      {"abs", false, [](const Tensor& x) { return abs(x); }},
      {"clone", false, [](const Tensor& x) { return x.clone(); }},
      {"sum over one", false, [](const Tensor& x) { return x.unsqueeze(0).sum({0}); }},
      {"mean over one", false, [](const Tensor& x) { return x.unsqueeze(0).mean({0}); }},
      {"amax over one", false, [](const Tensor& x) { return x.unsqueeze(0).amax({0}); }},
      {"cumsum over one", false, [](const Tensor& x) { return cumsum(x.unsqueeze(0), 0).squeeze(0); }},
      {"x[0, 1, 2]", false,
       [](const Tensor& x) {
         return x.index({tensor({0, 1, 2})});
       }},
      {"gather", false,
       [](const Tensor& x) {
         return gather(x, 0, tensor({0, 1, 2}));
       }},
      {"tril", false, [](const Tensor& x) { return tril(x.unsqueeze(1)).squeeze(1); }},
      {"einsum(i->i)", false, [](const Tensor& x) { return einsum("i->i", {x}); }},  // PyTorch happens to give a view
      {"sum of a number", false,
       [](const Tensor& x) {
         return stack({x[0].sum(), x[1].sum(), x[2].sum()});
       }},
      {"expand", true, [](const Tensor& x) { return x.expand(x.shape()); }},
      {"reshape", true, [](const Tensor& x) { return x.reshape(x.shape()); }},
      {"view", true, [](const Tensor& x) { return x.view({3}); }},
      {"flatten", true, [](const Tensor& x) { return x.flatten(); }},
      {"squeeze", true, [](const Tensor& x) { return x.squeeze(); }},
      {"permute", true, [](const Tensor& x) { return x.permute({0}); }},
      {"narrow", true, [](const Tensor& x) { return x.narrow(0, 0, 3); }},
      {"slice", true, [](const Tensor& x) { return x.slice(0); }},
      {"split", true, [](const Tensor& x) { return x.split({3})[0]; }},
      {"chunk", true, [](const Tensor& x) { return x.chunk(1)[0]; }},
      {"contiguous", true, [](const Tensor& x) { return x.contiguous(); }},
      {"to(f32)", true, [](const Tensor& x) { return x.to(DType::f32); }},
      {"dropout 0", true, [](const Tensor& x) { return nn::dropout(x, 0.0, true); }},
      {"dropout in eval", true, [](const Tensor& x) { return nn::dropout(x, 0.5, false); }}};
  return all;
}

TEST(Identity, AnOpSharesMemoryWhereItDoesInPyTorch) {
  for (const Case& one : cases()) {
    for (const bool read_before : {false, true}) {
      Tensor x = tensor<float>({1, 2, 3});
      if (read_before) x.to_vector<float>();
      Tensor y = one.op(x);
      if (read_before) y.to_vector<float>();
      y.add_(10);
      EXPECT_EQ(reals(y), (Reals{11, 12, 13})) << one.name;
      EXPECT_EQ(reals(x), one.shares ? (Reals{11, 12, 13}) : (Reals{1, 2, 3})) << one.name << " read " << read_before;
    }
  }
}

TEST(Identity, AResultOfAnOpIsNoLeaf) {
  for (const Case& one : cases()) {
    Tensor x = tensor<float>({1, 2, 3}).requires_grad_();
    Tensor y = one.op(x);
    if (impl_of(y) == impl_of(x)) continue;  // the tensor itself, as in PyTorch
    EXPECT_TRUE(y.requires_grad()) << one.name;
    EXPECT_FALSE(y.is_leaf()) << one.name;
    EXPECT_FALSE(y.grad().defined()) << one.name;
    x.set_grad(ones({3}));
    y.zero_grad();
    EXPECT_TRUE(x.grad().defined()) << one.name;
    EXPECT_NE(text_of([&] { y.set_grad(ones({3})); }), "nothing was thrown") << one.name;
    EXPECT_NE(text_of([&] { y.requires_grad_(false); }), "nothing was thrown") << one.name;
  }
}

TEST(Identity, WritingAResultKeepsItsGradient) {
  for (const Case& one : cases()) {
    if (one.shares) continue;
    Tensor x = tensor<float>({1, 2, 3}).requires_grad_();
    Tensor y = one.op(x);
    Tensor factor = ones({3}).requires_grad_();
    sum(y * factor).backward();
    const Reals of_op = reals(x.grad());
    x.zero_grad();
    y = one.op(x);
    y.add_(x);  // tracked
    sum(y).backward();
    Reals expected = of_op;
    for (double& value : expected) value += 1;
    EXPECT_EQ(reals(x.grad()), expected) << one.name;
    EXPECT_EQ(reals(x.detach()), (Reals{1, 2, 3})) << one.name;
  }
}

TEST(Identity, ANumberReducedIsANumberOfItsOwn) {
  const auto ops = {+[](const Tensor& x) { return x.sum(); }, +[](const Tensor& x) { return x.mean(); },
                    +[](const Tensor& x) { return prod(x); }, +[](const Tensor& x) { return x.amax({}); },
                    +[](const Tensor& x) { return x.max(); }, +[](const Tensor& x) { return logsumexp(x, {}); }};
  for (const auto& op : ops) {
    Tensor x = scalar(2.0).requires_grad_();
    Tensor y = op(x);
    EXPECT_FALSE(y.is_leaf());
    y.add_(x);
    y.backward();
    EXPECT_EQ(x.grad().item<double>(), 2);
    EXPECT_EQ(x.detach().item<double>(), 2);
  }
}

TEST(Identity, AViewThatShowsEverythingIsAViewAllTheSame) {
  Tensor x = ones({3});
  Tensor y = x.squeeze(0);
  y.requires_grad_();
  EXPECT_FALSE(x.requires_grad());
  Tensor nothing = zeros({0, 2});
  Tensor made = softmax(nothing, 1);
  made.requires_grad_();
  EXPECT_FALSE(nothing.requires_grad());
}

TEST(Identity, SoftmaxOfANumberIsAFunctionOfIt) {
  Tensor x = scalar(2.0).requires_grad_();
  Tensor y = softmax(x, 0) + log_softmax(x, -1);
  EXPECT_EQ(y.item<double>(), 1);
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 0);
  EXPECT_TRUE(std::isnan(softmax(scalar(std::nan("")), 0).item<double>()));
}

TEST(Identity, GradientsAreNotWrittenIntoWhatIsCutFromThem) {
  Tensor w = tensor<float>({2, 3}).requires_grad_(), x = tensor<float>({4, 5});
  Tensor y = x.detach();
  EXPECT_EQ(
      text_of([&] { y.mul_(w); }),
      "[write] values that need gradients are written into a tensor that is cut from them (detach(), or a view made "
      "under NoGrad); clone() it first");
  Tensor z = x.detach().clone();
  z.mul_(w);
  z.sum().backward();
  EXPECT_EQ(reals(w.grad()), (Reals{4, 5}));
}

// ---- assignment to what has no name ----

TEST(Identity, AnElementAndASliceCanBeAssigned) {
  Tensor z = counting({3, 2});
  z[1] = tensor({7, 8});
  EXPECT_EQ(wholes(z), Wholes({0, 1, 7, 8, 4, 5}));
  z.slice(0, 0, 1) = 9;
  EXPECT_EQ(wholes(z), Wholes({9, 9, 7, 8, 4, 5}));
  z[2] = z[1];
  EXPECT_EQ(wholes(z), Wholes({9, 9, 7, 8, 7, 8}));
  z.t()[0] = -1;
  EXPECT_EQ(wholes(z), Wholes({-1, 9, -1, 8, -1, 8}));
  z[0][1] = 3;
  EXPECT_EQ(wholes(z), Wholes({-1, 3, -1, 8, -1, 8}));
  Tensor named = z[0];
  named = tensor({5, 5});  // a name is given another tensor
  EXPECT_EQ(wholes(z), Wholes({-1, 3, -1, 8, -1, 8}));
}

// ---- one rule for views ----

TEST(Identity, ContiguousCopiesOnlyWhatIsNot) {
  for (const bool read_before : {false, true}) {
    Tensor x = counting({4, 3});
    const Tensor rows = x.slice(0, 1, 3), columns = x.slice(1, 0, 2), turned = x.t();
    if (read_before) {
      for (const Tensor& one : {x, rows, columns, turned}) one.to_vector<int64_t>();
    }
    rows.contiguous().fill_(-1);
    columns.contiguous().fill_(-2);
    turned.contiguous().fill_(-3);
    EXPECT_EQ(wholes(x), Wholes({0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11})) << read_before;
    EXPECT_EQ(wholes(turned.contiguous()), wholes(turned));
  }
}

TEST(Identity, ReshapeSharesWhereStridesAllow) {
  for (const bool read_before : {false, true}) {
    Tensor x = counting({4, 3});
    if (read_before) x.to_vector<int64_t>();
    x.slice(0, 1, 3).reshape({6}).fill_(-1);
    EXPECT_EQ(wholes(x), Wholes({0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11}));
    x.t().reshape({12}).fill_(5);  // a copy
    EXPECT_EQ(wholes(x), Wholes({0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11}));
  }
}

TEST(Identity, WhatCannotBeViewedIsRefused) {
  Tensor x = counting({2, 3});
  EXPECT_EQ(text_of([&] { x.t().view({6}); }),
            "[view] no strides show (3, 2) of this layout as (6,) without a copy; use reshape()");
  EXPECT_EQ(wholes(x.view({3, 2})), wholes(x));
  EXPECT_EQ(wholes(x.t().view({3, 1, 2})), wholes(x.t()));
  EXPECT_EQ(zeros({0, 3}).t().view({0}).numel(), 0);
}

TEST(Identity, EmptyTensorsCanBeWritten) {
  Tensor x = zeros({2, 0});
  x.add_(1);
  x.fill_(3);
  x.slice(0, 0, 1).copy_(zeros({1, 0}));
  EXPECT_EQ(x.numel(), 0);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>{});
}

}  // namespace
}  // namespace tenon
