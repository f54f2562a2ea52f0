// Functions of PyTorch's that are short compositions and have names of their own: signs and angles, tensors side by
// side, copies with a part replaced, positions.

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

using std::numbers::pi;

}  // namespace

// ---- signs and angles ----

namespace {

Tensor is_infinity(const Tensor& x, double infinity) {
  if (!is_float(x.dtype())) return full(x.shape(), false, Options(DType::boolean, x.device()));
  return eq(x, infinity);
}

}  // namespace

Tensor isposinf(const Tensor& x) { return is_infinity(x, std::numeric_limits<double>::infinity()); }
Tensor isneginf(const Tensor& x) { return is_infinity(x, -std::numeric_limits<double>::infinity()); }

Tensor signbit(const Tensor& x) {
  if (x.dtype() == DType::boolean || x.dtype() == DType::u8)
    return full(x.shape(), false, Options(DType::boolean, x.device()));
  if (!is_float(x.dtype())) return lt(x, 0);
  const Tensor values = x.detach();
  return logical_or(lt(values, 0.0), logical_and(eq(values, 0.0), lt(div(1.0, values), 0.0)));
}

Tensor copysign(const Operand& size, const Operand& sign) {
  const Operand operands[] = {size, sign};
  const auto values = record::unified("copysign", operands, record::real_type(record::result_type(operands)));
  const Tensor positive = abs(tensor_of(values[0]));
  const Tensor made = where(signbit(tensor_of(values[1])), neg(positive), positive);
  return sign.is_tensor() ? record::with_flat_part(made, sign.tensor()) : made;
}

namespace {

Tensor with_bits(const Tensor& x, DType dtype) { return tensor_of(ir::bitcast(record::in(x), dtype)); }

// f16 has no integers of its size: in f32 its numbers are 2^13 apart, those below 2^-14 are multiples of the least.
Tensor next_half(const Tensor& from, const Tensor& to, const Tensor& next) {
  constexpr double kLeast = 0x1p-24, kLeastNormal = 0x1p-14, kMost = 65504;
  const Tensor sign = where(eq(from, 0), to, from);
  const Tensor small = copysign(abs(add(from, where(lt(from, to), kLeast, -kLeast))), sign);
  return where(isinf(from), copysign(kMost, sign), where(le(abs(from), kLeastNormal), small, next));
}

// Without the sign the bits of a float are in the order of the numbers.
Tensor next_values(const Tensor& x, const Tensor& other) {
  record::require_float("nextafter", x);
  record::require_float("nextafter", other);
  const Operand operands[] = {x.detach(), other.detach()};
  const auto values = record::unified("nextafter", operands);
  const DType dtype = values[0].dtype(), wide = accumulator(dtype);
  const DType bits = wide == DType::f64 ? DType::i64 : DType::i32;
  const int64_t step = dtype == DType::bf16 ? int64_t{1} << 16 : dtype == DType::f16 ? int64_t{1} << 13 : 1;
  const int64_t minus_0 =
      bits == DType::i64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  const Tensor from = tensor_of(values[0]).to(wide), to = tensor_of(values[1]).to(wide);
  const Tensor grows = eq(lt(from, to), gt(from, 0));
  const Tensor moved = with_bits(add(with_bits(from, bits), where(grows, step, -step).to(bits)), wide);
  const Tensor least = with_bits(where(lt(to, 0), minus_0 + step, step).to(bits), wide);
  const Tensor next = dtype == DType::f16 ? next_half(from, to, moved) : where(eq(from, 0), least, moved);
  const Tensor is_nan = logical_or(isnan(from), isnan(to));
  return where(is_nan, add(from, to), where(eq(from, to), to, next)).to(dtype);
}

}  // namespace

Tensor nextafter(const Tensor& x, const Tensor& other) {
  const Tensor next = next_values(x, other);
  if (!grad_enabled() || !(x.requires_grad() || other.requires_grad())) return next;
  const Tensor followed = add(where(eq(x, other), 0, x), mul(other, 0)).to(next.dtype());
  return tensor_of(with_history(record::in(next), record::in(followed)));
}

Tensor heaviside(const Tensor& x, const Tensor& at_0) {
  if (x.dtype() != at_0.dtype())
    base::fail("heaviside", "takes two tensors of one dtype, got {} and {}", name(x.dtype()), name(at_0.dtype()));
  return where(eq(x, 0), at_0.detach(), gt(x, 0).to(x.dtype()));
}

Tensor float_power(const Operand& x, const Operand& exponent) {
  const auto in_f64 = [](const Operand& given) {
    return given.is_tensor() ? Operand(given.tensor().to(DType::f64)) : Operand(given.number().as_double());
  };
  return pow(in_f64(x), in_f64(exponent));
}

Tensor sinc(const Tensor& x) {
  return record::in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& wide) {
    const Tensor is_0 = eq(wide, 0.0), angle = mul(where(is_0, 1.0, wide), pi);
    return where(is_0, 1.0, div(sin(angle), angle));
  });
}

Tensor deg2rad(const Tensor& x) { return mul(x.to(record::real_type(x.dtype())), pi / 180); }
Tensor rad2deg(const Tensor& x) { return mul(x.to(record::real_type(x.dtype())), 180 / pi); }

Tensor dist(const Tensor& a, const Tensor& b, double p) { return norm(sub(a, b), p); }

// ---- the larger, the smaller and logarithms ----

Tensor fmax(const Tensor& a, const Tensor& b) { return where(isnan(b), a, where(isnan(a), b, maximum(a, b))); }
Tensor fmin(const Tensor& a, const Tensor& b) { return where(isnan(b), a, where(isnan(a), b, minimum(a, b))); }

namespace {

// x times a logarithm of y that begins at `low`, and 0 where x is 0. There the slopes are PyTorch's: for y x / (y -
// low), for x the logarithm, or 0 where there is none. A root has those that are infinite, and 0 times infinity is NaN.
Tensor times_logarithm(std::string_view op, const Operand& a, const Operand& b, double low,
                       Tensor (*logarithm)(const Tensor&)) {
  const Operand operands[] = {a, b};
  const DType dtype = record::real_type(record::result_type(operands)), wide = accumulator(dtype);
  const auto values = record::unified(op, operands, wide);
  const Tensor x = tensor_of(values[0]), y = tensor_of(values[1]), is_0 = eq(x, 0.0);
  const Tensor is_infinite = logical_and(is_0, eq(y, std::numeric_limits<double>::infinity()));
  const Tensor has_no_log = logical_or(logical_and(is_0, le(y, low)), is_infinite);
  Tensor made = mul(x, logarithm(where(has_no_log, low + 1, y)));
  const auto root_where = [](const Tensor& here, const Tensor& of) { return sqrt(where(here, of, 1.0)); };
  if (x.requires_grad()) made = where(is_infinite, root_where(is_infinite, x), made);
  if (y.requires_grad()) {
    const Tensor begins = logical_and(is_0, eq(y, low));
    made = where(begins, mul(x.detach(), root_where(begins, sub(y, low))), made);
  }
  return made.to(dtype);
}

}  // namespace

Tensor xlogy(const Operand& a, const Operand& b) {
  return times_logarithm("xlogy", a, b, 0, [](const Tensor& y) { return log(y); });
}

Tensor special_xlog1py(const Operand& a, const Operand& b) {
  return times_logarithm("special_xlog1py", a, b, -1, [](const Tensor& y) { return log1p(y); });
}

// ---- products of another kind ----

Tensor inner(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  if (a.size(-1) != b.size(-1))
    base::fail("inner", "needs last dims of one size, not {} and {}", ir::to_string(a.shape()),
               ir::to_string(b.shape()));
  return tensordot(a, b, {a.dim() - 1}, {b.dim() - 1});
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const size_t dims = std::max(a.shape().size(), b.shape().size());
  Dims left(2 * dims, 1), right(2 * dims, 1), joined(dims);
  for (size_t i = 0; i < dims; ++i) {
    const auto size = [&](const Tensor& x) {
      const size_t lead = dims - x.shape().size();
      return i < lead ? 1 : x.shape()[i - lead];
    };
    left[2 * i] = size(a);
    right[2 * i + 1] = size(b);
    joined[i] = size(a) * size(b);
  }
  return record::apart(mul(a.reshape(left), b.reshape(right)).reshape(joined));
}

Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> along) {
  const Dims& shape = a.shape();
  const int64_t first = std::find(shape.begin(), shape.end(), 3) - shape.begin();
  const int64_t dim = along.value_or(first < a.dim() ? first : -1);
  if (a.size(dim) != 3 || b.size(dim) != 3)
    base::fail("cross", "needs three elements along dim {}, not {} and {}", dim, ir::to_string(shape),
               ir::to_string(b.shape()));
  return sub(mul(roll(a, -1, dim), roll(b, 1, dim)), mul(roll(a, 1, dim), roll(b, -1, dim)));
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const size_t rank = x.shape().size() + 1;
  if (record::axis("diag_embed", dim1, rank) == record::axis("diag_embed", dim2, rank))
    base::fail("diag_embed", "needs two dims, not {} twice", dim1);
  if (x.dim() == 0) base::fail("diag_embed", "takes at least a vector");
  const int64_t distance = std::abs(offset), count = x.size(-1) + distance;
  const Tensor places = arange(count, Options(DType::i64, x.device()));
  const Tensor wide = pad(x, {0, distance}).unsqueeze(offset >= 0 ? -1 : -2);
  const Tensor zero = zeros({}, Options(x.dtype(), x.device()));
  const Tensor matrices = where(eq(sub(places, places.unsqueeze(-1)), offset), wide, zero);
  return record::apart(movedim(matrices, Dims{-2, -1}, Dims{dim1, dim2}));
}

Tensor bucketize(const Operand& x, const Tensor& boundaries, bool out_int32, bool right) {
  if (boundaries.dim() != 1)
    base::fail("bucketize", "needs a vector of boundaries, not {}", ir::to_string(boundaries.shape()));
  return searchsorted(boundaries, x, out_int32, right);
}

// ---- side by side ----

Tensor column_stack(std::span<const Tensor> tensors) {
  std::vector<Tensor> columns;
  for (const Tensor& one : tensors) columns.push_back(one.dim() < 2 ? one.reshape({one.numel(), 1}) : one);
  return cat(columns, 1);
}

Tensor dstack(std::span<const Tensor> tensors) {
  std::vector<Tensor> planes;
  for (const Tensor& one : tensors) {
    planes.push_back(one.dim() < 2 ? one.reshape({1, one.numel(), 1}) : one.dim() == 2 ? one.unsqueeze(-1) : one);
  }
  return cat(planes, 2);
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  if (x.dim() < 3)
    base::fail("channel_shuffle", "takes (N, C, ...) of three dims or more, got {}", ir::to_string(x.shape()));
  if (groups < 1 || x.size(1) % groups != 0)
    base::fail("channel_shuffle", "{} channels are not {} groups of one size", x.size(1), groups);
  return x.unflatten(1, {groups, x.size(1) / groups}).transpose(1, 2).flatten(1, 2).clone();
}

// ---- norms of slices ----

Tensor renorm(const Tensor& x, double p, int64_t dim, double maxnorm) {
  record::require_float("renorm", x);
  if (x.dim() < 2) base::fail("renorm", "takes two dims or more, got {}", ir::to_string(x.shape()));
  if (!(p > 0)) base::fail("renorm", "p must be above 0, got {}", p);
  if (!(maxnorm >= 0)) base::fail("renorm", "maxnorm must not be negative, got {}", maxnorm);
  const auto axis = static_cast<int64_t>(record::axis("renorm", dim, x.shape().size()));
  Dims others;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != axis) others.push_back(i);
  }
  return record::in_wide(x, [&](const Tensor& w) {
    const Tensor size = norm(w, p, others, true), is_over = gt(size, maxnorm);
    return mul(w, where(is_over, div(maxnorm, add(size, 1e-7)), 1.0));
  });
}

// ---- copies with a part replaced ----

namespace {

Tensor with_part(std::string_view op, const Tensor& copy, Tensor part, const Tensor& source) {
  if (part.shape() != source.shape())
    base::fail(op, "a source of shape {} does not fit a part of shape {}", ir::to_string(source.shape()),
               ir::to_string(part.shape()));
  part.copy_(source);
  return copy;
}

}  // namespace

Tensor select_scatter(const Tensor& x, const Tensor& source, int64_t dim, int64_t index) {
  const Tensor copy = x.clone();
  return with_part("select_scatter", copy, copy.select(dim, index), source);
}

Tensor slice_scatter(const Tensor& x, const Tensor& source, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  const Tensor copy = x.clone();
  return with_part("slice_scatter", copy, copy.slice(dim, start, end, step), source);
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2) {
  const Tensor copy = x.clone();
  return with_part("diagonal_scatter", copy, diagonal(copy, offset, dim1, dim2), source);
}

// ---- positions ----

std::vector<Tensor> unravel_index(const Tensor& index, const Dims& shape) {
  if (!is_integer(index.dtype())) base::fail("unravel_index", "takes integers, got {}", name(index.dtype()));
  ir::require_shape("unravel_index", shape);
  record::require_range("unravel_index", index.flatten(), 0, ir::count(shape));
  std::vector<Tensor> positions(shape.size());
  Tensor rest = index.to(DType::i64);
  for (size_t i = shape.size(); i-- > 0;) {
    positions[i] = remainder(rest, shape[i]);
    rest = floor_divide(rest, shape[i]);
  }
  return positions;
}

}  // namespace tenon
