// Linear algebra under PyTorch's names: solving, factorising and measuring matrices, of which there may be a batch.
//
//   Tensor x = linalg::solve(A, b);
//   auto [eigenvalues, eigenvectors] = linalg::eigh(A);
//
// Matrices are the last two dims of a tensor of f32 or f64. What factorises is LAPACK, which is opened when it is first
// needed (liblapack.so.3: Debian's liblapack3 or libopenblas0); it runs on the host. Such a function computes its
// operand at once, with one transfer each way for a tensor of another device, and is refused inside captured functions.
// Gradients are ops of tensors, and have gradients in turn.

#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "tenon/tensor/tensor.h"

namespace tenon::linalg {

/// A matrix that an algorithm cannot do with: a singular one for inv(), one that is not positive-definite for
/// cholesky().
class LinAlgError : public Error {
 public:
  using Error::Error;
};

/// What slogdet() gives.
struct SignAndLog {
  Tensor sign, logabsdet;  // the determinant's sign, and the logarithm of its absolute value
};
/// What qr() gives.
struct Qr {
  Tensor Q, R;  // with orthonormal columns, and upper triangular
};
/// What svd() gives.
struct Svd {
  Tensor U, S, Vh;  // left vectors as columns, singular values, right vectors as rows
};
/// What eigh() gives.
struct Eigen {
  Tensor eigenvalues, eigenvectors;  // ascending, and the vectors as columns
};
/// What lstsq() gives.
struct LeastSquares {
  Tensor solution;         // the X of the least |A X - B|
  Tensor residuals;        // sums of squares, one for each column; no elements unless A is tall and of full rank
  Tensor rank;             // i64
  Tensor singular_values;  // of A, descending
};
/// The order of a norm: a number, "fro" or "nuc".
using Order = std::variant<double, std::string_view>;

// ---- solving ----

/// The inverse of every matrix.
///   linalg::inv(tensor({{2.0, 0.0}, {0.0, 4.0}}));  // [[0.5 0.] [0. 0.25]]
Tensor inv(const Tensor& A);
/// X with A X = B, or with left = false X A = B. B is a vector for each matrix where its shape is that of A without the
/// last dim, else it has matrices, too.
///   linalg::solve(tensor({{2.0, 0.0}, {0.0, 4.0}}), tensor({2.0, 4.0}));  // [1. 1.]
Tensor solve(const Tensor& A, const Tensor& B, bool left = true);
/// The same for a triangular A, of which one triangle is read; unitriangular: its diagonal counts as 1.
///   linalg::solve_triangular(tensor({{1.0, 0.0}, {2.0, 1.0}}), tensor({{1.0}, {3.0}}), false);  // [[1.] [1.]]
Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left = true, bool unitriangular = false);
/// X with the least |A X - B|, the smallest of several. Singular values below rcond times the largest count as 0; rcond
/// is the dtype's epsilon times the longer side unless given.
///   linalg::lstsq(tensor({{1.0}, {1.0}}), tensor({{1.0}, {3.0}})).solution;  // [[2]]
LeastSquares lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond = {});
/// The Moore-Penrose inverse. Singular values below max(atol, rtol * the largest) count as 0; rtol is the dtype's
/// epsilon times the longer side unless either is given.
///   linalg::pinv(tensor({{2.0, 0.0}, {0.0, 0.0}}));  // [[0.5 0.] [0. 0.]]
Tensor pinv(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {}, bool hermitian = false);

// ---- factorisations ----

/// L with A = L Lᵀ, or with upper U with A = Uᵀ U, of symmetric positive-definite matrices, whose lower triangle is
/// read.
///   linalg::cholesky(tensor({{4.0, 0.0}, {0.0, 9.0}}));  // [[2. 0.] [0. 3.]]
Tensor cholesky(const Tensor& A, bool upper = false);
/// A = Q R. mode: "reduced", "complete", or "r" for R alone.
///   auto [Q, R] = linalg::qr(tensor({{3.0, 1.0}, {4.0, 2.0}}));
Qr qr(const Tensor& A, std::string_view mode = "reduced");
/// A = U diag(S) Vh; S is descending. Gradients go through the first min(m, n) vectors.
///   linalg::svd(tensor({{3.0, 0.0}, {0.0, 4.0}})).S;  // [4. 3.]
Svd svd(const Tensor& A, bool full_matrices = true);
/// S of svd() alone.
///   linalg::svdvals(tensor({{3.0, 0.0}, {0.0, 4.0}}));  // [4. 3.]
Tensor svdvals(const Tensor& A);
/// A = V diag(L) Vᵀ of symmetric matrices, L ascending. UPLO: which triangle is read, "L" or "U".
///   linalg::eigh(tensor({{2.0, 0.0}, {0.0, 1.0}})).eigenvalues;  // [1. 2.]
Eigen eigh(const Tensor& A, std::string_view UPLO = "L");
/// The eigenvalues of eigh() alone.
///   linalg::eigvalsh(tensor({{2.0, 0.0}, {0.0, 1.0}}));  // [1. 2.]
Tensor eigvalsh(const Tensor& A, std::string_view UPLO = "L");

// ---- numbers of a matrix ----

/// The determinant.
///   linalg::det(tensor({{1.0, 2.0}, {3.0, 4.0}}));  // -2
Tensor det(const Tensor& A);
/// The determinant's sign and the logarithm of its absolute value.
///   linalg::slogdet(tensor({{1.0, 2.0}, {3.0, 4.0}})).sign;  // -1.0
SignAndLog slogdet(const Tensor& A);
/// ord: "fro", "nuc", 1, -1, 2, -2, infinity or -infinity; the matrices are the two dims.
///   linalg::matrix_norm(tensor({{3.0, 0.0}, {0.0, 4.0}}));  // 5.0
Tensor matrix_norm(const Tensor& A, const Order& ord = "fro", const Dims& dim = {-2, -1}, bool keepdim = false);
/// The ord-norm over dims, all unless given, of a tensor of any shape.
///   linalg::vector_norm(tensor({3.0, 4.0}));  // 5.0
Tensor vector_norm(const Tensor& x, double ord = 2, const Axes& dim = {}, bool keepdim = false);
/// matrix_norm() for two dims and an ord, or for a matrix; vector_norm() otherwise.
///   linalg::norm(tensor({3.0, 4.0}));  // 5.0
Tensor norm(const Tensor& A, const std::optional<Order>& ord = {}, const std::optional<Axes>& dim = {},
            bool keepdim = false);
/// How many singular values are above max(atol, rtol * the largest), as i64.
///   linalg::matrix_rank(tensor({{1.0, 0.0}, {0.0, 0.0}}));  // 1
Tensor matrix_rank(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {},
                   bool hermitian = false);
/// |A| |inverse of A|, infinite for a singular matrix.
///   linalg::cond(tensor({{2.0, 0.0}, {0.0, 1.0}}));  // 2.0
Tensor cond(const Tensor& A, const Order& p = 2.0);

// ---- powers and products ----

/// A multiplied n times; the inverse for a negative n.
///   linalg::matrix_power(tensor({{1.0, 1.0}, {0.0, 1.0}}), 3);  // [[1. 3.] [0. 1.]]
Tensor matrix_power(const Tensor& A, int64_t n);
/// 1 + A + A²/2 + A³/6 + ...
///   linalg::matrix_exp(zeros({2, 2}));  // [[1. 0.] [0. 1.]]
Tensor matrix_exp(const Tensor& A);
/// The product of several matrices in the cheapest order; the first and the last may be vectors.
///   linalg::multi_dot(std::vector{ones({2, 3}), ones({3, 4}), ones({4, 2})}).shape();  // (2, 2)
Tensor multi_dot(std::span<const Tensor> tensors);

}  // namespace tenon::linalg
