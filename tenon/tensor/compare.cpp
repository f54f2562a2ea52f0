// Comparisons that answer on the host.

#include "tenon/tensor/record.h"

namespace tenon {

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  record::require_same_device("allclose", a, b);
  const Device wide = record::with_f64(a.device());
  const Tensor x = a.detach().to(wide).to(DType::f64), y = b.detach().to(wide).to(DType::f64);
  // Equal infinities have no finite difference.
  Tensor close = logical_or(eq(x, y), le(abs(sub(x, y)), add(mul(abs(y), rtol), atol)));
  close = logical_and(close, logical_or(eq(x, y), isfinite(y)));
  if (equal_nan) close = logical_or(close, logical_and(isnan(x), isnan(y)));
  return all(close).item<bool>();
}

bool equal(const Tensor& a, const Tensor& b) {
  record::require_same_device("equal", a, b);
  if (a.shape() != b.shape()) return false;
  return all(eq(a, b)).item<bool>();
}

}  // namespace tenon
