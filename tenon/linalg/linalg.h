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

struct SignAndLog {
  Tensor sign, logabsdet;
};
struct Qr {
  Tensor Q, R;
};
struct Svd {
  Tensor U, S, Vh;
};
struct Eigen {
  Tensor eigenvalues, eigenvectors;
};
struct LeastSquares {
  Tensor solution;
  Tensor residuals;        // sums of squares, one for each column; no elements unless A is tall and of full rank
  Tensor rank;             // i64
  Tensor singular_values;  // of A, descending
};
/// The order of a norm: a number, "fro" or "nuc".
using Order = std::variant<double, std::string_view>;

// ---- solving ----

/// The inverse of every matrix.
Tensor inv(const Tensor& A);
/// X with A X = B, or with left = false X A = B. B is a vector for each matrix where its shape is that of A without the
/// last dim, else it has matrices, too.
Tensor solve(const Tensor& A, const Tensor& B, bool left = true);
/// The same for a triangular A, of which one triangle is read; unitriangular: its diagonal counts as 1.
Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left = true, bool unitriangular = false);
/// X with the least |A X - B|, the smallest of several. Singular values below rcond times the largest count as 0; rcond
/// is the dtype's epsilon times the longer side unless given.
LeastSquares lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond = {});
/// The Moore-Penrose inverse. Singular values below max(atol, rtol * the largest) count as 0; rtol is the dtype's
/// epsilon times the longer side unless either is given.
Tensor pinv(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {}, bool hermitian = false);

// ---- factorisations ----

/// L with A = L Lᵀ, or with upper U with A = Uᵀ U, of symmetric positive-definite matrices, whose lower triangle is
/// read.
Tensor cholesky(const Tensor& A, bool upper = false);
/// A = Q R. mode: "reduced", "complete", or "r" for R alone.
Qr qr(const Tensor& A, std::string_view mode = "reduced");
/// A = U diag(S) Vh; S is descending. Gradients go through the first min(m, n) vectors.
Svd svd(const Tensor& A, bool full_matrices = true);
Tensor svdvals(const Tensor& A);
/// A = V diag(L) Vᵀ of symmetric matrices, L ascending. UPLO: which triangle is read, "L" or "U".
Eigen eigh(const Tensor& A, std::string_view UPLO = "L");
Tensor eigvalsh(const Tensor& A, std::string_view UPLO = "L");

// ---- numbers of a matrix ----

Tensor det(const Tensor& A);
/// The determinant's sign and the logarithm of its absolute value.
SignAndLog slogdet(const Tensor& A);
/// ord: "fro", "nuc", 1, -1, 2, -2, infinity or -infinity; the matrices are the two dims.
Tensor matrix_norm(const Tensor& A, const Order& ord = "fro", const Dims& dim = {-2, -1}, bool keepdim = false);
Tensor vector_norm(const Tensor& x, double ord = 2, const Axes& dim = {}, bool keepdim = false);
/// matrix_norm() for two dims and an ord, or for a matrix; vector_norm() otherwise.
Tensor norm(const Tensor& A, const std::optional<Order>& ord = {}, const std::optional<Axes>& dim = {},
            bool keepdim = false);
/// How many singular values are above max(atol, rtol * the largest), as i64.
Tensor matrix_rank(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {},
                   bool hermitian = false);
/// |A| |inverse of A|, infinite for a singular matrix.
Tensor cond(const Tensor& A, const Order& p = 2.0);

// ---- powers and products ----

/// A multiplied n times; the inverse for a negative n.
Tensor matrix_power(const Tensor& A, int64_t n);
/// 1 + A + A²/2 + A³/6 + ...
Tensor matrix_exp(const Tensor& A);
/// The product of several matrices in the cheapest order; the first and the last may be vectors.
Tensor multi_dot(std::span<const Tensor> tensors);

}  // namespace tenon::linalg
