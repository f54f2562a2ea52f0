// Functions of many ops that are one node each: recorded once, and otherwise as if their ops were recorded one by one.

#include "tenon/tensor/composed.h"

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;

int recordings = 0;

// x^2 y + sin(x), and y turned.
std::vector<Tensor> plain(std::span<const Tensor> in) {
  ++recordings;
  return {in[0] * in[0] * in[1] + sin(in[0]), in[1].flip({0})};
}
std::vector<Tensor> as_one(const Tensor& x, const Tensor& y, const char* name = "composed_test", int setting = 0) {
  return composed(name, {setting}, std::array{x, y}, plain);
}
Tensor reals(Reals values) { return from_vector(values, {static_cast<int64_t>(values.size())}, Options(DType::f64)); }
Reals read(const Tensor& x) { return x.detach().to_vector<double>(); }

TEST(Composed, IsOneNode) {
  const Tensor x = reals({1, 2}), y = reals({3, 4});
  EXPECT_EQ(value_of(as_one(x, y)[0]).node->op(), ir::Op::composed);
  EXPECT_EQ(value_of(as_one(x, y)[0]).node->inputs().size(), 2u);
}

TEST(Composed, ExtremesAlongADimAreOneNode) {
  const Tensor x = rand({3, 4});
  for (const Tensor& made : {argmax(x, 1, true), argmin(x, 0, true), max(x, 1, true).first, min(x, 1, true).second})
    EXPECT_EQ(value_of(made).node->op(), ir::Op::composed);
}

TEST(Composed, IsRecordedOnceForTypesAndSettings) {
  const char* name = "composed_test.recordings";
  const Tensor x = reals({1, 2});
  const int before = recordings;
  for (int i = 0; i < 3; ++i) as_one(x + i, x, name);
  EXPECT_EQ(recordings, before + 1);
  as_one(x, x, name, 1);
  as_one(reals({1}), reals({1}), name);
  as_one(x.to(DType::f32), x.to(DType::f32), name);
  as_one(reals({1, 2}).requires_grad_(), x, name);
  EXPECT_EQ(recordings, before + 5);
}

TEST(Composed, GivesTheBitsOfItsOps) {
  const Tensor x = rand({3, 70}), y = rand({3, 70}), in[] = {x, y};
  EXPECT_EQ(read(as_one(x, y)[0]), read(plain(in)[0]));
  EXPECT_EQ(read(as_one(x, y)[1]), read(plain(in)[1]));
  EXPECT_EQ(read(as_one(x.t(), y.t())[0] * 2), read(plain(std::array{x.t(), y.t()})[0] * 2));
}

TEST(Composed, HasNumbersThatOthersHaveComputed) {
  const auto plus_number = [](const Tensor& x) {
    const Composed f = [](std::span<const Tensor> in) { return std::vector{in[0] * in[0] + 0.375}; };
    return composed("composed_test.number", {}, std::array{x}, f)[0];
  };
  const Tensor number = full({}, 0.375, Options(DType::f64));
  EXPECT_EQ(number.item<double>(), 0.375);
  EXPECT_EQ(read(plus_number(reals({1}))), Reals({1.375}));
  const Tensor again = full({1}, 0.375, Options(DType::f64)), single = full({}, 0.375, Options(DType::f64));
  wait({again, single, number});
  EXPECT_EQ(read(plus_number(reals({2}))), Reals({4.375}));
}

TEST(Composed, HasGradientsOfEveryOrder) {
  const double at = 0.7, other = 3;
  Tensor x = reals({at}).requires_grad_(), y = reals({other}).requires_grad_();
  const Tensor first = grad(as_one(x, y)[0].sum(), x, true), second = grad(first.sum(), x, true);
  EXPECT_NEAR(read(first)[0], 2 * at * other + std::cos(at), 1e-12);
  EXPECT_NEAR(read(second)[0], 2 * other - std::sin(at), 1e-12);
  EXPECT_NEAR(read(grad(second.sum(), x, true))[0], -std::cos(at), 1e-12);
  EXPECT_NEAR(read(grad(first.sum(), y))[0], 2 * at, 1e-12);
}

TEST(Composed, GivesEachOperandItsGradient) {
  Tensor x = reals({1, 2}).requires_grad_(), y = reals({3, 5}).requires_grad_();
  std::vector<Tensor> made = as_one(x, y);
  made[1].backward(reals({1, 10}));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(read(y.grad()), Reals({10, 1}));
  Tensor both = reals({2}).requires_grad_();
  as_one(both, both)[0].backward(reals({1}));
  EXPECT_NEAR(read(both.grad())[0], 3 * 4 + std::cos(2), 1e-12);
}

TEST(Composed, IsMappedAndDifferentiatedInAMap) {
  Tensor x = reals({1, 2, 3}), y = reals({4, 5, 6});
  const TensorFunction f = [](std::span<const Tensor> in) { return as_one(in[0], in[1]); };
  const Tensor in[] = {x.reshape({3, 1}), y.reshape({3, 1})};
  EXPECT_EQ(read(vmap(f, in)[0]), read(as_one(x, y)[0]));
  const auto first_of = [&](const Tensor& given) { return as_one(given, y)[0]; };
  const Reals all = read(autograd::jacobian(first_of, x));
  for (size_t i = 0; i < 3; ++i) {
    const double at = static_cast<double>(i) + 1;
    EXPECT_NEAR(all[4 * i], 2 * at * (at + 3) + std::cos(at), 1e-12);
  }
}

TEST(Composed, IsCaptured) {
  const Tensor x = rand({33}), y = rand({33});
  auto f = compile([](const Tensor& a, const Tensor& b) { return as_one(a, b)[0] * 2; });
  const Reals wanted = read(as_one(x, y)[0] * 2);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(read(f(x, y)), wanted);
}

}  // namespace
}  // namespace tenon
