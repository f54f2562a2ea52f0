// Shape arithmetic.

#include "tenon/ir/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace tenon::ir {

int64_t count(const Dims& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
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

}  // namespace tenon::ir
