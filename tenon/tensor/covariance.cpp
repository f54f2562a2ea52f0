// Statistics of several observations: covariances of rows, and areas below points.

#include <algorithm>
#include <limits>

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

using base::fail;

Tensor as_real(const Tensor& x) { return x.to(record::real_type(x.dtype())); }

// The distances between neighbours, as they stand beside the heights between them.
Tensor widths_between(const Tensor& places, const Tensor& heights, size_t axis) {
  const int64_t count = heights.shape()[axis];
  const auto rank = static_cast<int64_t>(heights.shape().size());
  if (places.dim() == 1) {
    if (places.size(0) != count)
      fail("trapezoid", "{} places do not fit {} heights along dim {}", places.size(0), count, axis);
    Dims beside{count - 1};
    beside.resize(static_cast<size_t>(rank) - axis, 1);
    return sub(places.slice(0, 1), places.slice(0, 0, -1)).reshape(beside);
  }
  const int64_t along = static_cast<int64_t>(axis) - rank, given = places.size(along);
  return sub(places.narrow(along, 1, given - 1), places.narrow(along, 0, given - 1));
}

struct Weights {
  Tensor all;         // counts times importances; undefined where none are given
  Tensor importance;  // undefined where it is not given
};

Tensor checked_weights(std::string_view what, const Tensor& given, int64_t observations, bool is_real) {
  if (given.dim() > 1 || given.numel() != observations)
    fail("cov", "{} of shape {} are not one for each of {} observations", what, ir::to_string(given.shape()),
         observations);
  if (is_float(given.dtype()) != is_real)
    fail("cov", "the {} are {}, got {}", what, is_real ? "numbers of floating point" : "integers", name(given.dtype()));
  // What is still to be computed is not waited for.
  if (!Trace::current() && given.numel() > 0 && given.is_evaluated()) {
    const NoGrad looking;
    if (any(lt(given, 0)).item<bool>()) fail("cov", "the {} must not be negative", what);
  }
  return given.reshape({observations});
}

Weights weights_of(const Tensor& counts, const Tensor& importance, int64_t observations) {
  Weights made;
  if (counts.defined()) made.all = checked_weights("fweights", counts, observations, false);
  if (!importance.defined()) return made;
  made.importance = checked_weights("aweights", importance, observations, true);
  made.all = made.all.defined() ? mul(made.all, made.importance) : made.importance;
  return made;
}

}  // namespace

Tensor trapezoid(const Tensor& y, const Tensor& x, std::optional<double> dx, int64_t dim) {
  if (x.defined() && dx) fail("trapezoid", "takes places x or a distance dx, not both");
  const size_t axis = record::axis("trapezoid", dim, y.shape().size());
  const auto along = static_cast<int64_t>(axis);
  const int64_t count = y.shape()[axis];
  if (count == 0) return as_real(sum(y, along));
  if (!x.defined()) {
    const Tensor ends = add(y.select(along, 0), y.select(along, -1));
    return mul(as_real(sub(as_real(sum(y, along)), mul(ends, 0.5))), dx.value_or(1));
  }
  record::require_same_device("trapezoid", y, x);
  // In the dtype that is given, as in PyTorch: u8 wraps.
  const Tensor heights = add(y.narrow(along, 1, count - 1), y.narrow(along, 0, count - 1));
  return div(as_real(sum(mul(heights, widths_between(x, y, axis)), along)), 2);
}

Tensor cov(const Tensor& given, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  if (given.dim() > 2) fail("cov", "takes a matrix or a vector, got {}", ir::to_string(given.shape()));
  const Tensor real = as_real(given), rows = real.dim() < 2 ? real.reshape({1, -1}) : real;
  const int64_t observations = rows.size(1);
  const auto [weights, importance] = weights_of(fweights, aweights, observations);
  if (!weights.defined()) {
    const Tensor centred = sub(rows, mean(rows, 1, true)), product = matmul(centred, centred.t());
    const int64_t norm = std::max<int64_t>(observations - correction, 0);
    const double infinity = std::numeric_limits<double>::infinity();
    return (norm == 0 ? mul(product, infinity) : div(product, norm)).squeeze();
  }
  const DType dtype = promote(rows.dtype(), weights.dtype());
  const Tensor x = rows.to(dtype), w = weights.to(dtype), total = sum(w);
  const Tensor centred = sub(x, div(sum(mul(x, w), 1, true), total));
  Tensor norm = total;
  if (correction != 0 && !importance.defined()) norm = sub(total, correction);
  if (correction != 0 && importance.defined()) norm = sub(total, div(mul(sum(mul(w, importance)), correction), total));
  return div(matmul(mul(centred, w), centred.t()), clamp_min(norm, 0)).squeeze();
}

Tensor corrcoef(const Tensor& x) {
  if (x.dim() > 2) fail("corrcoef", "takes a matrix or a vector, got {}", ir::to_string(x.shape()));
  return record::in_wide(as_real(x), [&](const Tensor& w) {
    const Tensor all = cov(w);
    if (all.dim() == 0) return div(all, all);
    const Tensor deviations = sqrt(all.diagonal());
    return clamp(div(div(all, deviations.unsqueeze(1)), deviations), -1, 1);
  });
}

}  // namespace tenon
