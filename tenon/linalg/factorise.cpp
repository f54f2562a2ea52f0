// Orthogonal factorisations, eigenvalues and singular values, and what follows from these: pseudo-inverses and least
// squares.

#include <cmath>

#include "tenon/linalg/host.h"
#include "tenon/tensor/record.h"

namespace tenon::linalg {
namespace {

Tensor skew(const Tensor& x) { return x - transposed(x); }
Tensor on_diagonal(const Tensor& x) { return diag_embed(x); }
Tensor without_diagonal(const Tensor& x) { return x - on_diagonal(diagonal(x, 0, -2, -1)); }
/// values[j] - values[i] at (i, j), and 1 on the diagonal.
Tensor gaps(const Tensor& values) {
  return values.unsqueeze(-2) - values.unsqueeze(-1) + identity(values.size(-1), values);
}
Tensor sum_of(const Tensor& a, const Tensor& b) { return a.defined() ? b.defined() ? a + b : a : b; }

/// LAPACK may not return from these with a NaN.
template <typename T>
void require_finite(const char* op, const Tensor& A, Matrices<T>& given) {
  const auto size = static_cast<size_t>(A.size(-1) * A.size(-2));
  for (size_t i = 0; i < given.values().size(); ++i) {
    if (!std::isfinite(given.values()[i])) fail_matrix(op, batch_of(A), i / size, "has elements that are not finite");
  }
}

template <typename T>
void fill_identity(int64_t n, T* a) {
  for (int64_t i = 0; i < n; ++i) a[i * n + i] = T(1);
}

// ---- Q R ----

template <typename T>
std::vector<Tensor> qr_factors(const Tensor& A, bool complete, bool with_q) {
  const int64_t m = A.size(-2), n = A.size(-1), k = complete ? m : std::min(m, n);
  Matrices<T> given(A);
  Results<T> results(batch_of(A), {matrix_part<T>(m, with_q ? k : 0), matrix_part<T>(k, n)});
  for_each_matrix(results.count(), [&](int64_t i) {
    T *a = given.at(i), *q = results.at(0, i), *r = results.at(1, i);
    if (m == 0 || n == 0) {
      if (with_q) fill_identity(k, q);  // complete, or empty
      return 0;
    }
    // orgqr() works in the memory of all columns of Q, more than A has where Q is complete.
    lapack::qr(static_cast<int>(m), static_cast<int>(n), a, with_q ? static_cast<int>(k) : 0, q);
    for (int64_t column = 0; column < n; ++column) std::copy_n(a + column * m, std::min(column + 1, k), r + column * k);
    return 0;
  });
  return results.tensors(A.device());
}

/// For A with at least as many rows as columns.
Tensor tall_qr_backward(const Tensor& Q, const Tensor& R, const Tensor& gQ, const Tensor& gR) {
  Tensor M;
  if (gR.defined()) M = matmul(R, transposed(gR));
  if (gQ.defined()) M = sum_of(M, -matmul(transposed(gQ), Q));
  const Tensor symmetric = tril(M) + transposed(tril(M, -1));
  return solve_triangular(transposed(R), sum_of(gQ, matmul(Q, symmetric)), false, false);
}

Tensor qr_backward(const Tensor& A, const Tensor& Q, const Tensor& R, const Tensor& gQ, const Tensor& gR) {
  const int64_t m = R.size(-2), n = R.size(-1);
  if (m >= n) return tall_qr_backward(Q, R, gQ, gR);
  // A = [X Y] and R = [U V]: X = Q U is square, and V = Qᵀ Y.
  const Tensor Y = A.slice(-1, m, n), U = R.slice(-1, 0, m);
  if (!gR.defined()) return cat({tall_qr_backward(Q, U, gQ, Tensor()), zeros_like(Y)}, -1);
  const Tensor gV = gR.slice(-1, m, n);
  const Tensor of_Q = sum_of(gQ, matmul(Y, transposed(gV)));
  return cat({tall_qr_backward(Q, U, of_Q, gR.slice(-1, 0, m)), matmul(Q, gV)}, -1);
}

// ---- singular values ----

template <typename T>
std::vector<Tensor> singular_values(const char* op, const Tensor& A, bool full) {
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const int64_t columns = full ? m : k, rows = full ? n : k;
  Matrices<T> given(A);
  require_finite(op, A, given);
  Results<T> results(batch_of(A), {matrix_part<T>(m, columns), vector_part<T>(k), matrix_part<T>(rows, n)});
  const auto infos = for_each_matrix(results.count(), [&](int64_t i) {
    if (k == 0) {
      if (full) fill_identity(m, results.at(0, i));
      if (full) fill_identity(n, results.at(2, i));
      return 0;
    }
    return lapack::gesdd(full, static_cast<int>(m), static_cast<int>(n), given.at(i), results.at(1, i),
                         results.at(0, i), results.at(2, i));
  });
  require_success(op, results.batch(), infos, "did not converge ({})");
  return results.tensors(A.device());
}

Tensor svd_backward(const Svd& found, const Tensor& gU, const Tensor& gS, const Tensor& gVh) {
  const Tensor &U = found.U, &S = found.S, &Vh = found.Vh;
  const int64_t k = S.size(-1);
  Tensor inside;
  if (gS.defined()) inside = on_diagonal(gS);
  if (gU.defined() || gVh.defined()) {
    const Tensor E = gaps(S.square());
    if (gU.defined()) inside = sum_of(inside, scaled_columns(skew(matmul(transposed(U), gU)) / E, S));
    if (gVh.defined()) inside = sum_of(inside, scaled_rows(skew(matmul(Vh, transposed(gVh))) / E, S));
  }
  Tensor gA = matmul(matmul(U, inside), Vh);
  if (gU.defined() && U.size(-2) > k) {
    const Tensor beside = gU - matmul(U, matmul(transposed(U), gU));
    gA = gA + matmul(scaled_columns(beside, 1 / S), Vh);
  }
  if (gVh.defined() && Vh.size(-1) > k) {
    const Tensor beside = gVh - matmul(matmul(gVh, transposed(Vh)), Vh);
    gA = gA + matmul(U, scaled_rows(beside, 1 / S));
  }
  return gA;
}

Svd svd_of(const char* op, const Tensor& A, bool full) {
  require_matrices(op, A);
  require_host(op, A);
  const int64_t k = std::min(A.size(-1), A.size(-2));
  const SavingFunction function{
      op,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        std::vector<Tensor> made =
            with_type(in[0].dtype(), [&]<typename T>() { return singular_values<T>(op, in[0], full); });
        context.save_for_backward(made);
        return made;
      },
      [=](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        const auto& saved = context.saved_tensors();
        const auto first = [k](const Tensor& x, int64_t dim) { return x.defined() ? x.slice(dim, 0, k) : x; };
        const Svd found{first(saved[0], -1), saved[1], first(saved[2], -2)};
        return {svd_backward(found, first(grads[0], -1), grads[1], first(grads[2], -2))};
      }};
  const std::vector<Tensor> made = apply(function, std::vector<Tensor>{A});
  return {made[0], made[1], made[2]};
}

// ---- eigenvalues ----

template <typename T>
std::vector<Tensor> eigenvalues(const char* op, const Tensor& A, bool upper) {
  const int64_t n = A.size(-1);
  Matrices<T> given(A);
  require_finite(op, A, given);
  Results<T> results(batch_of(A), {vector_part<T>(n), matrix_part<T>(n, n)});
  const auto infos = for_each_matrix(n == 0 ? 0 : results.count(), [&](int64_t i) {
    std::copy_n(given.at(i), n * n, results.at(1, i));
    return lapack::syevd(upper, static_cast<int>(n), results.at(1, i), results.at(0, i));
  });
  require_success(op, results.batch(), infos, "did not converge ({})");
  return results.tensors(A.device());
}

std::vector<Tensor> eigh_backward(const FunctionContext& context, std::span<const Tensor> grads) {
  const Tensor &values = context.saved_tensors()[0], &V = context.saved_tensors()[1];
  Tensor inside;
  if (grads[0].defined()) inside = on_diagonal(grads[0]);
  if (grads[1].defined()) inside = sum_of(inside, without_diagonal(matmul(transposed(V), grads[1])) / gaps(values));
  // Of the symmetric matrices alone, whichever triangle was read.
  return {matmul(matmul(V, (inside + transposed(inside)) / 2), transposed(V))};
}

Eigen eigh_of(const char* op, const Tensor& A, std::string_view UPLO) {
  require_square(op, A);
  const bool upper = UPLO == "U" || UPLO == "u";
  if (!upper && UPLO != "L" && UPLO != "l") base::fail(op, "UPLO is 'L' or 'U', not '{}'", UPLO);
  require_host(op, A);
  const SavingFunction function{op,
                                [=](FunctionContext& context, std::span<const Tensor> in) {
                                  std::vector<Tensor> made = with_type(
                                      in[0].dtype(), [&]<typename T>() { return eigenvalues<T>(op, in[0], upper); });
                                  context.save_for_backward(made);
                                  return made;
                                },
                                eigh_backward};
  const std::vector<Tensor> made = apply(function, std::vector<Tensor>{A});
  return {made[0], made[1]};
}

// ---- least squares ----

struct Tolerances {
  double atol, rtol;
};

Tolerances tolerances(const Tensor& A, std::optional<double> atol, std::optional<double> rtol) {
  return {atol.value_or(0), rtol.value_or(atol.value_or(0) > 0 ? 0 : default_tolerance(A))};
}

Tensor largest(const Tensor& S) { return S.size(-1) == 0 ? S.sum(-1, true) : S.amax(-1, true); }

/// Which singular values count.
Tensor above(const Tensor& S, Tolerances limits) { return S > maximum(largest(S) * limits.rtol, limits.atol); }

/// Of the symmetric matrices whose lower triangles these have.
Tensor symmetric_of_lower(const Tensor& A) { return tril(A) + transposed(tril(A, -1)); }

template <typename T>
std::vector<Tensor> least_squares(const char* op, const Tensor& A, const Tensor& B, double rcond) {
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), right = B.size(-1);
  Matrices<T> given(A), wanted(B);
  require_finite(op, A, given);
  require_finite(op, B, wanted);
  Results<T> results(batch_of(A), {matrix_part<T>(n, right), vector_part<T>(k)});
  const int64_t longer = std::max(m, n);
  const auto infos = for_each_matrix(k == 0 || right == 0 ? 0 : results.count(), [&](int64_t i) {
    std::vector<T> b(static_cast<size_t>(longer * right));
    for (int64_t column = 0; column < right; ++column)
      std::copy_n(wanted.at(i) + column * m, m, b.data() + column * longer);
    int rank = 0;
    const int info =
        lapack::gelsd(static_cast<int>(m), static_cast<int>(n), static_cast<int>(right), given.at(i), b.data(),
                      results.at(1, i), static_cast<T>(std::min(rcond, 2.0)), &rank);  // from 1 on no value counts
    for (int64_t column = 0; column < right; ++column)
      std::copy_n(b.data() + column * longer, n, results.at(0, i) + column * n);
    return info;
  });
  require_success(op, results.batch(), infos, "did not converge ({})");
  return results.tensors(A.device());
}

}  // namespace

Qr qr(const Tensor& A, std::string_view mode) {
  constexpr const char* kName = "linalg.qr";
  require_matrices(kName, A);
  if (mode != "reduced" && mode != "complete" && mode != "r")
    base::fail(kName, "mode is 'reduced', 'complete' or 'r', not '{}'", mode);
  require_host(kName, A);
  const bool complete = mode == "complete", with_q = mode != "r";
  const bool has_more_rows = A.size(-2) > A.size(-1);
  const SavingFunction function{
      kName,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        std::vector<Tensor> made =
            with_type(in[0].dtype(), [&]<typename T>() { return qr_factors<T>(in[0], complete, with_q); });
        context.save_for_backward({in[0], made[0], made[1]});
        return made;
      },
      [=](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        if (!with_q) base::fail(kName, "has no gradient with mode='r', which leaves out Q; take mode='reduced'");
        if (complete && has_more_rows)
          base::fail(kName, "has no gradient with mode='complete' and more rows than columns; take mode='reduced'");
        const auto& saved = context.saved_tensors();
        return {qr_backward(saved[0], saved[1], saved[2], grads[0], grads[1])};
      }};
  const std::vector<Tensor> made = apply(function, std::vector<Tensor>{A});
  return {with_q ? made[0] : zeros({0}, Options(A.dtype(), A.device())), made[1]};
}

Svd svd(const Tensor& A, bool full_matrices) { return svd_of("linalg.svd", A, full_matrices); }
Tensor svdvals(const Tensor& A) { return svd_of("linalg.svdvals", A, false).S; }
Eigen eigh(const Tensor& A, std::string_view UPLO) { return eigh_of("linalg.eigh", A, UPLO); }
Tensor eigvalsh(const Tensor& A, std::string_view UPLO) { return eigh_of("linalg.eigvalsh", A, UPLO).eigenvalues; }

Tensor pinv_backward(const Tensor& grad, const Tensor& P, const Tensor& A) {
  const Tensor G = transposed(grad), Pt = transposed(P);
  if (A.size(-2) <= A.size(-1)) {
    const Tensor K = matmul(G, P), KPt = matmul(K, Pt);
    return KPt - transposed(matmul(P, K)) - matmul(matmul(A, P), KPt) + matmul(matmul(Pt, P), G - matmul(K, A));
  }
  const Tensor K = matmul(P, G), PtK = matmul(Pt, K);
  return PtK - transposed(matmul(K, P)) + matmul(matmul(G - matmul(A, K), P), Pt) - matmul(matmul(PtK, P), A);
}

Tensor pinv(const Tensor& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  constexpr const char* kName = "linalg.pinv";
  if (hermitian)
    require_square(kName, A);
  else
    require_matrices(kName, A);
  require_host(kName, A);
  const Tolerances limits = tolerances(A, atol, rtol);
  const SavingFunction function{
      kName,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        const Svd found = svd_of(kName, hermitian ? symmetric_of_lower(in[0]) : in[0], false);
        const Tensor inverted = where(above(found.S, limits), 1 / found.S, 0);
        std::vector<Tensor> made{matmul(transposed(found.Vh), scaled_rows(transposed(found.U), inverted))};
        context.save_for_backward({in[0], made[0]});
        return made;
      },
      [](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        return {pinv_backward(grads[0], context.saved_tensors()[1], context.saved_tensors()[0])};
      }};
  return apply(function, A);
}

LeastSquares lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond) {
  constexpr const char* kName = "linalg.lstsq";
  require_matrices(kName, A);
  record::require_same_device(kName, A, B);
  if (A.dtype() != B.dtype())
    base::fail(kName, "dtypes {} and {} differ; convert one with to()", name(A.dtype()), name(B.dtype()));
  const bool is_of_vectors = B.dim() == A.dim() - 1;
  const Tensor columns = is_of_vectors ? B.unsqueeze(-1) : B;
  if (columns.dim() != A.dim() || columns.size(-2) != A.size(-2) || batch_of(columns) != batch_of(A))
    base::fail(kName, "shapes {} and {} do not fit: B has a row for each row of A", ir::to_string(A.shape()),
               ir::to_string(B.shape()));
  require_host(kName, A);
  require_host(kName, columns);
  const double limit = rcond.value_or(default_tolerance(A));
  if (std::isnan(limit)) base::fail(kName, "rcond is a number, not nan");  // LAPACK would end the process
  const SavingFunction function{
      kName,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        context.save_for_backward({in[0], in[1]});
        return with_type(in[0].dtype(), [&]<typename T>() { return least_squares<T>(kName, in[0], in[1], limit); });
      },
      [=](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        if (!grads[0].defined()) return {Tensor(), Tensor()};
        const Tensor &of = context.saved_tensors()[0], &b = context.saved_tensors()[1];
        const Tensor P = pinv(of, {}, limit);
        return {pinv_backward(matmul(grads[0], transposed(b)), P, of), matmul(transposed(P), grads[0])};
      }};
  const std::vector<Tensor> made = apply(function, std::vector<Tensor>{A, columns});
  const Tensor singular = made[1].detach();
  const Tensor rank = above(singular, {0, limit}).sum(-1);
  const bool is_tall = A.size(-2) > A.size(-1);
  const bool has_residuals = is_tall && rank.eq(A.size(-1)).all().item<bool>();
  const Tensor residuals =
      has_residuals ? (matmul(A, made[0]) - columns).square().sum(-2) : zeros({0}, Options(A.dtype(), A.device()));
  return {is_of_vectors ? made[0].squeeze(-1) : made[0], residuals, rank, singular};
}

Tensor matrix_rank(const Tensor& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  constexpr const char* kName = "linalg.matrix_rank";
  if (hermitian)
    require_square(kName, A);
  else
    require_matrices(kName, A);
  const Tensor S = svd_of(kName, hermitian ? symmetric_of_lower(A.detach()) : A.detach(), false).S;
  return above(S, tolerances(A, atol, rtol)).sum(-1);
}

}  // namespace tenon::linalg
