// Picking and adding by index.

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

void require_index(std::string_view op, const Tensor& x, const Tensor& index) {
  record::require_same_device(op, x, index);
  if (index.dtype() != DType::i64 && index.dtype() != DType::i32) {
    base::fail(op, "indices are i32 or i64, got {}", name(index.dtype()));
  }
}

// torch.gather's rule: the index has the rank of x and is nowhere longer except along dim.
void require_index_fits(std::string_view op, const Tensor& x, const Tensor& index, size_t axis) {
  bool fits = index.shape().size() == x.shape().size();
  for (size_t i = 0; fits && i < x.shape().size(); ++i) fits = i == axis || index.shape()[i] <= x.shape()[i];
  if (!fits) {
    base::fail(op, "an index of shape {} does not fit {} along dim {}", ir::to_string(index.shape()),
               ir::to_string(x.shape()), axis);
  }
}

// Where each element of the index points in x laid flat. What only the device will know is looked up in 0, 1, ... on
// its way: a fault then names the index and the size that the user knows, and not those of the flat x.
ir::Value flat_index(const Tensor& x, const Tensor& index, size_t axis) {
  const int64_t size = x.shape()[axis];
  const auto range = known_range(index);
  ir::Value known = value_of(index);
  const bool is_empty = size == 0 || index.numel() == 0;
  const bool was_looked_at = index.is_evaluated() && !Trace::current();  // as record::suspects does
  if (!is_empty && !was_looked_at && !(range && range->first >= 0 && range->second < size)) {
    const Tensor numbers = arange(size, Options(index.dtype(), index.device()));
    known = ir::gather(value_of(numbers), known, 0);
  }
  return ir::flat_index(known, x.shape(), axis);
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  require_index("gather", x, index);
  const size_t axis = record::axis("gather", dim, x.shape().size());
  require_index_fits("gather", x, index, axis);
  record::require_range("gather", index, dim, x.shape()[axis]);
  const ir::Value flat = flat_index(x, index, axis);
  return tensor_of(ir::gather(ir::reshape(record::in(x), {x.numel()}), flat, 0));
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  require_index("index_select", x, index);
  if (index.dim() > 1)
    base::fail("index_select", "the index must be a vector, got shape {}", ir::to_string(index.shape()));
  const size_t axis = record::axis("index_select", dim, x.shape().size());
  Dims shape = x.shape();
  shape[axis] = index.numel();
  ir::require_shape("index_select", shape);
  record::require_range("index_select", index, dim, x.shape()[axis]);
  return tensor_of(ir::gather(record::in(x), ir::reshape(value_of(index), {index.numel()}), axis));
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  require_index("scatter_add", x, index);
  record::require_same_device("scatter_add", x, source);
  const size_t axis = record::axis("scatter_add", dim, x.shape().size());
  require_index_fits("scatter_add", x, index, axis);
  if (source.dtype() != x.dtype()) {
    base::fail("scatter_add", "dtypes {} and {} differ", name(x.dtype()), name(source.dtype()));
  }
  bool fits = source.shape().size() == index.shape().size();
  for (size_t i = 0; fits && i < index.shape().size(); ++i) fits = index.shape()[i] <= source.shape()[i];
  if (!fits) {
    base::fail("scatter_add", "an index of shape {} needs more than a source of {}", ir::to_string(index.shape()),
               ir::to_string(source.shape()));
  }
  record::require_range("scatter_add", index, dim, x.shape()[axis]);
  const size_t rank = x.shape().size();
  const ir::Value used = ir::shrink(record::in(source), Dims(rank, 0), index.shape(), Dims(rank, 1));
  const ir::Value flat = ir::reshape(flat_index(x, index, axis), {index.numel()});
  const ir::Value base = ir::reshape(record::in(x), {x.numel()});
  return tensor_of(ir::reshape(ir::scatter_add(base, flat, ir::reshape(used, {index.numel()}), 0), x.shape()));
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  if (!is_integer(index.dtype())) base::fail("one_hot", "takes integers, got {}", name(index.dtype()));
  if (classes <= 0) base::fail("one_hot", "the number of classes must be positive, got {}", classes);
  Dims shape = index.shape();
  shape.push_back(classes);
  ir::require_shape("one_hot", shape);
  record::require_range("one_hot", index, -1, classes);
  const Tensor numbers = arange(classes, Options(DType::i64, index.device()));
  // An index still to be computed is looked up, so that the device finds one that is out of range.
  const bool known = index.is_evaluated() || index.dtype() == DType::u8;
  const Tensor found = known ? index : tensor_of(ir::gather(value_of(numbers), value_of(index), 0));
  return eq(found.to(DType::i64).unsqueeze(-1), numbers).to(DType::i64);
}

}  // namespace tenon
