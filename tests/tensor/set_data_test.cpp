// Tensors that are given other data: who sees what afterwards. This is how parameters move into one flat arena.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

Floats values(const Tensor& x) { return x.detach().to_vector<float>(); }

TEST(SetData, AllHandlesSeeTheNewValue) {
  Tensor x = tensor({1.0, 2.0});
  const Tensor other = x;
  x.set_data(tensor({3.0, 4.0, 5.0}));
  EXPECT_EQ(values(other), (Floats{3, 4, 5}));
  EXPECT_EQ(other.shape(), (Dims{3}));
}

TEST(SetData, ALeafStaysALeafWithItsGradient) {
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  sum(p * 3).backward();
  p.set_data(tensor({5.0, 6.0}));
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(p.is_leaf());
  EXPECT_EQ(values(p.grad()), (Floats{3, 3}));
  sum(p * p).backward();
  EXPECT_EQ(values(p.grad()), (Floats{13, 15}));
}

TEST(SetData, ATensorThatDoesNotRequireGradStaysOne) {
  Tensor x = zeros({2});
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  x.set_data(p * 2);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_EQ(values(x), (Floats{2, 4}));
}

TEST(SetData, GraphsRecordedBeforeKeepTheOldValue) {
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  Tensor loss = sum(p * p);
  p.set_data(tensor({10.0, 20.0}));
  EXPECT_EQ(loss.item<float>(), 5);
  loss.backward();
  EXPECT_EQ(values(p.grad()), (Floats{2, 4}));
}

TEST(SetData, ViewsTakenBeforeKeepTheOldMemory) {
  Tensor x = tensor({1.0, 2.0, 3.0}).eval();
  Tensor tail = x.slice(0, 1);
  x.set_data(tensor({7.0, 8.0, 9.0}));
  tail.add_(10);
  EXPECT_EQ(values(tail), (Floats{12, 13}));
  EXPECT_EQ(values(x), (Floats{7, 8, 9}));
  x.add_(1);
  EXPECT_EQ(values(tail), (Floats{12, 13}));
}

TEST(SetData, AWriteThatNobodyHasAskedForReachesTheViewsTakenBefore) {
  Tensor x = tensor({1.0, 2.0, 3.0}).eval();
  const Tensor tail = x.slice(0, 1);
  x.add_(1);
  x.set_data(zeros({3}));
  EXPECT_EQ(values(x + 1), (Floats{1, 1, 1}));
  EXPECT_EQ(values(tail), (Floats{3, 4}));
}

TEST(SetData, MemoryIsSharedWithTheGivenTensor) {
  Tensor x = zeros({2}), data = tensor({1.0, 2.0}).eval();
  x.set_data(data);
  data.add_(1);
  EXPECT_EQ(values(x), (Floats{2, 3}));
  x.mul_(10);
  EXPECT_EQ(values(data), (Floats{20, 30}));
}

TEST(SetData, ATensorMayBeGivenAViewOfItself) {
  Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}).eval();
  x.set_data(x.t());
  EXPECT_EQ(values(x), (Floats{1, 3, 2, 4}));
  x.set_data(x.select(0, 1));
  EXPECT_EQ(values(x), (Floats{2, 4}));
  x.add_(1);
  EXPECT_EQ(values(x), (Floats{3, 5}));
  x.set_data(x);
  EXPECT_EQ(values(x), (Floats{3, 5}));
}

TEST(SetData, ALeafMayBeGivenAViewOfItself) {
  Tensor p = tensor({1.0, 2.0, 3.0}).requires_grad_();
  p.set_data(p.slice(0, 1));
  sum(p * p).backward();
  EXPECT_EQ(values(p.grad()), (Floats{4, 6}));
}

class Arena : public testing::Test {
 protected:
  Arena() {
    NoGrad moving;
    arena = cat({w.detach().flatten(), b.detach().flatten()}).eval();
    w.set_data(arena.slice(0, 0, 4).reshape({2, 2}));
    b.set_data(arena.slice(0, 4, 6));
  }
  Tensor w = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_(), b = tensor({5.0, 6.0}).requires_grad_();
  Tensor arena;
};

TEST_F(Arena, ParametersShowTheirSlices) {
  EXPECT_EQ(values(w), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(values(b), (Floats{5, 6}));
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
  EXPECT_FALSE(arena.requires_grad());
}

TEST_F(Arena, AWriteToTheArenaIsSeenByTheParameters) {
  arena.mul_(10);
  EXPECT_EQ(values(w), (Floats{10, 20, 30, 40}));
  EXPECT_EQ(values(b), (Floats{50, 60}));
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
}

TEST_F(Arena, AWriteToAParameterIsSeenByTheArena) {
  NoGrad writing;
  w.add_(1);
  b.fill_(0);
  EXPECT_EQ(values(arena), (Floats{2, 3, 4, 5, 0, 0}));
}

TEST_F(Arena, AWriteToAParameterNeedsNoGrad) {
  EXPECT_EQ(text_of([&] { w.add_(1); }),
            "[write] a leaf that requires grad cannot be written in place; put the update under NoGrad");
}

TEST_F(Arena, GradientsReachTheParameters) {
  sum(matmul(tensor({{1.0, 2.0}}), w) + b).backward();
  EXPECT_EQ(values(w.grad()), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(values(b.grad()), (Floats{1, 1}));
  arena.mul_(2);
  sum(w * w).backward();
  EXPECT_EQ(values(w.grad()), (Floats{5, 9, 14, 18}));
  EXPECT_FALSE(arena.grad().defined());
}

TEST_F(Arena, AGraphKeepsTheValueBeforeTheUpdate) {
  Tensor loss = sum(w * w);
  arena.zero_();
  EXPECT_EQ(loss.item<float>(), 30);
  loss.backward();
  EXPECT_EQ(values(w.grad()), (Floats{2, 4, 6, 8}));
}

TEST_F(Arena, ViewsOfAParameterFollowTheArenaAndLeadGradientsToIt) {
  const Tensor row = w.select(0, 1);
  arena.add_(1);
  EXPECT_EQ(values(row), (Floats{4, 5}));
  sum(row * row).backward();
  EXPECT_EQ(values(w.grad()), (Floats{0, 0, 8, 10}));
}

TEST_F(Arena, AParameterMayMoveToAnotherArena) {
  const Tensor row = w.select(0, 0);
  Tensor second = cat({w.detach().flatten(), ones({2})}).eval();
  w.set_data(second.slice(0, 0, 4).reshape({2, 2}));
  second.add_(100);
  arena.zero_();
  EXPECT_EQ(values(w), (Floats{101, 102, 103, 104}));
  EXPECT_EQ(values(row), (Floats{0, 0})) << "a view of where the parameter was";
  EXPECT_EQ(values(b), (Floats{0, 0}));
}

TEST_F(Arena, ParametersCanBeFrozenAndThawed) {
  w.requires_grad_(false);
  arena.add_(1);
  EXPECT_FALSE(w.requires_grad());
  EXPECT_EQ(values(w), (Floats{2, 3, 4, 5}));
  w.requires_grad_();
  sum(w * 2).backward();
  EXPECT_EQ(values(w.grad()), (Floats{2, 2, 2, 2}));
}

TEST_F(Arena, ACapturedStepThatWritesTheArenaIsAnUncapturedOne) {
  const Tensor x = tensor({{1.0, -1.0}}).eval();
  Tensor copy_w = w.detach().clone().eval(), copy_b = b.detach().clone().eval();
  copy_w.requires_grad_();
  copy_b.requires_grad_();
  auto step = compile([&](const Tensor& in) {
    Tensor loss = sum(square(matmul(in, w) + b));
    loss.backward();
    NoGrad updating;
    arena.sub_(cat({w.grad().flatten(), b.grad().flatten()}) * 0.05);
    w.zero_grad();
    b.zero_grad();
    return loss;
  });
  for (int i = 0; i < 6; ++i) {
    Tensor loss = sum(square(matmul(x, copy_w) + copy_b));
    loss.backward();
    {
      NoGrad updating;
      copy_w.sub_(copy_w.grad() * 0.05);
      copy_b.sub_(copy_b.grad() * 0.05);
    }
    copy_w.zero_grad();
    copy_b.zero_grad();
    EXPECT_EQ(step(x).item<float>(), loss.item<float>()) << i;
    EXPECT_EQ(values(w), values(copy_w)) << i;
    EXPECT_EQ(values(b), values(copy_b)) << i;
  }
  EXPECT_EQ(step.recordings(), 1u);
}

TEST(SetData, AnotherDtypeDropsTheGradient) {
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  sum(p * 3).backward();
  p.set_data(p.detach().to(DType::bf16));
  EXPECT_EQ(p.dtype(), DType::bf16);
  EXPECT_FALSE(p.grad().defined());
  sum(p * p).backward();
  EXPECT_EQ(p.grad().dtype(), DType::bf16);
  EXPECT_EQ(values(p.grad()), (Floats{2, 4}));
}

TEST(SetData, AGraphOfTheOldTypeLeavesTheNewGradientAlone) {
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  Tensor loss = sum(p * 3);
  p.set_data(ones({3}));
  loss.backward();
  EXPECT_FALSE(p.grad().defined());
}

TEST(SetData, ACapturedFunctionNoticesOtherData) {
  Tensor w = tensor({1.0, 2.0}).eval(), arena = zeros({4}).clone().eval();
  auto twice = compile([&](const Tensor& x) { return x * w; });
  const Tensor x = ones({2}).eval();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values(twice(x)), (Floats{1, 2}));
  w.set_data(arena.slice(0, 0, 2));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values(twice(x)), (Floats{0, 0}));
  w.set_data(arena.slice(0, 2, 4));
  arena.slice(0, 3, 4).fill_(5);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values(twice(x)), (Floats{0, 5}));
}

TEST(SetData, WhatCannotBeGivenOtherDataSaysWhy) {
  Tensor p = ones({2}).requires_grad_(), product = p * 2, undefined;
  EXPECT_EQ(text_of([&] { product.set_data(ones({2})); }),
            "[set_data] only leaves can be given other data; this tensor is the result of an op");
  EXPECT_EQ(text_of([&] {
              p.set_data(tensor({1, 2}));
            }),
            "[set_data] a tensor that requires grad holds floating-point values, got i64");
  EXPECT_EQ(text_of([&] { p.set_data(undefined); }), "[tensor] this tensor is undefined; assign one before using it");
  auto inside = compile([&](const Tensor& x) {
    p.set_data(x);
    return x * 1;
  });
  EXPECT_EQ(text_of([&] { inside(ones({2})); }),
            "[set_data] a tensor cannot be given other data inside a captured function");
  EXPECT_EQ(values(p), (Floats{1, 1}));
}

}  // namespace
}  // namespace tenon
