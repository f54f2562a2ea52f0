// Solving, inverses, determinants, Cholesky: identities, gradients against differences, errors.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Xs = std::span<const Tensor>;

Tensor random(const Dims& shape, uint64_t seed = 1, DType dtype = DType::f64) {
  Generator generator(seed);
  return randn(shape, dtype, &generator);
}

/// Far from singular.
Tensor regular(const Dims& shape, uint64_t seed = 1, DType dtype = DType::f64) {
  return random(shape, seed, dtype) + 3.0 * eye(shape.back(), {}, dtype);
}

Tensor positive_definite(const Tensor& x) { return matmul(x, x.transpose(-1, -2)) + eye(x.size(-2), {}, x.dtype()); }

double largest_difference(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().to(DType::f64).item<double>();
}

/// First derivatives, and second ones.
void expect_gradients(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  const Tensor x = at.clone().requires_grad_();
  EXPECT_TRUE(gradcheck(f, x));
  EXPECT_TRUE(gradcheck(
      [&](const Tensor& y) {
        const EnableGrad of_differences_too;
        const Tensor place = y.requires_grad() ? y : y.detach().requires_grad_();
        const Tensor value = f(place);
        return grad((value * value).sum(), place, true);
      },
      x, 1e-6, 1e-4, 1e-3));
}

TEST(Inverse, TimesTheMatrixIsTheIdentity) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Dims& shape : {Dims{1, 1}, Dims{4, 4}, Dims{3, 2, 5, 5}}) {
      const Tensor A = regular(shape, 3, dtype);
      const Tensor found = linalg::inv(A);
      EXPECT_EQ(found.dtype(), dtype);
      EXPECT_EQ(found.shape(), shape);
      EXPECT_LT(largest_difference(matmul(A, found), eye(shape.back(), {}, dtype)), dtype == DType::f32 ? 1e-5 : 1e-13);
    }
  }
}

TEST(Inverse, OfATransposedViewIsTheTransposedInverse) {
  const Tensor A = regular({2, 4, 4});
  EXPECT_LT(largest_difference(linalg::inv(A.transpose(-1, -2)), linalg::inv(A).transpose(-1, -2)), 1e-14);
}

TEST(Inverse, OfNoMatricesHasNoElements) {
  EXPECT_EQ(linalg::inv(zeros({0, 3, 3})).shape(), (Dims{0, 3, 3}));
  EXPECT_EQ(linalg::inv(zeros({2, 0, 0})).shape(), (Dims{2, 0, 0}));
}

TEST(Inverse, HasGradients) { expect_gradients(linalg::inv, regular({2, 3, 3})); }

TEST(Inverse, NamesTheSingularMatrix) {
  Tensor A = regular({3, 2, 2});
  A[1] = ones({2, 2}, DType::f64);
  EXPECT_EQ(text_of([&] { linalg::inv(A); }),
            "[linalg.inv] batch element 1: the matrix is singular: diagonal element 2 of its factorisation is 0");
  EXPECT_THROW(linalg::inv(ones({2, 2})), linalg::LinAlgError);
}

TEST(Inverse, RefusesWhatIsNoSquareMatrixOfReals) {
  EXPECT_EQ(text_of([] { linalg::inv(ones({2, 3})); }), "[linalg.inv] takes square matrices, got shape (2, 3)");
  EXPECT_EQ(text_of([] { linalg::inv(ones({3})); }), "[linalg.inv] takes matrices, got shape (3,)");
  EXPECT_EQ(text_of([] { linalg::inv(eye(2, {}, DType::bf16)); }),
            "[linalg.inv] takes f32 or f64, got bf16; convert it with to()");
  EXPECT_EQ(text_of([] { linalg::inv(eye(2, {}, DType::i64)); }),
            "[linalg.inv] takes f32 or f64, got i64; convert it with to()");
}

TEST(Inverse, IsRefusedInsideACapturedFunction) {
  auto step = compile([](const Tensor& x) { return linalg::inv(x); });
  EXPECT_EQ(
      text_of([&] {
        for (int i = 0; i < 3; ++i) step(regular({2, 2}));
      }),
      "[linalg.inv] is computed by the host, which needs values that a captured function does not have; do it outside");
}

TEST(Solve, GivesWhatTheProductWas) {
  const Tensor A = regular({2, 1, 4, 4}), X = random({3, 4, 2}, 5);
  EXPECT_LT(largest_difference(linalg::solve(A, matmul(A, X)), X.expand({2, 3, 4, 2})), 1e-13);
  const Tensor row = random({2, 4}, 6), B = regular({4, 4});
  EXPECT_LT(largest_difference(linalg::solve(B, matmul(row, B), false), row), 1e-13);
}

TEST(Solve, TakesAVectorForEachMatrix) {
  const Tensor A = regular({3, 4, 4}), x = random({3, 4}, 7);
  const Tensor b = matmul(A, x.unsqueeze(-1)).squeeze(-1);
  EXPECT_EQ(linalg::solve(A, b).shape(), (Dims{3, 4}));
  EXPECT_LT(largest_difference(linalg::solve(A, b), x), 1e-13);
  EXPECT_LT(largest_difference(linalg::solve(A[0], b[0]), x[0]), 1e-13);
}

TEST(Solve, HasGradientsOfBothArguments) {
  const std::vector<Tensor> inputs{regular({2, 3, 3}).requires_grad_(), random({3, 4}, 4).requires_grad_()};
  for (const bool left : {true, false}) {
    EXPECT_TRUE(gradcheck([&](Xs x) { return linalg::solve(x[0], left ? x[1] : x[1].transpose(0, 1), left); }, inputs));
  }
  expect_gradients([](const Tensor& x) { return linalg::solve(x, x.slice(-1, 0, 2)); }, regular({3, 3}));
}

TEST(Solve, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(text_of([] {
              linalg::solve(ones({3, 3}), ones({2, 5}));
            }),
            "[linalg.solve] shapes (3, 3) and (2, 5) do not fit: 2 equations for 3 unknowns");
  EXPECT_EQ(text_of([] {
              linalg::solve(zeros({3, 3}), ones({3}));
            }),
            "[linalg.solve] the matrix is singular: diagonal element 1 of its factorisation is 0");
}

TEST(SolveTriangular, ReadsOneTriangle) {
  const Tensor A = regular({2, 4, 4}), B = random({2, 4, 3}, 8);
  EXPECT_LT(largest_difference(linalg::solve_triangular(A, B, true), linalg::solve(triu(A), B)), 1e-13);
  EXPECT_LT(largest_difference(linalg::solve_triangular(A, B, false), linalg::solve(tril(A), B)), 1e-13);
  const Tensor unit = triu(A, 1) + eye(4, {}, DType::f64);
  EXPECT_LT(largest_difference(linalg::solve_triangular(A, B, true, true, true), linalg::solve(unit, B)), 1e-12);
  const Tensor rows = B.transpose(-1, -2);
  EXPECT_LT(largest_difference(linalg::solve_triangular(A, rows, true, false), linalg::solve(triu(A), rows, false)),
            1e-13);
}

TEST(SolveTriangular, HasGradients) {
  for (const bool upper : {true, false}) {
    for (const bool unit : {true, false}) {
      expect_gradients(
          [=](const Tensor& x) { return linalg::solve_triangular(x, x.slice(-1, 0, 2), upper, true, unit); },
          regular({3, 3}));
    }
  }
}

TEST(Determinant, IsTheProductOfEigenvalues) {
  EXPECT_DOUBLE_EQ(linalg::det(tensor({{1.0, 2.0}, {3.0, 4.0}}, DType::f64)).item<double>(), -2);
  EXPECT_EQ(linalg::det(zeros({2, 0, 0})).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(linalg::det(zeros({0, 3, 3})).shape(), (Dims{0}));
  const Tensor A = positive_definite(random({3, 4, 4}));
  EXPECT_LT(largest_difference(linalg::det(A) / linalg::eigvalsh(A).prod(-1), ones({3}, DType::f64)), 1e-12);
}

TEST(Determinant, HasGradients) { expect_gradients(linalg::det, random({2, 3, 3})); }

TEST(Determinant, OfASingularMatrixHasTheCofactorsAsGradient) {
  const Tensor A = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}, DType::f64).requires_grad_();
  const Tensor flat = zeros({3, 3}, DType::f64).requires_grad_();
  const Tensor B = tensor({{1.0, 2.0}, {2.0, 4.0}}, DType::f64).requires_grad_();
  EXPECT_LT(largest_difference(grad(linalg::det(A), A),
                               tensor({{-3.0, 6.0, -3.0}, {6.0, -12.0, 6.0}, {-3.0, 6.0, -3.0}}, DType::f64)),
            1e-12);
  EXPECT_LT(largest_difference(grad(linalg::det(B), B), tensor({{4.0, -2.0}, {-2.0, 1.0}}, DType::f64)), 1e-13);
  EXPECT_EQ(largest_difference(grad(linalg::det(flat), flat), zeros({3, 3}, DType::f64)), 0);
}

TEST(LogDeterminant, IsTheLogarithmOfTheDeterminant) {
  const Tensor A = random({5, 3, 3});
  const auto [sign, log] = linalg::slogdet(A);
  EXPECT_LT(largest_difference(sign * log.exp(), linalg::det(A)), 1e-13);
  const auto [of_zeros, no_log] = linalg::slogdet(zeros({2, 2}));
  EXPECT_EQ(of_zeros.item<float>(), 0);
  EXPECT_EQ(no_log.item<float>(), -std::numeric_limits<float>::infinity());
  const Tensor large = 1e30 * eye(20, {}, DType::f64);
  EXPECT_NEAR(linalg::slogdet(large).logabsdet.item<double>(), 20 * 30 * std::log(10.0), 1e-9);
}

TEST(LogDeterminant, HasGradients) {
  expect_gradients([](const Tensor& x) { return linalg::slogdet(x).logabsdet; }, random({2, 3, 3}));
}

TEST(Cholesky, IsAFactor) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor A = positive_definite(random({2, 4, 4}, 2, dtype));
    const Tensor L = linalg::cholesky(A), U = linalg::cholesky(A, true);
    EXPECT_LT(largest_difference(matmul(L, L.transpose(-1, -2)), A), dtype == DType::f32 ? 1e-5 : 1e-13);
    EXPECT_EQ(largest_difference(L, tril(L)), 0);
    EXPECT_EQ(largest_difference(U, L.transpose(-1, -2)), 0);
  }
}

TEST(Cholesky, ReadsTheLowerTriangle) {
  const Tensor A = positive_definite(random({3, 3}));
  EXPECT_EQ(largest_difference(linalg::cholesky(tril(A)), linalg::cholesky(A)), 0);
}

TEST(Cholesky, HasGradients) {
  expect_gradients([](const Tensor& x) { return linalg::cholesky(positive_definite(x)); }, random({2, 3, 3}));
  expect_gradients([](const Tensor& x) { return linalg::cholesky(positive_definite(x), true); }, random({3, 3}));
}

TEST(Cholesky, NamesTheMatrixThatIsNotPositiveDefinite) {
  Tensor A = eye(3).expand({4, 3, 3}).clone();
  A[2][1][1] = -1;
  EXPECT_EQ(text_of([&] { linalg::cholesky(A); }),
            "[linalg.cholesky] batch element 2: the matrix is not positive-definite: its leading minor of order 2 is "
            "not positive");
}

}  // namespace
}  // namespace tenon
