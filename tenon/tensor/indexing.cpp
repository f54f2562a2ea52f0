// Picking, adding and writing by index along a dim.
//
// Where several sources go to one place, the last one wins on every device. What is written in place costs memory and
// time for what is written, and not for all of x. scatter_reduce has no op of its own: a stable sort of the index
// brings sources of one place together, and the number of the last one is what is added.

#include <algorithm>

#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/mapping.h"
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

// What a 0-d tensor is to ops along a dim: a vector of one.
Tensor at_least_vector(const Tensor& x) { return x.dim() == 0 ? x.reshape({1}) : x; }
// Whether one or both are 0-d, and the other one a vector.
bool is_single_and_vector(const Tensor& x, const Tensor& index) {
  return std::min(x.dim(), index.dim()) == 0 && std::max(x.dim(), index.dim()) <= 1;
}

// Whether gather and scatter have nothing to do: as in PyTorch, an index without elements has any shape and dtype.
bool names_nothing(std::string_view op, const Tensor& x, int64_t dim, const Tensor& index) {
  if (index.numel() > 0) return false;
  record::require_same_device(op, x, index);
  if (!record::is_single(op, x, dim)) record::axis(op, dim, x.shape().size());
  return true;
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

// Where each element of the index points in x laid flat; a vector is flat already.
ir::Value flat_index(const Tensor& x, const Tensor& index, size_t axis) {
  if (x.dim() == 1) return value_of(index);
  const bool was_looked_at = index.is_evaluated() && !Trace::current();  // as record::suspects does
  const Tensor known = was_looked_at ? index : record::looked_at(index, axis, x.shape()[axis]);
  return ir::flat_index(value_of(known), x.shape(), axis);
}

void require_same_dtype(std::string_view op, const Tensor& x, const Tensor& source) {
  record::require_same_device(op, x, source);
  if (source.dtype() != x.dtype()) base::fail(op, "dtypes {} and {} differ", name(x.dtype()), name(source.dtype()));
}

// Bools as integers: a sum is true where any is, a product where all are.
template <typename F>
Tensor of_bools(const Tensor& x, const Tensor& source, F&& f) {
  return ne(f(x.to(DType::i32), source.to(DType::i32)), 0);
}

// x where an index names no place. The source's gradient is 0, or has no elements.
Tensor untouched(const Tensor& x, const Operand& source) {
  return source.is_tensor() ? record::with_flat_part(x.clone(), source.tensor()) : x.clone();
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  if (names_nothing("gather", x, dim, index))
    return record::with_flat_part(zeros(index.shape(), Options(x.dtype(), x.device())), x);
  if (is_single_and_vector(x, index))
    return record::apart(gather(at_least_vector(x), dim, at_least_vector(index)).reshape(index.shape()));
  require_index("gather", x, index);
  const size_t axis = record::axis("gather", dim, x.shape().size());
  require_index_fits("gather", x, index, axis);
  record::require_range("gather", index, dim, x.shape()[axis]);
  const ir::Value flat = flat_index(x, index, axis);
  return tensor_of(ir::gather(ir::reshape(record::in(x), {x.numel()}), flat, 0));
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  require_index("index_select", x, index);
  if (record::is_single("index_select", x, dim)) {
    if (index.numel() != 1)
      base::fail("index_select", "a single number takes one index, got shape {}", ir::to_string(index.shape()));
    return record::apart(index_select(x.reshape({1}), 0, index).reshape({}));
  }
  if (index.dim() > 1)
    base::fail("index_select", "the index must be a vector, got shape {}", ir::to_string(index.shape()));
  const size_t axis = record::axis("index_select", dim, x.shape().size());
  Dims shape = x.shape();
  shape[axis] = index.numel();
  ir::require_shape("index_select", shape);
  record::require_range("index_select", index, dim, x.shape()[axis]);
  return tensor_of(
      ir::gather(record::in(x), ir::reshape(value_of(index), {index.numel()}), axis, ir::LookUp::index_select));
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  if (names_nothing("scatter_add", x, dim, index)) {
    require_same_dtype("scatter_add", x, source);
    return untouched(x, source);
  }
  if (x.dtype() == DType::boolean && source.dtype() == DType::boolean)
    return of_bools(x, source, [&](const Tensor& to, const Tensor& from) { return scatter_add(to, dim, index, from); });
  if (is_single_and_vector(x, index))
    return record::apart(
        scatter_add(at_least_vector(x), dim, at_least_vector(index), at_least_vector(source)).reshape(x.shape()));
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

namespace {

// All of an index as one vector of positions in x laid flat.
Tensor flat_places(const Tensor& x, const Tensor& index, size_t axis) {
  return tensor_of(ir::reshape(ir::cast(flat_index(x, index, axis), DType::i64), {index.numel()}));
}

struct Runs {
  Tensor places, order;  // sorted, and where each came from
  Tensor is_last;        // of those with the same place
};
Runs runs_of(const Tensor& places) {
  const int64_t n = places.numel();
  const auto [sorted, order] = sort(places, 0);
  const Tensor next = cat({sorted.narrow(0, 1, n - 1), full({1}, -1, Options(DType::i64, places.device()))});
  return {sorted, order, ne(sorted, next)};
}

// For each of `size` places what the last of its run says, and whether there is a run at all. `numbers`: 0 .. n - 1.
struct Winners {
  Tensor exist, number;
};
Winners winners(const Runs& runs, const Tensor& numbers, int64_t size) {
  const int64_t n = runs.places.numel();
  const Tensor none = zeros({size}, Options(DType::i64, runs.places.device()));
  const Tensor found = scatter_add(none, 0, runs.places, where(runs.is_last, add(numbers, 1), 0));
  Tensor number = clamp(sub(found, 1), 0, n - 1);
  set_known_range(number, 0, n - 1, false);
  return {gt(found, 0), number};
}

// Whether each of `size` places is named.
Tensor named(const Tensor& places, int64_t size) {
  const Options options(DType::i64, places.device());
  return gt(scatter_add(zeros({size}, options), 0, places, ones({places.numel()}, options)), 0);
}

// What scatter and its like are asked for, checked, with everything laid flat.
struct Scattering {
  Tensor x, places, source;
};
Scattering scattering(std::string_view op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  require_index(op, x, index);
  require_same_dtype(op, x, source);
  const size_t axis = record::axis(op, dim, x.shape().size());
  require_index_fits(op, x, index, axis);
  bool fits = source.dim() == index.dim();
  for (size_t i = 0; fits && i < index.shape().size(); ++i) fits = index.shape()[i] <= source.shape()[i];
  if (!fits) {
    base::fail(op, "an index of shape {} needs more than a source of {}", ir::to_string(index.shape()),
               ir::to_string(source.shape()));
  }
  record::require_range(op, index, dim, x.shape()[axis]);
  const size_t rank = x.shape().size();
  const ir::Value used = ir::shrink(record::in(source), Dims(rank, 0), index.shape(), Dims(rank, 1));
  return {tensor_of(ir::reshape(record::in(x), {x.numel()})), flat_places(x, index, axis),
          tensor_of(ir::reshape(used, {index.numel()}))};
}

// index_add and its like: the index is a vector, and the source has a slice for each of its elements.
struct Slices {
  Tensor x, index, source;
  size_t axis;
};
Slices slices(std::string_view op, const Tensor& given, int64_t dim, const Tensor& index, const Tensor& source) {
  require_index(op, given, index);
  if (index.dim() > 1) base::fail(op, "the index must be a vector, got shape {}", ir::to_string(index.shape()));
  const Tensor x = at_least_vector(given);
  const size_t axis = record::axis(op, dim, x.shape().size());
  record::require_range(op, index, dim, x.shape()[axis]);
  Slices made{x, at_least_vector(index).to(DType::i64), source, axis};
  if (!source.defined()) return made;
  require_same_dtype(op, x, source);
  made.source = at_least_vector(source);
  Dims wanted = x.shape();
  wanted[axis] = index.numel();
  if (made.source.shape() != wanted) {
    base::fail(op, "{} indices along dim {} of {} take a source of {}, got {}", index.numel(), dim,
               ir::to_string(x.shape()), ir::to_string(wanted), ir::to_string(made.source.shape()));
  }
  return made;
}

// A number as a value of x's dtype, wherever it lay.
ir::Value single(std::string_view op, const Tensor& x, const Operand& value) {
  if (value.is_tensor() && value.tensor().dim() != 0) {
    base::fail(op, "the value must be a single number, got shape {}", ir::to_string(value.tensor().shape()));
  }
  const Operand operands[] = {x, value};
  return record::brought(op, value, x.dtype(), record::common_device(op, operands));
}

// x, in a shape of its own, with a slice of `value` at each of the places along the axis; one for all is repeated.
Tensor written(const Tensor& x, size_t axis, const Tensor& places, const ir::Value& value, const Dims& shape) {
  Dims wanted = x.shape();
  wanted[axis] = places.numel();
  const ir::Value slices = record::expanded("scatter", value, wanted);
  return tensor_of(ir::reshape(ir::scatter(record::in(x), value_of(places), slices, axis), shape));
}

}  // namespace

Tensor scatter(const Tensor& given, int64_t dim, const Tensor& given_index, const Operand& source,
               std::optional<std::string_view> reduce) {
  if (reduce) {
    if (*reduce != "add" && *reduce != "multiply")
      base::fail("scatter", "there is no reduce '{}'; there are 'add' and 'multiply'", *reduce);
    const Options like(given.dtype(), given.device());
    const Tensor sources = source.is_tensor() ? source.tensor() : full(given_index.shape(), source.number(), like);
    return scatter_reduce(given, dim, given_index, sources, *reduce == "add" ? "sum" : "prod");
  }
  if (names_nothing("scatter", given, dim, given_index)) {
    if (source.is_tensor()) require_same_dtype("scatter", given, source.tensor());
    return untouched(given, source);
  }
  const Tensor x = at_least_vector(given), index = at_least_vector(given_index);
  const bool is_number = !source.is_tensor() || (source.tensor().dim() == 0 && given_index.dim() > 0);
  if (is_number) {
    require_index("scatter", x, index);
    const size_t axis = record::axis("scatter", dim, x.shape().size());
    require_index_fits("scatter", x, index, axis);
    record::require_range("scatter", index, dim, x.shape()[axis]);
    const Tensor flat = tensor_of(ir::reshape(record::in(x), {x.numel()}));
    return written(flat, 0, flat_places(x, index, axis), single("scatter", x, source), given.shape());
  }
  const auto [flat, places, values] = scattering("scatter", x, dim, index, at_least_vector(source.tensor()));
  return written(flat, 0, places, record::in(values), given.shape());
}

namespace {

// The product of each run, at its last element: neighbours 1, 2, 4, ... apart are multiplied if they have one place.
Tensor run_products(const Runs& runs, const Tensor& values) {
  const int64_t n = values.numel();
  Tensor product = values;
  for (int64_t apart = 1; apart < n; apart *= 2) {
    const Tensor same = eq(pad(runs.places, {apart, -apart}, -1), runs.places);
    product = mul(product, where(same, pad(product, {apart, -apart}, 1), 1));
  }
  return product;
}

// The largest source of each place, NaN above all: sorted by value, the last one of a place is its largest.
Tensor largest_sources(const Tensor& x, const Tensor& places, const Tensor& source, bool include_self) {
  const Tensor by_value = argsort(source, 0), ordered = index_select(source, 0, by_value);
  const Runs runs = runs_of(index_select(places, 0, by_value));
  const Winners largest = winners(runs, runs.order, x.numel());
  const Tensor found = index_select(ordered, 0, largest.number);
  return where(largest.exist, include_self ? maximum(x, found) : found, x);
}

// Of several that are the largest, each has an even part of the gradient.
Tensor scatter_largest(const Tensor& x, const Tensor& places, const Tensor& source, bool include_self) {
  const auto largest = [include_self](std::span<const Tensor> in) {
    return std::vector{largest_sources(in[0], in[1], in[2], include_self)};
  };
  const auto shares = [include_self, largest](std::span<const Tensor> in, std::span<const Tensor> grads) {
    const Tensor &self = in[0], &at = in[1], &from = in[2];
    const Tensor result = largest(in)[0].detach();
    Tensor self_counts = eq(self, result);
    if (!include_self) self_counts = logical_and(self_counts, logical_not(named(at, self.numel())));
    const Tensor is_self = self_counts.to(self.dtype());
    const Tensor is_source = eq(from, index_select(result, 0, at)).to(self.dtype());
    const Tensor each = div(grads[0], scatter_add(is_self, 0, at, is_source));
    return std::vector{mul(is_self, each), Tensor(), mul(is_source, index_select(each, 0, at))};
  };
  const CustomFunction function{"scatter_reduce", largest, shares};
  return apply(function, std::vector{x, places, source})[0];
}

Tensor backwards(const Tensor& x) { return is_float(x.dtype()) ? neg(x) : bitwise_not(x); }

}  // namespace

Tensor scatter_reduce(const Tensor& given, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self) {
  const Tensor whole = at_least_vector(given);
  if (reduce != "sum" && reduce != "prod" && reduce != "mean" && reduce != "amax" && reduce != "amin") {
    base::fail("scatter_reduce", "reduce is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", not \"{}\"", reduce);
  }
  if (whole.dtype() == DType::boolean && reduce == "mean") base::fail("scatter_reduce", "bools have no mean");
  if (names_nothing("scatter_reduce", given, dim, index)) {
    require_same_dtype("scatter_reduce", given, source);
    return untouched(given, source);
  }
  if (given.dtype() == DType::boolean && source.dtype() == DType::boolean) {
    return of_bools(given, source, [&](const Tensor& to, const Tensor& from) {
      return scatter_reduce(to, dim, index, from, reduce, include_self);
    });
  }
  const auto [x, places, values] =
      scattering("scatter_reduce", whole, dim, at_least_vector(index), at_least_vector(source));
  Tensor made;
  if (reduce == "amax") {
    made = scatter_largest(x, places, values, include_self);
  } else if (reduce == "amin") {
    made = backwards(scatter_largest(backwards(x), places, backwards(values), include_self));
  } else if (reduce == "prod") {
    const Runs runs = runs_of(places);
    const Tensor products = run_products(runs, index_select(values, 0, runs.order));
    const Winners last = winners(runs, arange(places.numel(), Options(DType::i64, x.device())), x.numel());
    const Tensor found = index_select(products, 0, last.number);
    made = where(last.exist, include_self ? mul(x, found) : found, x);
  } else {
    const Tensor start = include_self ? x : where(named(places, x.numel()), 0, x);
    made = scatter_add(start, 0, places, values);
    if (reduce == "mean") {
      const Tensor sources = scatter_add(zeros_like(x), 0, places, ones_like(values));
      const Tensor count = include_self ? add(sources, 1) : maximum(sources, 1);
      made = is_float(x.dtype()) ? div(made, count) : floor_divide(made, count);
    }
  }
  return made.reshape(given.shape());
}

Tensor index_reduce(const Tensor& given, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  if (reduce == "sum")
    base::fail("index_reduce", "reduce is \"prod\", \"mean\", \"amax\" or \"amin\"; sums are index_add()");
  const auto [x, places, values, axis] = slices("index_reduce", given, dim, index, source);
  Dims along(x.shape().size(), 1);
  along[axis] = places.numel();
  const Tensor each = places.reshape(along).expand(values.shape());
  return scatter_reduce(x, static_cast<int64_t>(axis), each, values, reduce, include_self).reshape(given.shape());
}

Tensor index_add(const Tensor& given, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) {
  const auto [x, places, values, axis] = slices("index_add", given, dim, index, source);
  const bool is_one = !alpha.is_real() && alpha.as_int() == 1;
  if (alpha.is_real() && !is_float(x.dtype()))
    base::fail("index_add", "alpha must be an integer for {}", name(x.dtype()));
  const Tensor scaled = is_one ? values : mul(values, alpha);
  if (values.numel() == 0) return untouched(given, source);
  if (x.dtype() == DType::boolean) {
    return of_bools(given, source, [&](const Tensor& to, const Tensor& from) {
      return index_add(to, dim, index, from, alpha.as_int() != 0 ? 1 : 0);
    });
  }
  return tensor_of(
      ir::reshape(ir::scatter_add(record::in(x), value_of(places), record::in(scaled), axis), given.shape()));
}

Tensor index_copy(const Tensor& given, int64_t dim, const Tensor& index, const Tensor& source) {
  const auto [x, places, values, axis] = slices("index_copy", given, dim, index, source);
  if (values.numel() == 0) return untouched(given, source);
  return written(x, axis, places, record::in(values), given.shape());
}

Tensor index_fill(const Tensor& given, int64_t dim, const Tensor& index, const Operand& value) {
  const auto [x, places, none, axis] = slices("index_fill", given, dim, index, Tensor());
  if (places.numel() == 0) return untouched(given, value);
  return written(x, axis, places, single("index_fill", x, value), given.shape());
}

Tensor take(const Tensor& x, const Tensor& index) {
  require_index("take", x, index);
  record::require_positions("take", index, 0, x.numel());
  return tensor_of(value_of(x.reshape({x.numel()}).index({index})));
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> along) {
  if (!along) return take_along_dim(flatten(x), flatten(index), 0);
  const int64_t dim = *along;
  if (x.dim() != index.dim())
    base::fail("take_along_dim", "an index of shape {} does not fit {}: the ranks differ", ir::to_string(index.shape()),
               ir::to_string(x.shape()));
  const size_t axis = record::axis("take_along_dim", dim, x.shape().size());
  Dims one_x = x.shape(), one_index = index.shape();
  one_x[axis] = one_index[axis] = 1;
  Dims wide_x = record::broadcast("take_along_dim", one_x, one_index), wide_index = wide_x;
  wide_x[axis] = x.shape()[axis];
  wide_index[axis] = index.shape()[axis];
  return gather(x.expand(wide_x), dim, index.expand(wide_index));
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  if (mask.dtype() != DType::boolean) base::fail("masked_scatter", "the mask must be bool, got {}", name(mask.dtype()));
  record::require_same_device("masked_scatter", x, mask);
  require_same_dtype("masked_scatter", x, source);
  const Dims shape = record::broadcast("masked_scatter", x.shape(), mask.shape());
  const Tensor chosen = mask.expand(shape).flatten(), whole = x.expand(shape);
  // As many elements as the mask has places are always enough; fewer are counted, as in PyTorch.
  if (source.numel() < chosen.numel() && !without_values()) {
    const int64_t wanted = sum(chosen).item<int64_t>();
    if (wanted > source.numel())
      base::fail("masked_scatter", "the mask takes {} elements, the source has {}", wanted, source.numel());
  }
  if (source.numel() == 0 || chosen.numel() == 0) return untouched(whole, source);
  const Tensor number = where(chosen, sub(cumsum(chosen, 0), 1), 0);
  const Tensor values = index_select(source.flatten(), 0, number);
  return where(chosen.reshape(shape), values.reshape(shape), whole);
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  if (!is_integer(index.dtype())) base::fail("one_hot", "takes integers, got {}", name(index.dtype()));
  if (classes == -1) classes = max(index).item<int64_t>() + 1;
  if (classes <= 0) base::fail("one_hot", "the number of classes must be positive, got {}", classes);
  Dims shape = index.shape();
  shape.push_back(classes);
  ir::require_shape("one_hot", shape);
  record::require_range("one_hot", index, -1, classes);
  const Tensor numbers = arange(classes, Options(DType::i64, index.device()));
  // An index still to be computed is looked up, so that the device finds one that is out of range.
  const bool known = (index.is_evaluated() && !Trace::current()) || index.dtype() == DType::u8;
  const Tensor found =
      known ? index : tensor_of(ir::gather(value_of(numbers), value_of(index), 0, ir::LookUp::one_hot));
  return eq(found.to(DType::i64).unsqueeze(-1), numbers).to(DType::i64);
}

}  // namespace tenon
