// Functions of PyTorch's that are short compositions and have names of their own: signs and angles, tensors side by
// side, copies with a part replaced, positions.

#include <numbers>

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

using std::numbers::pi;

}  // namespace

// ---- signs and angles ----

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
  return where(signbit(tensor_of(values[1])), neg(positive), positive);
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

// ---- side by side ----

Tensor column_stack(std::span<const Tensor> tensors) {
  std::vector<Tensor> columns;
  for (const Tensor& one : tensors) columns.push_back(one.dim() < 2 ? one.reshape({one.numel(), 1}) : one);
  return cat(columns, 1);
}
Tensor column_stack(std::initializer_list<Tensor> tensors) {
  return column_stack(std::span(tensors.begin(), tensors.size()));
}

Tensor dstack(std::span<const Tensor> tensors) {
  std::vector<Tensor> planes;
  for (const Tensor& one : tensors) {
    planes.push_back(one.dim() < 2 ? one.reshape({1, one.numel(), 1}) : one.dim() == 2 ? one.unsqueeze(-1) : one);
  }
  return cat(planes, 2);
}
Tensor dstack(std::initializer_list<Tensor> tensors) { return dstack(std::span(tensors.begin(), tensors.size())); }

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
