// Jacobians, Hessians and their products; vmap() of functions with gradients, shapes, random numbers, and what it
// refuses.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Xs = std::span<const Tensor>;
using Tensors = std::vector<Tensor>;

Tensor drawn(const Dims& shape, uint64_t seed = 1) {
  Generator generator(seed);
  return randn(shape, DType::f64, &generator);
}

double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return (a - b).abs().max().item<double>();
}

/// Columns of differences.
Tensor slopes_by_differences(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  Tensors columns;
  for (int64_t i = 0; i < at.numel(); ++i) {
    Tensor step = zeros({at.numel()}, DType::f64);
    step[i] = 1e-5;
    step = step.reshape(at.shape());
    columns.push_back((f(at + step) - f(at - step)) / 2e-5);
  }
  Dims shape = columns[0].shape();
  for (const int64_t size : at.shape()) shape.push_back(size);
  return stack(columns, -1).reshape(shape);
}

Tensor curved(const Tensor& x) { return (x.sin() * x.flip({0}).exp()).cumsum(0); }
Tensor number_of(const Tensor& x) { return (x.sin() * x.flip({0}).exp()).sum() * x.prod(); }

// ---- derivatives ----

TEST(Jacobian, IsThatOfDifferences) {
  const Tensor x = drawn({4});
  EXPECT_LT(distance(autograd::jacobian(curved, x), slopes_by_differences(curved, x)), 1e-8);
}

TEST(Jacobian, HasTheShapesOfResultAndInput) {
  const TensorFunction f = [](Xs in) { return Tensors{matmul(in[0], in[1]), in[1].sum()}; };
  const Tensor a = drawn({2, 3}), b = drawn({3, 5}, 2);
  const auto J = autograd::jacobian(f, Tensors{a, b});
  EXPECT_EQ(J[0][0].shape(), (Dims{2, 5, 2, 3}));
  EXPECT_EQ(J[0][1].shape(), (Dims{2, 5, 3, 5}));
  EXPECT_EQ(J[1][0].shape(), (Dims{2, 3}));
  EXPECT_EQ(distance(J[1][0], zeros({2, 3}, DType::f64)), 0);
  EXPECT_EQ(distance(J[1][1], ones({3, 5}, DType::f64)), 0);
  EXPECT_EQ(distance(J[0][0].select(0, 1).select(0, 4).select(0, 1), b.select(1, 4)), 0);
}

TEST(Jacobian, GoesRowByRowWhereAnOpHasNoRule) {
  nn::RNN rnn(2, 3);
  rnn.to(DType::f64);
  const Tensor x = drawn({4, 1, 2});
  const auto f = [&](const Tensor& in) { return rnn.forward(in).y; };
  EXPECT_LT(distance(autograd::jacobian(f, x), slopes_by_differences(f, x)), 1e-8);
}

TEST(Jacobian, HasGradientsWhereAskedFor) {
  const Tensor x = drawn({3}).requires_grad_();
  EXPECT_FALSE(autograd::jacobian(curved, x).requires_grad());
  EXPECT_TRUE(gradcheck([](const Tensor& at) { return autograd::jacobian(curved, at, {true, false}); }, x));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Jacobian, OfAResultThatDoesNotDependOnAnInputIsZeroOrAnError) {
  const auto f = [](const Tensor&) { return ones({2}, DType::f64); };
  EXPECT_EQ(distance(autograd::jacobian(f, drawn({3})), zeros({2, 3}, DType::f64)), 0);
  EXPECT_EQ(text_of([&] {
              autograd::jacobian(f, drawn({3}), {false, true});
            }),
            "[jacobian] result 0 does not depend on input 0");
}

TEST(Hessian, IsThatOfDifferences) {
  const Tensor x = drawn({4});
  const auto slope = [](const Tensor& at) { return autograd::jacobian(number_of, at); };
  const Tensor H = autograd::hessian(number_of, x);
  EXPECT_LT(distance(H, slopes_by_differences(slope, x)), 1e-7);
  EXPECT_LT(distance(H, H.t()), 1e-12);
}

TEST(Hessian, OfTwoInputsHasMixedBlocks) {
  const TensorFunction f = [](Xs in) { return Tensors{(in[0] * in[0]).sum() * in[1].sum()}; };
  const auto H = autograd::hessian(f, Tensors{drawn({2}), drawn({3}, 2)});
  EXPECT_EQ(H[0][1].shape(), (Dims{2, 3}));
  EXPECT_LT(distance(H[0][1], H[1][0].t()), 1e-12);
  EXPECT_EQ(distance(H[1][1], zeros({3, 3}, DType::f64)), 0);
}

TEST(Hessian, NeedsASingleNumber) {
  EXPECT_EQ(text_of([] { autograd::hessian(curved, drawn({3})); }),
            "[hessian] the function must give a single number, it gives shape (3,)");
}

TEST(Products, AreThoseOfTheWholeMatrices) {
  const TensorFunction f = [](Xs in) { return Tensors{curved(in[0])}; };
  const TensorFunction g = [](Xs in) { return Tensors{number_of(in[0])}; };
  const Tensor x = drawn({4}), v = drawn({4}, 2), J = autograd::jacobian(curved, x);
  EXPECT_LT(distance(autograd::jvp(f, {&x, 1}, {&v, 1}).products[0], mv(J, v)), 1e-12);
  EXPECT_LT(distance(autograd::vjp(f, {&x, 1}, {&v, 1}).products[0], mv(J.t(), v)), 1e-12);
  EXPECT_LT(distance(autograd::hvp(g, {&x, 1}, {&v, 1}).products[0], mv(autograd::hessian(number_of, x), v)), 1e-10);
  EXPECT_EQ(distance(autograd::jvp(f, {&x, 1}, {&v, 1}).outputs[0], curved(x)), 0);
}

TEST(Products, AreZeroWhereNothingDepends) {
  const TensorFunction constant = [](Xs) { return Tensors{ones({2}, DType::f64)}; };
  const TensorFunction linear = [](Xs in) { return Tensors{in[0].sum()}; };
  const Tensor x = drawn({3}), w = drawn({2});
  EXPECT_EQ(distance(autograd::jvp(constant, {&x, 1}, {&x, 1}).products[0], zeros({2}, DType::f64)), 0);
  EXPECT_EQ(distance(autograd::vjp(constant, {&x, 1}, {&w, 1}).products[0], zeros({3}, DType::f64)), 0);
  EXPECT_EQ(distance(autograd::hvp(linear, {&x, 1}, {&x, 1}).products[0], zeros({3}, DType::f64)), 0);
}

TEST(Products, NameVectorsThatDoNotFit) {
  const TensorFunction f = [](Xs in) { return Tensors{curved(in[0])}; };
  const Tensor x = drawn({4}), v = drawn({3});
  EXPECT_EQ(text_of([&] { autograd::jvp(f, {&x, 1}, {&v, 1}); }), "[jvp] v has shape (3,) where input 0 has (4,)");
  EXPECT_EQ(text_of([&] { autograd::vjp(f, {&x, 1}); }), "[vjp] v may be left out for a single number only; pass it");
  const Tensor whole = ones({2}, DType::i64);
  EXPECT_EQ(text_of([&] { autograd::jvp(f, {&whole, 1}); }), "[jvp] takes inputs of real numbers, got i64");
}

// ---- vmap ----

TEST(Vmap, IsTheFunctionOfEveryExample) {
  const Tensor x = drawn({5, 4});
  Tensors rows;
  for (const Tensor& row : x.unbind(0)) rows.push_back(curved(row));
  EXPECT_LT(distance(vmap(curved, x), stack(rows)), 1e-14);
}

TEST(Vmap, TakesAndGivesExamplesAlongAnyDim) {
  const Tensor x = drawn({4, 5});
  EXPECT_LT(distance(vmap(curved, x, 1, -1), vmap(curved, x.t()).t()), 1e-14);
  const Tensor w = drawn({4, 2}, 2);
  const TensorFunction product = [](Xs in) { return Tensors{matmul(in[0], in[1])}; };
  EXPECT_LT(distance(vmap(product, Tensors{x.t(), w}, {{0, std::nullopt}, {1}, false, {}})[0], matmul(x.t(), w).t()),
            1e-14);
}

TEST(Vmap, GivesWhatDoesNotDependOnExamplesToEachOfThem) {
  const Tensor x = drawn({5, 4});
  EXPECT_EQ(vmap([](const Tensor&) { return ones({2}); }, x).shape(), (Dims{5, 2}));
}

TEST(Vmap, MayBeNested) {
  const Tensor x = drawn({3, 4}), y = drawn({5, 4}, 2);
  const TensorFunction outer = [&](Xs in) {
    const Tensor of_x = in[0];
    return Tensors{vmap([&](const Tensor& of_y) { return dot(of_x, of_y); }, y)};
  };
  EXPECT_LT(distance(vmap(outer, {&x, 1})[0], matmul(x, y.t())), 1e-14);
}

TEST(Vmap, InChunksGivesTheSame) {
  const Tensor x = drawn({7, 4});
  const TensorFunction f = [](Xs in) { return Tensors{curved(in[0])}; };
  EXPECT_LT(distance(vmap(f, {&x, 1}, {{}, {}, false, 3})[0], vmap(curved, x)), 1e-14);
}

TEST(Vmap, GivesGradientsOfEveryExample) {
  const Tensor w = drawn({4}, 3).requires_grad_(), x = drawn({6, 4});
  const auto gradient = [&](const Tensor& row) { return grad((row * w).sin().sum(), w); };
  Tensors rows;
  for (const Tensor& row : x.unbind(0)) rows.push_back(gradient(row));
  EXPECT_LT(distance(vmap(gradient, x), stack(rows)), 1e-14);
}

TEST(Vmap, HasGradients) {
  const Tensor w = drawn({4, 4}, 3).requires_grad_(), x = drawn({3, 4}).requires_grad_();
  const auto f = [](Xs in) {
    const Tensor shared = in[1];
    return vmap([&](const Tensor& row) { return softmax(matmul(row, shared), 0).lgamma() + row.logsumexp(0); }, in[0]);
  };
  EXPECT_TRUE(gradcheck(f, Tensors{x, w}));
}

TEST(Vmap, WritesInPlaceWhatItMadeItself) {
  const Tensor x = drawn({3, 4});
  const Tensor got = vmap(
      [](const Tensor& row) {
        Tensor own = row * 2;
        own[1] = row[0];
        own += 1;
        return own;
      },
      x);
  Tensor wanted = x * 2;
  wanted.slice(1, 1, 2) = x.slice(1, 0, 1);
  EXPECT_LT(distance(got, wanted + 1), 1e-14);
}

TEST(Vmap, IsCaptured) {
  const Tensor x = drawn({3, 4});
  auto step = compile([](const Tensor& given) { return vmap(curved, given); });
  for (int i = 0; i < 4; ++i) EXPECT_LT(distance(step(x + i), vmap(curved, x + i)), 1e-14);
}

TEST(Vmap, DrawsTheSameForAllExamplesOrRefuses) {
  const Tensor x = drawn({3, 4});
  const TensorFunction noisy = [](Xs in) { return Tensors{in[0] + rand_like(in[0])}; };
  EXPECT_EQ(
      text_of([&] {
        vmap(noisy, {&x, 1});
      }),
      "[vmap] the function draws random numbers; with randomness='same' (same_randomness) all examples get the same");
  const Tensor noise = vmap(noisy, {&x, 1}, {{}, {}, true, {}})[0] - x;
  EXPECT_LT(distance(noise[0], noise[2]), 1e-14);
}

TEST(Vmap, OfNoExamplesGivesNone) {
  EXPECT_EQ(vmap(curved, zeros({0, 4}, DType::f64)).shape(), (Dims{0, 4}));
  const Tensor images = zeros({0, 1, 2, 5, 5}), weights = zeros({0, 3, 2, 3, 3});
  const TensorFunction f = [](Xs in) { return Tensors{nn::conv2d(in[0], in[1])}; };
  EXPECT_EQ(vmap(f, Tensors{images, weights})[0].shape(), (Dims{0, 1, 3, 3, 3}));
}

TEST(Vmap, RefusesByName) {
  const Tensor x = drawn({3, 4});
  const auto refusal = [&](const std::function<Tensor(const Tensor&)>& f) { return text_of([&] { vmap(f, x); }); };
  Tensor outside = zeros({4}, DType::f64);
  const Tensor leaf = zeros({4}, DType::f64).requires_grad_();
  EXPECT_EQ(refusal([](const Tensor& row) { return row * row.sum().item<double>(); }),
            "[vmap] a value cannot be computed inside a function that vmap() maps; return it and read it outside");
  EXPECT_EQ(
      refusal([&](const Tensor& row) { return outside.add_(row); }),
      "[vmap] a tensor from outside, or an argument, is written inside a function that vmap() maps; write a clone()");
  EXPECT_EQ(refusal([&](const Tensor& row) {
              (row * leaf).sum().backward();
              return row;
            }),
            "[backward] a function that vmap() maps leaves no gradients of single examples; use grad() inside it");
  EXPECT_EQ(
      refusal([](const Tensor& row) {
        return linalg::inv(row.reshape({2, 2}));
      }),
      "[linalg.inv] is computed by the host, which needs values that a function that vmap() maps does not have; do "
      "it outside");
  EXPECT_NE(refusal([](const Tensor& row) { return nonzero(row); }).find("a function that vmap() maps does not have"),
            std::string::npos);
  EXPECT_EQ(text_of([] { vmap(curved, scalar(1.0)); }),
            "[vmap] input 0 is a single number, which has no dim of examples");
  const TensorFunction sum = [](Xs in) { return Tensors{in[0] + in[1]}; };
  EXPECT_EQ(text_of([&] {
              vmap(sum, Tensors{x, drawn({2, 4})});
            }),
            "[vmap] inputs have 3 and 2 examples; they must have the same number");
}

TEST(Vmap, LeavesNothingBehindThatBreaks) {
  const Tensor x = drawn({3, 4});
  Tensor kept;
  vmap([&](const Tensor& row) { return kept = row * 2; }, x);
  EXPECT_EQ(text_of([&] { kept.to_vector<double>(); }),
            "[vmap] a tensor of one example, from inside a function that vmap() maps, has no value to compute with");
  EXPECT_EQ((x * 1).numel(), 12);
}

}  // namespace
}  // namespace tenon
