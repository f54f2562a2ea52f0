// Written by scripts/make_functions.py from tenon/linalg/functions.def; do not edit.
//
// Functions of tenon.linalg.

#include "functions.h"
#include "linalg.h"

namespace tenon::python {

// clang-format off
void note_linalg() {
  define<"inv", "A", [](const Tensor& A) { return computed([&] { return linalg::inv(A); }); }>("The inverse of every matrix; LinAlgError names a singular one.", kLinalg);
  define<"solve", "A, B, left=True", [](const Tensor& A, const Tensor& B, bool left) { return computed([&] { return linalg::solve(A, B, left); }); }>("X with A @ X = B, or X @ A = B with left=False. B is a vector for each matrix where its shape is A's without the last dim.", kLinalg);
  define<"solve_triangular", "A, B, upper, left=True, unitriangular=False", [](const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular) { return computed([&] { return linalg::solve_triangular(A, B, upper, left, unitriangular); }); }>("As solve(), for a triangular A, of which one triangle is read; unitriangular: its diagonal counts as 1.", kLinalg);
  define<"lstsq", "A, B, rcond=None, driver=None", [](const Tensor& A, const Tensor& B, std::optional<double> rcond, const std::optional<std::string>& driver) { return computed([&] { return linalg::lstsq(A, B, with_driver(driver, rcond)); }); }>("(solution, residuals, rank, singular_values) for the smallest X with the least |A @ X - B|; always LAPACK's gelsd.", kLinalg);
  define<"pinv", "A, atol=None, rtol=None, hermitian=False", [](const Tensor& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) { return computed([&] { return linalg::pinv(A, atol, rtol, hermitian); }); }>("The Moore-Penrose inverse. Singular values below max(atol, rtol * the largest) count as 0.", kLinalg);
  define<"cholesky", "A, upper=False", [](const Tensor& A, bool upper) { return computed([&] { return linalg::cholesky(A, upper); }); }>("L with A = L @ L.mT of symmetric positive-definite matrices, whose lower triangle is read; with upper=True L.mT.", kLinalg);
  define<"qr", "A, mode='reduced'", [](const Tensor& A, const std::string& mode) { return computed([&] { return linalg::qr(A, mode); }); }>("(Q, R) with A = Q @ R. mode: 'reduced', 'complete', or 'r' for R alone.", kLinalg);
  define<"svd", "A, full_matrices=True, driver=None", [](const Tensor& A, bool full_matrices, const std::optional<std::string>&) { return computed([&] { return linalg::svd(A, full_matrices); }); }>("(U, S, Vh) with A = U @ diag(S) @ Vh, S descending. Gradients go through the first min(m, n) vectors.", kLinalg);
  define<"svdvals", "A, driver=None", [](const Tensor& A, const std::optional<std::string>&) { return computed([&] { return linalg::svdvals(A); }); }>("The singular values, descending.", kLinalg);
  define<"eigh", "A, UPLO='L'", [](const Tensor& A, const std::string& UPLO) { return computed([&] { return linalg::eigh(A, UPLO); }); }>("(eigenvalues, eigenvectors) of symmetric matrices, ascending. UPLO: which triangle is read, 'L' or 'U'.", kLinalg);
  define<"eigvalsh", "A, UPLO='L'", [](const Tensor& A, const std::string& UPLO) { return computed([&] { return linalg::eigvalsh(A, UPLO); }); }>("The eigenvalues of symmetric matrices, ascending.", kLinalg);
  define<"det", "A", [](const Tensor& A) { return computed([&] { return linalg::det(A); }); }>("The determinant of every matrix.", kLinalg);
  define<"slogdet", "A", [](const Tensor& A) { return computed([&] { return linalg::slogdet(A); }); }>("(sign, logabsdet) of the determinant of every matrix.", kLinalg);
  define<"vector_norm", "x, ord=2, dim=None, keepdim=False, dtype=None", [](const Tensor& x, double ord, const Axes& dim, bool keepdim, std::optional<DType> dtype) { return computed([&] { return linalg::vector_norm(dtype ? x.to(*dtype) : x, ord, dim, keepdim); }); }>("The p-norm along dims, or of all elements.", kLinalg);
  define<"matrix_norm", "A, ord='fro', dim=None, keepdim=False, dtype=None", [](const Tensor& A, const GivenOrder& ord, const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) { return computed([&] { return linalg::matrix_norm(dtype ? A.to(*dtype) : A, ord.order(), dim.value_or(Dims{-2, -1}), keepdim); }); }>("The norm of every matrix, whose dims are the last two unless given. ord: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.", kLinalg);
  define<"norm", "A, ord=None, dim=None, keepdim=False, dtype=None", [](const Tensor& A, const std::optional<GivenOrder>& ord, const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) { return computed([&] { return linalg::norm(dtype ? A.to(*dtype) : A, order_of(ord), axes_of(dim), keepdim); }); }>("The 2-norm of all elements, or along dims; with an ord the norm of a vector, or of matrices where there are two dims.", kLinalg);
  define<"matrix_rank", "A, atol=None, rtol=None, hermitian=False, tol=None", [](const Tensor& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian, std::optional<double> tol) { return computed([&] { return linalg::matrix_rank(A, tol ? tol : atol, tol ? std::optional(0.0) : rtol, hermitian); }); }>("How many singular values are above max(atol, rtol * the largest).", kLinalg);
  define<"cond", "A, p=None", [](const Tensor& A, const std::optional<GivenOrder>& p) { return computed([&] { return linalg::cond(A, order_of(p).value_or(2.0)); }); }>("The norm of a matrix times that of its inverse, infinite for a singular one. p: an ord of matrix_norm(), 2 unless given.", kLinalg);
  define<"matrix_power", "A, n", [](const Tensor& A, int64_t n) { return computed([&] { return linalg::matrix_power(A, n); }); }>("A multiplied n times; the inverse for a negative n.", kLinalg);
  define<"matrix_exp", "A", [](const Tensor& A) { return computed([&] { return linalg::matrix_exp(A); }); }>("1 + A + A @ A / 2 + ... of every matrix.", kLinalg);
  define<"multi_dot", "tensors", [](const std::vector<Tensor>& tensors) { return computed([&] { return linalg::multi_dot(tensors); }); }>("The product of several matrices in the cheapest order; the first and the last may be vectors.", kLinalg);
}

}  // namespace tenon::python
