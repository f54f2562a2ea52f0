#include "tenon/nn/axis_matrices.h"

#include <functional>
#include <numeric>

#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

// What lies after the axis is one axis for the product.
Tensor along_axis(const Tensor& x, size_t axis, const Tensor& matrix) {
  const Dims shape = x.shape();
  if (axis + 1 == shape.size()) return matmul(x, matrix.t());
  if (axis + 2 == shape.size()) return matmul(matrix, x);
  Dims flat(shape.begin(), shape.begin() + static_cast<int64_t>(axis) + 1), made = shape;
  flat.push_back(std::accumulate(shape.begin() + static_cast<int64_t>(axis) + 1, shape.end(), int64_t{1},
                                 std::multiplies<int64_t>()));
  made[axis] = matrix.size(0);
  return matmul(matrix, x.reshape(flat)).reshape(made);
}

}  // namespace

Tensor through_matrices(const Tensor& x, const std::vector<Tensor>& matrices) {
  return record::in_wide(x, [&](const Tensor& wide) {
    Tensor y = wide;
    const size_t first = x.shape().size() - matrices.size();
    for (size_t i = matrices.size(); i-- > 0;) {
      if (matrices[i].defined()) y = along_axis(y, first + i, matrices[i]);
    }
    return y;
  });
}

Tensor even_shares(int64_t size, int64_t out, const Options& options) {
  const Options whole(DType::i64, options.device);
  const Tensor i = arange(out, whole).unsqueeze(1), place = arange(size, whole).unsqueeze(0);
  const Tensor first = floor_divide(i * size, out), end = floor_divide((i + 1) * size + (out - 1), out);
  const Tensor inside = logical_and(ge(place, first), lt(place, end)).to(*options.dtype);
  return inside / (end - first).to(*options.dtype);
}

}  // namespace tenon::nn
