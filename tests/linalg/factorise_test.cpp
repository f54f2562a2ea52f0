// Q R, singular values, eigenvalues, pseudo-inverses, least squares, norms, powers: identities, gradients, errors.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Xs = std::span<const Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor drawn(const Dims& shape, uint64_t seed = 1, DType dtype = DType::f64) {
  Generator generator(seed);
  return randn(shape, dtype, &generator);
}

double off(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().to(DType::f64).item<double>();
}

Tensor turned(const Tensor& x) { return x.transpose(-1, -2); }

Tensor symmetric(const Tensor& x) { return x + turned(x); }

void expect_both_gradients(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
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

const std::vector<Dims> kShapes{{1, 1}, {3, 3}, {5, 3}, {3, 5}, {2, 4, 3}, {2, 2, 3, 4}, {0, 3}, {3, 0}, {0, 2, 2}};

TEST(Qr, IsAFactorisation) {
  for (const Dims& shape : kShapes) {
    for (const auto* mode : {"reduced", "complete"}) {
      const Tensor A = drawn(shape);
      const auto [Q, R] = linalg::qr(A, mode);
      EXPECT_LT(off(matmul(Q, R), A), 1e-13) << mode;
      EXPECT_EQ(off(R, triu(R)), 0);
      EXPECT_LT(off(matmul(turned(Q), Q), eye(Q.size(-1), {}, DType::f64).expand(matmul(turned(Q), Q).shape())), 1e-13);
      EXPECT_EQ(Q.size(-1), std::string_view(mode) == "complete" ? A.size(-2) : std::min(A.size(-1), A.size(-2)));
      EXPECT_EQ(off(linalg::qr(A, "r").R, linalg::qr(A).R), 0);
    }
  }
}

TEST(Qr, HasGradients) {
  for (const Dims& shape : {Dims{3, 3}, Dims{4, 2}, Dims{2, 4}, Dims{2, 3, 2}}) {
    expect_both_gradients([](const Tensor& x) { return linalg::qr(x).Q; }, drawn(shape));
    expect_both_gradients([](const Tensor& x) { return linalg::qr(x).R; }, drawn(shape));
    expect_both_gradients(
        [](const Tensor& x) {
          const auto [Q, R] = linalg::qr(x);
          return Q.sum() * R;
        },
        drawn(shape));
  }
}

TEST(Qr, SaysWhereItHasNoGradient) {
  const Tensor A = drawn({4, 2}).requires_grad_();
  EXPECT_EQ(text_of([&] { linalg::qr(A, "r").R.sum().backward(); }),
            "[linalg.qr] has no gradient with mode='r', which leaves out Q; take mode='reduced'");
  EXPECT_EQ(text_of([&] { linalg::qr(A, "complete").R.sum().backward(); }),
            "[linalg.qr] has no gradient with mode='complete' and more rows than columns; take mode='reduced'");
  EXPECT_EQ(text_of([&] { linalg::qr(A, "full"); }), "[linalg.qr] mode is 'reduced', 'complete' or 'r', not 'full'");
}

TEST(Svd, IsAFactorisation) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Dims& shape : kShapes) {
      for (const bool full : {false, true}) {
        const Tensor A = drawn(shape, 2, dtype);
        const auto [U, S, Vh] = linalg::svd(A, full);
        const int64_t k = S.size(-1);
        EXPECT_EQ(k, std::min(A.size(-1), A.size(-2)));
        EXPECT_EQ(U.size(-1), full ? A.size(-2) : k);
        EXPECT_LT(off(matmul(U.slice(-1, 0, k) * S.unsqueeze(-2), Vh.slice(-2, 0, k)), A),
                  dtype == DType::f32 ? 1e-5 : 1e-13);
        const Tensor product = matmul(turned(U), U);
        EXPECT_LT(off(product, eye(U.size(-1), {}, dtype).expand(product.shape())), dtype == DType::f32 ? 1e-5 : 1e-13);
      }
    }
  }
}

TEST(Svd, HasGradients) {
  for (const Dims& shape : {Dims{3, 3}, Dims{4, 2}, Dims{2, 4}, Dims{2, 3, 2}}) {
    expect_both_gradients(linalg::svdvals, drawn(shape));
    // Squares of vectors, whose signs are free.
    expect_both_gradients([](const Tensor& x) { return linalg::svd(x, false).U.square(); }, drawn(shape));
    expect_both_gradients([](const Tensor& x) { return linalg::svd(x, false).Vh.square(); }, drawn(shape));
    expect_both_gradients(
        [](const Tensor& x) {
          const auto [U, S, Vh] = linalg::svd(x, false);
          return matmul(U * S.exp().unsqueeze(-2), Vh);
        },
        drawn(shape));
  }
}

TEST(Svd, RefusesElementsThatAreNotFinite) {
  Tensor A = ones({2, 3, 2});
  A[1][0][0] = kInf;
  EXPECT_EQ(text_of([&] { linalg::svd(A); }),
            "[linalg.svd] batch element 1: the matrix has elements that are not finite");
}

TEST(Eigh, IsAFactorisation) {
  for (const Dims& shape : {Dims{1, 1}, Dims{4, 4}, Dims{3, 2, 3, 3}, Dims{0, 0}, Dims{0, 2, 2}}) {
    const Tensor A = symmetric(drawn(shape));
    const auto [L, V] = linalg::eigh(A);
    EXPECT_LT(off(matmul(V * L.unsqueeze(-2), turned(V)), A), 1e-13);
    EXPECT_LT(off(linalg::eigvalsh(A), L), 1e-13);
    EXPECT_EQ(off(L, L.sort().first), 0);
  }
}

TEST(Eigh, ReadsOneTriangle) {
  const Tensor A = drawn({3, 3});
  EXPECT_LT(off(linalg::eigvalsh(A), linalg::eigvalsh(tril(A) + turned(tril(A, -1)))), 1e-14);
  EXPECT_LT(off(linalg::eigvalsh(A, "U"), linalg::eigvalsh(triu(A) + turned(triu(A, 1)))), 1e-14);
  EXPECT_EQ(text_of([&] { linalg::eigh(A, "X"); }), "[linalg.eigh] UPLO is 'L' or 'U', not 'X'");
}

TEST(Eigh, HasGradients) {
  expect_both_gradients([](const Tensor& x) { return linalg::eigvalsh(symmetric(x)); }, drawn({2, 3, 3}));
  expect_both_gradients([](const Tensor& x) { return linalg::eigh(symmetric(x)).eigenvectors.square(); },
                        drawn({3, 3}));
}

TEST(Pinv, SatisfiesPenrosesConditions) {
  for (const Dims& shape : kShapes) {
    const Tensor A = drawn(shape), P = linalg::pinv(A);
    EXPECT_LT(off(matmul(matmul(A, P), A), A), 1e-12);
    EXPECT_LT(off(matmul(matmul(P, A), P), P), 1e-12);
    EXPECT_LT(off(matmul(A, P), turned(matmul(A, P))), 1e-12);
  }
}

TEST(Pinv, LeavesSmallSingularValuesOut) {
  const Tensor A = diag(tensor({4.0, 1.0, 0.0}, DType::f64));
  EXPECT_LT(off(linalg::pinv(A), diag(tensor({0.25, 1.0, 0.0}, DType::f64))), 1e-15);
  EXPECT_LT(off(linalg::pinv(A, {}, 0.5), diag(tensor({0.25, 0.0, 0.0}, DType::f64))), 1e-15);
  EXPECT_LT(off(linalg::pinv(A, 2.0), diag(tensor({0.25, 0.0, 0.0}, DType::f64))), 1e-15);
  EXPECT_LT(off(linalg::pinv(tril(A + 1), {}, {}, true), linalg::pinv(tril(A + 1) + turned(tril(A + 1, -1)))), 1e-13);
}

TEST(Pinv, HasGradients) {
  for (const Dims& shape : {Dims{3, 3}, Dims{4, 2}, Dims{2, 4}})
    expect_both_gradients([](const Tensor& x) { return linalg::pinv(x); }, drawn(shape));
}

TEST(LeastSquares, SolvesTheNormalEquations) {
  const Tensor A = drawn({2, 5, 3}), B = drawn({2, 5, 2}, 4);
  const auto found = linalg::lstsq(A, B);
  EXPECT_LT(off(matmul(turned(A), matmul(A, found.solution)), matmul(turned(A), B)), 1e-12);
  EXPECT_LT(off(found.residuals, (matmul(A, found.solution) - B).square().sum(-2)), 1e-12);
  EXPECT_EQ(found.rank.to_vector<int64_t>(), (std::vector<int64_t>{3, 3}));
  EXPECT_LT(off(found.singular_values, linalg::svdvals(A)), 1e-12);
}

TEST(LeastSquares, FindsTheSmallestOfSeveral) {
  const Tensor A = drawn({2, 4}), b = drawn({2}, 4);
  const auto found = linalg::lstsq(A, b);
  EXPECT_LT(off(found.solution, matmul(linalg::pinv(A), b)), 1e-12);
  EXPECT_EQ(found.residuals.numel(), 0);
}

TEST(LeastSquares, TakesAnyNumberAsBound) {
  const Tensor A = ones({2, 2}), B = ones({2, 1});
  EXPECT_EQ(text_of([&] { linalg::lstsq(A, B, std::numeric_limits<double>::quiet_NaN()); }),
            "[linalg.lstsq] rcond is a number, not nan");
  EXPECT_EQ(linalg::lstsq(A, B, std::numeric_limits<double>::infinity()).rank.item<int64_t>(), 0);
}

TEST(LeastSquares, HasGradientsOfBothArguments) {
  for (const Dims& shape : {Dims{4, 2}, Dims{2, 4}, Dims{3, 3}}) {
    const std::vector<Tensor> inputs{drawn(shape).requires_grad_(), drawn({shape[0], 2}, 9).requires_grad_()};
    EXPECT_TRUE(gradcheck([](Xs x) { return linalg::lstsq(x[0], x[1]).solution; }, inputs));
  }
}

TEST(Norm, OfMatrices) {
  const Tensor A = tensor({{1.0, -2.0}, {3.0, 4.0}}, DType::f64);
  const auto norm = [&](const linalg::Order& ord) { return linalg::matrix_norm(A, ord).item<double>(); };
  EXPECT_DOUBLE_EQ(norm("fro"), std::sqrt(30));
  EXPECT_DOUBLE_EQ(norm(1.0), 6);
  EXPECT_DOUBLE_EQ(norm(-1.0), 4);
  EXPECT_DOUBLE_EQ(norm(kInf), 7);
  EXPECT_DOUBLE_EQ(norm(-kInf), 3);
  EXPECT_NEAR(norm(2.0) * norm(-2.0), 10, 1e-13);  // |det|
  EXPECT_NEAR(norm("nuc"), norm(2.0) + norm(-2.0), 1e-14);
  EXPECT_EQ(text_of([&] { norm(3.0); }),
            "[linalg.matrix_norm] there is no norm 3 of matrices; there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf");
}

TEST(Norm, OfAnyTwoDims) {
  const Tensor A = drawn({2, 3, 4});
  EXPECT_EQ(linalg::matrix_norm(A, 1.0, {2, 0}, true).shape(), (Dims{1, 3, 1}));
  EXPECT_LT(off(linalg::matrix_norm(A, 2.0, {0, 2}), linalg::matrix_norm(A.transpose(0, 1), 2.0)), 1e-14);
  EXPECT_LT(off(linalg::norm(A, linalg::Order(1.0), Axes{0, 1}), linalg::matrix_norm(A.permute({2, 0, 1}), 1.0)),
            1e-14);
  EXPECT_LT(off(linalg::norm(A[0][0], linalg::Order(3.0)), linalg::vector_norm(A[0][0], 3)), 1e-15);
}

TEST(Rank, CountsSingularValues) {
  const Tensor A = diag(tensor({4.0, 1.0, 1e-20}, DType::f64));
  EXPECT_EQ(linalg::matrix_rank(A).item<int64_t>(), 2);
  EXPECT_EQ(linalg::matrix_rank(A, {}, 0.5).item<int64_t>(), 1);
  EXPECT_EQ(linalg::matrix_rank(A, 0.0, 0.0).item<int64_t>(), 3);
  EXPECT_EQ(linalg::matrix_rank(zeros({3, 0, 2})).to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0}));
}

TEST(Condition, IsTheNormTimesThatOfTheInverse) {
  const Tensor A = drawn({2, 3, 3});
  for (const linalg::Order& p : {linalg::Order("fro"), linalg::Order("nuc"), linalg::Order(1.0), linalg::Order(-kInf),
                                 linalg::Order(2.0), linalg::Order(-2.0)}) {
    const Tensor expected = linalg::matrix_norm(A, p) * linalg::matrix_norm(linalg::inv(A), p);
    EXPECT_LT(off(linalg::cond(A, p) / expected, ones({2}, DType::f64)), 1e-12);
  }
  EXPECT_EQ(linalg::cond(ones({2, 2}), 1.0).item<float>(), kInf);
}

TEST(Power, MultipliesSoOften) {
  const Tensor A = drawn({2, 3, 3});
  EXPECT_LT(off(linalg::matrix_power(A, 5), matmul(matmul(matmul(matmul(A, A), A), A), A)), 1e-11);
  EXPECT_LT(off(linalg::matrix_power(A, -2), linalg::inv(matmul(A, A))), 1e-10);
  EXPECT_EQ(off(linalg::matrix_power(A, 0), eye(3, {}, DType::f64).expand({2, 3, 3})), 0);
  EXPECT_EQ(off(linalg::matrix_power(A, 1), A), 0);
}

TEST(Exponential, IsThatOfTheEigenvalues) {
  for (const double scale : {1e-3, 1.0, 30.0}) {
    const Tensor A = symmetric(drawn({4, 4})) * scale;
    const auto [L, V] = linalg::eigh(A);
    const Tensor expected = matmul(V * L.exp().unsqueeze(-2), turned(V));
    EXPECT_LT(off(linalg::matrix_exp(A) / expected.abs().max(), expected / expected.abs().max()),
              scale > 10 ? 1e-11 : 1e-14);
  }
  EXPECT_LT(off(linalg::matrix_exp(tensor({{0.0, 1.0}, {0.0, 0.0}})), tensor({{1.0, 1.0}, {0.0, 1.0}})), 1e-7);
  EXPECT_EQ(linalg::matrix_exp(zeros({2, 0, 0})).shape(), (Dims{2, 0, 0}));
}

TEST(Exponential, ScalesEachMatrixOfABatchByItself) {
  const Tensor A = drawn({3, 3}), B = A * 50;
  const Tensor both = linalg::matrix_exp(stack({A, B}));
  EXPECT_EQ(off(both[0], linalg::matrix_exp(A)), 0);
}

TEST(Exponential, HasGradients) { expect_both_gradients(linalg::matrix_exp, drawn({2, 3, 3})); }

TEST(Chain, IsTheProduct) {
  const std::vector<Tensor> chain{drawn({3}), drawn({3, 7}, 2), drawn({7, 2}, 3), drawn({2, 5}, 4)};
  const Tensor expected = matmul(matmul(matmul(chain[0], chain[1]), chain[2]), chain[3]);
  EXPECT_EQ(linalg::multi_dot(chain).shape(), (Dims{5}));
  EXPECT_LT(off(linalg::multi_dot(chain), expected), 1e-13);
}

}  // namespace
}  // namespace tenon
