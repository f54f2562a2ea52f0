// Solving, inverses, determinants and the factorisation of positive-definite matrices.

#include <cmath>

#include "tenon/linalg/host.h"
#include "tenon/tensor/record.h"

namespace tenon::linalg {
namespace {

constexpr const char* kSingular = "is singular: diagonal element {} of its factorisation is 0";

// ---- inverses ----

template <typename T>
std::vector<Tensor> inverses(const char* op, const Tensor& A, bool must_exist) {
  const int64_t n = A.size(-1);
  Matrices<T> given(A);
  Results<T> results(batch_of(A), {matrix_part<T>(n, n)});
  const auto infos = for_each_matrix(n == 0 ? 0 : results.count(), [&](int64_t i) {
    T* inverse = results.at(0, i);
    std::copy_n(given.at(i), n * n, inverse);
    std::vector<int> pivots(static_cast<size_t>(n));
    int info = lapack::getrf(static_cast<int>(n), inverse, pivots.data());
    if (info == 0) info = lapack::getri(static_cast<int>(n), inverse, pivots.data());
    if (info != 0) std::fill_n(inverse, n * n, std::numeric_limits<T>::infinity());
    return info;
  });
  if (must_exist) require_success(op, results.batch(), infos, kSingular);
  return results.tensors(A.device());
}

Tensor inverse(const char* op, const Tensor& A, bool must_exist) {
  require_square(op, A);
  require_host(op, A);
  const SavingFunction function{
      op,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        std::vector<Tensor> made =
            with_type(in[0].dtype(), [&]<typename T>() { return inverses<T>(op, in[0], must_exist); });
        context.save_for_backward(made);
        return made;
      },
      [](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        const Tensor turned = transposed(context.saved_tensors()[0]);
        return {-matmul(matmul(turned, grads[0]), turned)};
      }};
  return apply(function, A);
}

// ---- systems ----

/// Both with one batch; B is a matrix for each A, even if it was a vector.
struct System {
  Tensor A, B;
  bool is_of_vectors;
};

System system_of(const char* op, const Tensor& A, const Tensor& B, bool left) {
  require_square(op, A);
  record::require_same_device(op, A, B);
  if (A.dtype() != B.dtype())
    base::fail(op, "dtypes {} and {} differ; convert one with to()", name(A.dtype()), name(B.dtype()));
  const bool is_of_vectors =
      B.dim() == 1 || (B.dim() == A.dim() - 1 && std::equal(B.shape().begin(), B.shape().end(), A.shape().begin()));
  if (is_of_vectors && !left) base::fail(op, "left=False takes matrices B, got shape {}", ir::to_string(B.shape()));
  const Tensor columns = is_of_vectors ? B.unsqueeze(-1) : B;
  if (columns.size(left ? -2 : -1) != A.size(-1))
    base::fail(op, "shapes {} and {} do not fit: {} equations for {} unknowns", ir::to_string(A.shape()),
               ir::to_string(B.shape()), columns.size(left ? -2 : -1), A.size(-1));
  const Dims batch = record::broadcast(op, batch_of(A), batch_of(columns));
  const auto expanded = [&](const Tensor& x) {
    Dims shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.shape() == shape ? x : x.expand(shape);
  };
  return {expanded(A), expanded(columns), is_of_vectors};
}

template <typename T>
std::vector<Tensor> solutions(const char* op, const Tensor& A, const Tensor& B) {
  const int64_t n = A.size(-1), columns = B.size(-1);
  Matrices<T> left(A), right(B);
  Results<T> results(batch_of(A), {matrix_part<T>(n, columns)});
  const auto infos = for_each_matrix(n == 0 ? 0 : results.count(), [&](int64_t i) {
    std::copy_n(right.at(i), n * columns, results.at(0, i));
    std::vector<int> pivots(static_cast<size_t>(n));
    return lapack::gesv(static_cast<int>(n), static_cast<int>(columns), left.at(i), pivots.data(), results.at(0, i));
  });
  require_success(op, results.batch(), infos, kSingular);
  return results.tensors(A.device());
}

/// A X = B of one batch.
Tensor solved(const char* op, const Tensor& A, const Tensor& B) {
  require_host(op, A);
  require_host(op, B);
  const SavingFunction function{
      op,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        std::vector<Tensor> made =
            with_type(in[0].dtype(), [&]<typename T>() { return solutions<T>(op, in[0], in[1]); });
        context.save_for_backward({in[0], made[0]});
        return made;
      },
      [=](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        const Tensor of_B = solved(op, transposed(context.saved_tensors()[0]), grads[0]);
        return {-matmul(of_B, transposed(context.saved_tensors()[1])), of_B};
      }};
  return apply(function, std::vector<Tensor>{A, B})[0];
}

struct Triangle {
  bool upper, unit_diagonal;
};

template <typename T>
std::vector<Tensor> triangular_solutions(const char* op, const Tensor& A, const Tensor& B, Triangle triangle) {
  const int64_t n = A.size(-1), columns = B.size(-1);
  Matrices<T> left(A), right(B);
  Results<T> results(batch_of(A), {matrix_part<T>(n, columns)});
  const auto infos = for_each_matrix(n == 0 ? 0 : results.count(), [&](int64_t i) {
    std::copy_n(right.at(i), n * columns, results.at(0, i));
    return lapack::trtrs(triangle.upper, triangle.unit_diagonal, static_cast<int>(n), static_cast<int>(columns),
                         left.at(i), results.at(0, i));
  });
  require_success(op, results.batch(), infos, "is singular: element {} of its diagonal is 0");
  return results.tensors(A.device());
}

Tensor solved_triangular(const char* op, const Tensor& A, const Tensor& B, Triangle triangle) {
  require_host(op, A);
  require_host(op, B);
  const SavingFunction function{
      op,
      [=](FunctionContext& context, std::span<const Tensor> in) {
        std::vector<Tensor> made =
            with_type(in[0].dtype(), [&]<typename T>() { return triangular_solutions<T>(op, in[0], in[1], triangle); });
        context.save_for_backward({in[0], made[0]});
        return made;
      },
      [=](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        const Tensor of_B = solved_triangular(op, transposed(context.saved_tensors()[0]), grads[0],
                                              {!triangle.upper, triangle.unit_diagonal});
        const Tensor of_A = -matmul(of_B, transposed(context.saved_tensors()[1]));
        const int64_t off = triangle.unit_diagonal ? 1 : 0;
        return {triangle.upper ? triu(of_A, off) : tril(of_A, -off), of_B};
      }};
  return apply(function, std::vector<Tensor>{A, B})[0];
}

// ---- determinants ----

/// Of one matrix, as its sign and the logarithm of its absolute value, or as itself.
struct Determinant {
  double sign = 1, log = 0, value = 1;
};

template <typename T>
Determinant determinant(int64_t n, T* a) {
  std::vector<int> pivots(static_cast<size_t>(n));
  Determinant found;
  if (n == 0) return found;
  lapack::getrf(static_cast<int>(n), a, pivots.data());
  for (int64_t i = 0; i < n; ++i) {
    const double on_diagonal = static_cast<double>(a[i * n + i]);
    const double sign = pivots[static_cast<size_t>(i)] == i + 1 ? 1 : -1;
    found.value *= sign * on_diagonal;
    found.sign *= on_diagonal == 0 ? 0 : std::signbit(on_diagonal) ? -sign : sign;
    found.log += std::log(std::abs(on_diagonal));
  }
  return found;
}

template <typename T>
std::vector<Tensor> determinants(const Tensor& A, bool as_logarithm) {
  const int64_t n = A.size(-1);
  Matrices<T> given(A);
  std::vector<typename Results<T>::Part> parts(as_logarithm ? 2 : 1, vector_part<T>(1));
  Results<T> results(batch_of(A), parts);
  for_each_matrix(results.count(), [&](int64_t i) {
    const Determinant found = determinant(n, given.at(i));
    *results.at(0, i) = static_cast<T>(as_logarithm ? found.sign : found.value);
    if (as_logarithm) *results.at(1, i) = static_cast<T>(found.log);
    return 0;
  });
  std::vector<Tensor> made = results.tensors(A.device());
  for (Tensor& one : made) one = one.squeeze(-1);
  return made;
}

/// det(A) times the transposed inverse, which exists for singular matrices too: products of all singular values but
/// one.
Tensor cofactors(const Tensor& A) {
  const Svd found = svd(A, false);
  const int64_t n = A.size(-1);
  const Tensor others = where(identity(n, A).to(DType::boolean), 1, found.S.unsqueeze(-2)).prod(-1);
  const Tensor sign = det(found.U) * det(found.Vh);
  return sign.unsqueeze(-1).unsqueeze(-1) * matmul(scaled_columns(found.U, others), found.Vh);
}

// ---- positive-definite matrices ----

template <typename T>
std::vector<Tensor> cholesky_factors(const Tensor& A) {
  const int64_t n = A.size(-1);
  Matrices<T> given(A);
  Results<T> results(batch_of(A), {matrix_part<T>(n, n)});
  const auto infos = for_each_matrix(n == 0 ? 0 : results.count(), [&](int64_t i) {
    T* factor = results.at(0, i);
    std::copy_n(given.at(i), n * n, factor);
    const int info = lapack::potrf(static_cast<int>(n), factor);
    for (int64_t column = 1; column < n; ++column) std::fill_n(factor + column * n, column, T(0));
    return info;
  });
  require_success("linalg.cholesky", results.batch(), infos,
                  "is not positive-definite: its leading minor of order {} is not positive");
  return results.tensors(A.device());
}

std::vector<Tensor> cholesky_backward(const FunctionContext& context, std::span<const Tensor> grads) {
  const Tensor& L = context.saved_tensors()[0];
  const Tensor product = tril(matmul(transposed(L), grads[0]));
  const Tensor symmetric = product + transposed(tril(product, -1));
  // L⁻ᵀ S L⁻¹ / 2, which is symmetric because S is.
  const Tensor half = solve_triangular(transposed(L), symmetric / 2, true);
  return {solve_triangular(L, half, false, false)};
}

}  // namespace

Tensor inv(const Tensor& A) { return inverse("linalg.inv", A, true); }

Tensor inverse_or_infinite(const char* op, const Tensor& A) { return inverse(op, A, false); }

Tensor solve(const Tensor& A, const Tensor& B, bool left) {
  const System system = system_of("linalg.solve", A, B, left);
  if (!left) return transposed(solved("linalg.solve", transposed(system.A), transposed(system.B)));
  const Tensor X = solved("linalg.solve", system.A, system.B);
  return system.is_of_vectors ? X.squeeze(-1) : X;
}

Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular) {
  constexpr const char* kName = "linalg.solve_triangular";
  if (B.dim() < 2) base::fail(kName, "takes matrices B, got shape {}", ir::to_string(B.shape()));
  const System system = system_of(kName, A, left || B.dim() != A.dim() - 1 ? B : B.unsqueeze(0), left);
  if (system.is_of_vectors) base::fail(kName, "takes matrices B, got shape {}", ir::to_string(B.shape()));
  if (left) return solved_triangular(kName, system.A, system.B, {upper, unitriangular});
  return transposed(solved_triangular(kName, transposed(system.A), transposed(system.B), {!upper, unitriangular}));
}

Tensor det(const Tensor& A) {
  require_square("linalg.det", A);
  require_host("linalg.det", A);
  const SavingFunction function{
      "linalg.det",
      [](FunctionContext& context, std::span<const Tensor> in) {
        std::vector<Tensor> made =
            with_type(in[0].dtype(), [&]<typename T>() { return determinants<T>(in[0], false); });
        context.save_for_backward({in[0], made[0]});
        return made;
      },
      [](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        const Tensor &of = context.saved_tensors()[0], &value = context.saved_tensors()[1];
        const auto over_matrices = [](const Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); };
        if (value.eq(0).any().item<bool>()) return {over_matrices(grads[0]) * cofactors(of)};
        return {over_matrices(grads[0] * value) * transposed(inv(of))};
      }};
  return apply(function, A);
}

SignAndLog slogdet(const Tensor& A) {
  require_square("linalg.slogdet", A);
  require_host("linalg.slogdet", A);
  const SavingFunction function{
      "linalg.slogdet",
      [](FunctionContext& context, std::span<const Tensor> in) {
        context.save_for_backward({in[0]});
        return with_type(in[0].dtype(), [&]<typename T>() { return determinants<T>(in[0], true); });
      },
      [](const FunctionContext& context, std::span<const Tensor> grads) -> std::vector<Tensor> {
        if (!grads[1].defined()) return {Tensor()};  // the sign is flat
        const Tensor inverse = inverse_or_infinite("linalg.slogdet", context.saved_tensors()[0]);
        return {grads[1].unsqueeze(-1).unsqueeze(-1) * transposed(inverse)};
      }};
  const std::vector<Tensor> made = apply(function, std::vector<Tensor>{A});
  return {made[0], made[1]};
}

Tensor cholesky(const Tensor& A, bool upper) {
  require_square("linalg.cholesky", A);
  require_host("linalg.cholesky", A);
  const SavingFunction function{"linalg.cholesky",
                                [](FunctionContext& context, std::span<const Tensor> in) {
                                  std::vector<Tensor> made = with_type(
                                      in[0].dtype(), [&]<typename T>() { return cholesky_factors<T>(in[0]); });
                                  context.save_for_backward(made);
                                  return made;
                                },
                                cholesky_backward};
  const Tensor L = apply(function, A);
  return upper ? transposed(L) : L;
}

}  // namespace tenon::linalg
