// Shape arithmetic.

#include "tenon/ir/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tenon/base/error.h"

namespace tenon::ir {

std::optional<int64_t> checked_count(const Dims& shape) {
  int64_t product = 1;  // of the sizes that are not 0
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, size, &product) || product > kMostElements)
      return std::nullopt;
  }
  return empty ? 0 : product;
}

void require_shape(std::string_view op, const Dims& shape) {
  if (checked_count(shape)) return;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    base::fail(op, "shape {} has a negative size", to_string(shape));
  base::fail(op, "a tensor of shape {} has too many elements", to_string(shape));
}

int64_t count(const Dims& shape) {
  int64_t product = 1;
  for (const int64_t size : shape) {  // nearly always a plain product
    if (size <= 0 || __builtin_mul_overflow(product, size, &product) || product > kMostElements) {
      require_shape("shape", shape);
      return 0;
    }
  }
  return product;
}

Dims row_major_strides(const Dims& shape) {
  Dims strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::string to_string(const Dims& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape.begin(), shape.end(), ", "));
}

Dims iota_dims(size_t rank) {
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}

Dims inverse_permutation(const Dims& axes) {
  Dims inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) inverse[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return inverse;
}

Dims channels_to_last(const Dims& dims) {
  Dims moved = dims;
  std::rotate(moved.begin() + 1, moved.begin() + 2, moved.end());
  return moved;
}

Dims channels_to_second(const Dims& dims) {
  Dims moved = dims;
  std::rotate(moved.begin() + 1, moved.end() - 1, moved.end());
  return moved;
}

}  // namespace tenon::ir
