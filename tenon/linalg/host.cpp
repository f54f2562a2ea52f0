#include "tenon/linalg/host.h"

#include "tenon/tensor/mapping.h"

namespace tenon::linalg {

void require_matrices(const char* op, const Tensor& x) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64)
    base::fail(op, "takes f32 or f64, got {}; convert it with to()", name(x.dtype()));
  if (x.dim() < 2) base::fail(op, "takes matrices, got shape {}", ir::to_string(x.shape()));
}

void require_square(const char* op, const Tensor& x) {
  require_matrices(op, x);
  if (x.size(-1) != x.size(-2)) base::fail(op, "takes square matrices, got shape {}", ir::to_string(x.shape()));
}

void require_host(const char* op, const Tensor& x) {
  if (const char* who = without_values())
    base::fail(op, "is computed by the host, which needs values that {} does not have; do it outside", who);
  if (x.size(-1) * x.size(-2) > std::numeric_limits<int>::max())
    base::fail(op, "matrices of shape {} are too large for LAPACK", ir::to_string(x.shape()));
  lapack::require(op);
}

void fail_matrix(const char* op, const Dims& batch, size_t i, const std::string& what) {
  try {
    if (batch.empty()) base::fail(op, "the matrix {}", what);
    base::fail(op, "batch element {}: the matrix {}", i, what);
  } catch (const Error& error) {
    throw LinAlgError(error.what());
  }
}

void require_success(const char* op, const Dims& batch, const std::vector<int>& infos, const char* what) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i] != 0) fail_matrix(op, batch, i, fmt::format(fmt::runtime(what), infos[i]));
  }
}

double default_tolerance(const Tensor& A) {
  const double epsilon = A.dtype() == DType::f32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                                                 : std::numeric_limits<double>::epsilon();
  return epsilon * static_cast<double>(std::max(A.size(-1), A.size(-2)));
}

}  // namespace tenon::linalg
