#include "tenon/fft/fft.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/fft/fftw.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::fft {
namespace {

using base::fail;
using fftw::Kind;

/// Transforms of the last dims of a tensor, those before the pairs: which op asks, and the sizes of its real side.
struct Transform {
  const char* op;
  Kind kind;
  std::vector<int> sizes;

  Transform as(Kind other) const { return {op, other, sizes}; }
  int64_t half() const { return sizes.back() / 2 + 1; }
};

// ---- on the host ----

template <typename T>
Tensor computed(const Transform& transform, const Tensor& x) {
  std::vector<T> from = x.detach().to_vector<T>();
  const bool takes_reals = transform.kind == Kind::real_to_complex,
             gives_reals = transform.kind == Kind::complex_to_real;
  const size_t rank = transform.sizes.size();
  Dims shape(x.shape().begin(), x.shape().end() - static_cast<ptrdiff_t>(rank + (takes_reals ? 0 : 1)));
  const int64_t count = ir::count(shape);
  for (const int size : transform.sizes) shape.push_back(size);
  if (takes_reals) shape.back() = transform.half();
  if (!gives_reals) shape.push_back(2);
  std::vector<T> to(static_cast<size_t>(ir::count(shape)));
  fftw::transform(transform.kind, transform.sizes, count, from.data(), to.data());
  return from_vector(to, shape, Options(x.device()));
}

Tensor applied(const Transform& transform, const Tensor& x);

/// What a gradient of the result is to the operand: the transposed transform.
Tensor transposed(const Transform& of, const Tensor& grad) {
  switch (of.kind) {
    case Kind::forward: return applied(of.as(Kind::backward), grad);
    case Kind::backward: return applied(of.as(Kind::forward), grad);
    case Kind::real_to_complex: {  // the half that is not there has no gradient
      const Tensor whole = pad(grad, {0, 0, 0, of.sizes.back() - of.half()});
      return applied(of.as(Kind::backward), whole).select(-1, 0);
    }
    default: {  // all but the first element, and the middle one of an even number, stand for two
      const int64_t twice = of.sizes.back() - of.half();
      const Tensor half = applied(of.as(Kind::real_to_complex), grad);
      const Tensor place = arange(of.half(), Options(half.device())).unsqueeze(-1);
      return half * where(logical_and(ge(place, 1), le(place, twice)), 2.0, 1.0).to(half.dtype());
    }
  }
}

Tensor applied(const Transform& transform, const Tensor& x) {
  const CustomFunction function{transform.op,
                                [transform](std::span<const Tensor> in) {
                                  return std::vector{in[0].dtype() == DType::f64 ? computed<double>(transform, in[0])
                                                                                 : computed<float>(transform, in[0])};
                                },
                                [transform](std::span<const Tensor>, std::span<const Tensor> grads) {
                                  return std::vector{transposed(transform, grads[0])};
                                }};
  return apply(function, x);
}

// ---- arguments ----

/// Real numbers, or pairs of them.
Tensor prepared(const char* op, const Tensor& x, bool is_complex) {
  if (const char* who = without_values())
    fail(op, "is computed by the host, which needs values that {} does not have; do it outside", who);
  fftw::require(op);
  if (x.dtype() == DType::f16 || x.dtype() == DType::bf16)
    fail(op, "takes f32 or f64, got {}; convert it with to()", name(x.dtype()));
  if (is_complex && (x.dim() < 2 || x.size(-1) != 2))
    fail(op, "takes complex numbers as pairs, of shape (..., 2), got {}; rfft() takes real numbers",
         ir::to_string(x.shape()));
  if (x.dim() < 1) fail(op, "takes a dim to transform, got a single number");
  return is_float(x.dtype()) ? x : x.to(DType::f32);
}

double factor_of(const char* op, std::string_view norm, bool is_inverse, double elements) {
  if (norm == "ortho") return 1 / std::sqrt(elements);
  if (norm != "backward" && norm != "forward")
    fail(op, "norm is \"backward\", \"forward\" or \"ortho\", not \"{}\"", norm);
  return (norm == "backward") == is_inverse ? 1 / elements : 1;
}

/// A dim cut, or padded with zeros, to a size.
Tensor resized(const Tensor& x, size_t axis, int64_t size) {
  const int64_t now = x.shape()[axis];
  if (now >= size) return now == size ? x : x.narrow(static_cast<int64_t>(axis), 0, size);
  Dims more(2 * (x.shape().size() - axis), 0);  // the last dim comes first
  more.back() = size - now;
  return pad(x, more);
}

/// Which dims are transformed, in the order given, and the sizes that they are to have.
struct Plan {
  std::vector<size_t> axes;
  std::vector<int64_t> sizes;
};

Plan plan_of(const char* op, const Tensor& x, size_t rank, const Sizes& s, const Sizes& dim) {
  Dims dims;
  if (dim)
    dims = *dim;
  else if (s)
    for (int64_t i = -static_cast<int64_t>(s->size()); i < 0; ++i) dims.push_back(i);
  else
    dims = ir::iota_dims(rank);
  if (s && s->size() != dims.size()) fail(op, "{} sizes are given for {} dims", s->size(), dims.size());
  if (dims.empty()) fail(op, "takes at least one dim");
  Plan plan;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t axis = record::axis(op, dims[i], rank);
    if (std::ranges::find(plan.axes, axis) != plan.axes.end()) fail(op, "dim {} appears more than once", dims[i]);
    plan.axes.push_back(axis);
    const int64_t given = s ? (*s)[i] : -1;
    plan.sizes.push_back(given == -1 ? x.shape()[axis] : given);
  }
  return plan;
}

void require_sizes(const char* op, const std::vector<int64_t>& sizes) {
  for (const int64_t size : sizes) {
    if (size < 1 || size > std::numeric_limits<int>::max()) fail(op, "cannot transform {} elements", size);
  }
}

/// The order of axes with those of a plan after the others, before the pairs.
Dims transformed_last(const Plan& plan, size_t rank, bool has_pairs) {
  Dims order;
  for (size_t i = 0; i < rank; ++i) {
    if (std::ranges::find(plan.axes, i) == plan.axes.end()) order.push_back(static_cast<int64_t>(i));
  }
  for (const size_t axis : plan.axes) order.push_back(static_cast<int64_t>(axis));
  if (has_pairs) order.push_back(static_cast<int64_t>(rank));
  return order;
}

Tensor transformed(const char* op, const Tensor& given, Kind kind, const Sizes& s, const Sizes& dim,
                   std::string_view norm) {
  const bool takes_pairs = kind != Kind::real_to_complex, gives_pairs = kind != Kind::complex_to_real;
  Tensor x = prepared(op, given, takes_pairs);
  const size_t rank = x.shape().size() - (takes_pairs ? 1 : 0);
  Plan plan = plan_of(op, x, rank, s, dim);
  if (kind == Kind::complex_to_real && (!s || s->back() == -1)) plan.sizes.back() = 2 * (plan.sizes.back() - 1);
  require_sizes(op, plan.sizes);
  double elements = 1;
  Transform transform{op, kind, {}};
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    const bool is_half = kind == Kind::complex_to_real && i + 1 == plan.axes.size();
    x = resized(x, plan.axes[i], is_half ? plan.sizes[i] / 2 + 1 : plan.sizes[i]);
    transform.sizes.push_back(static_cast<int>(plan.sizes[i]));
    elements *= static_cast<double>(plan.sizes[i]);
  }
  const bool is_inverse = kind == Kind::backward || kind == Kind::complex_to_real;
  const double factor = factor_of(op, norm, is_inverse, elements);
  const Tensor made = applied(transform, x.permute(transformed_last(plan, rank, takes_pairs)));
  const Tensor back = made.permute(ir::inverse_permutation(transformed_last(plan, rank, gives_pairs)));
  return factor == 1 ? back : back * factor;
}

Sizes one(Size n) { return n ? Sizes(Dims{*n}) : Sizes(); }

}  // namespace

#define TRANSFORM(name, kind)                                                                \
  Tensor name(const Tensor& x, Size n, int64_t dim, std::string_view norm) {                 \
    return transformed("fft." #name, x, kind, one(n), Dims{dim}, norm);                      \
  }                                                                                          \
  Tensor name##2(const Tensor& x, const Sizes& s, const Dims& dim, std::string_view norm) {  \
    return transformed("fft." #name "2", x, kind, s, dim, norm);                             \
  }                                                                                          \
  Tensor name##n(const Tensor& x, const Sizes& s, const Sizes& dim, std::string_view norm) { \
    return transformed("fft." #name "n", x, kind, s, dim, norm);                             \
  }
TRANSFORM(fft, Kind::forward)
TRANSFORM(ifft, Kind::backward)
TRANSFORM(rfft, Kind::real_to_complex)
TRANSFORM(irfft, Kind::complex_to_real)
#undef TRANSFORM

Tensor fftfreq(int64_t n, double d, const Options& options) {
  if (n < 1) fail("fft.fftfreq", "takes a positive number of samples, got {}", n);
  const Tensor place = arange(n, Options(options.dtype.value_or(DType::f32), options.device));
  return where(lt(place, (n + 1) / 2), place, place - n) / (static_cast<double>(n) * d);
}

Tensor rfftfreq(int64_t n, double d, const Options& options) {
  if (n < 1) fail("fft.rfftfreq", "takes a positive number of samples, got {}", n);
  return arange(n / 2 + 1, Options(options.dtype.value_or(DType::f32), options.device)) / (static_cast<double>(n) * d);
}

}  // namespace tenon::fft
