// Views and the ops made of them: they launch nothing.

#include <algorithm>
#include <iterator>
#include <limits>

#include "tenon/base/out_of_range.h"
#include "tenon/exec/join.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/slices.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

using ir::Op;

Tensor moved_once(const Tensor& x, ir::Move move) { return viewed(x, {&move, 1}); }

Dims resolved_shape(std::string_view op, const Tensor& x, const Dims& shape) {
  Dims sizes = shape, given;
  int64_t open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && open < 0) {
      open = static_cast<int64_t>(i);
    } else if (sizes[i] < 0) {
      base::fail(op, "shape {} is not valid: sizes are not negative, and at most one is -1", ir::to_string(shape));
    } else {
      given.push_back(sizes[i]);
    }
  }
  ir::require_shape(op, given);
  const int64_t known = ir::count(given);
  if (open >= 0) {
    if (known == 0 || x.numel() % known != 0) {
      base::fail(op, "cannot reshape {} ({} elements) to {}: {} does not divide {}", ir::to_string(x.shape()),
                 x.numel(), ir::to_string(shape), known, x.numel());
    }
    sizes[static_cast<size_t>(open)] = x.numel() / known;
  } else if (known != x.numel()) {
    base::fail(op, "cannot reshape {} ({} elements) to {} ({} elements)", ir::to_string(x.shape()), x.numel(),
               ir::to_string(shape), known);
  }
  return sizes;
}

// Where a Python slice starts, how many elements it has, and its step.
struct Range {
  int64_t start, size, step;
};

Range resolved(const Slice& slice, int64_t size) {
  if (slice.step == 0) base::fail("slice", "step must not be 0");
  const int64_t by = std::max(slice.step, -std::numeric_limits<int64_t>::max());  // so that it can be negated
  const bool forward = by > 0;
  const int64_t low = forward ? 0 : -1, high = forward ? size : size - 1;
  const auto bound = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? *at + size : *at, low, high);
  };
  const int64_t start = bound(slice.start, forward ? low : high), stop = bound(slice.stop, forward ? high : low);
  const int64_t span = forward ? stop - start : start - stop;
  const int64_t step = forward ? by : -by;
  return {start, span <= 0 ? 0 : (span - 1) / step + 1, by};
}

std::vector<ir::Move> slice_moves(const Dims& shape, size_t axis, Range range) {
  std::vector<ir::Move> moves;
  if (range.step < 0) {  // read backwards: flip, then step forwards
    moves.push_back({Op::flip, ir::AxesAttrs{{static_cast<int64_t>(axis)}}});
    range.start = shape[axis] - 1 - range.start;
    range.step = -range.step;
  }
  ir::ShrinkAttrs cut{Dims(shape.size(), 0), shape, Dims(shape.size(), 1)};
  cut.start[axis] = range.size == 0 ? 0 : range.start;
  cut.size[axis] = range.size;
  cut.step[axis] = range.size <= 1 ? 1 : range.step;
  moves.push_back({Op::shrink, std::move(cut)});
  return moves;
}

Tensor sliced(const Tensor& x, size_t axis, const Slice& slice) {
  const Range range = resolved(slice, x.shape()[axis]);
  return viewed(x, slice_moves(x.shape(), axis, range));
}

}  // namespace

Tensor reshape(const Tensor& x, const Dims& shape) {
  return moved_once(x, {Op::reshape, ir::ShapeAttrs{resolved_shape("reshape", x, shape)}});
}

Tensor Tensor::view(const Dims& shape) const {
  const ir::Move move{Op::reshape, ir::ShapeAttrs{resolved_shape("view", *this, shape)}};
  const Tensor made = moved_once(*this, move);
  if (!impl_of(made)->root && made.numel() > 0) {
    base::fail("view", "no strides show {} of this layout as {} without a copy; use reshape()",
               ir::to_string(this->shape()), ir::to_string(made.shape()));
  }
  return made;
}

Tensor Tensor::view_as(const Tensor& other) const { return view(other.shape()); }
Tensor Tensor::reshape_as(const Tensor& other) const { return reshape(other.shape()); }

Tensor permute(const Tensor& x, const Dims& dims) {
  Dims axes;
  if (dims.size() != x.shape().size()) {
    base::fail("permute", "{} dims given for a tensor of rank {}", dims.size(), x.shape().size());
  }
  for (int64_t dim : dims) {
    axes.push_back(static_cast<int64_t>(record::axis("permute", dim, x.shape().size())));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1)
      base::fail("permute", "dim {} appears more than once", dim);
  }
  return moved_once(x, {Op::permute, ir::AxesAttrs{axes}});
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  Dims axes = ir::iota_dims(x.shape().size());
  if (record::is_single("transpose", x, a) && record::is_single("transpose", x, b)) return x.reshape({});
  std::swap(axes[record::axis("transpose", a, axes.size())], axes[record::axis("transpose", b, axes.size())]);
  return moved_once(x, {Op::permute, ir::AxesAttrs{axes}});
}

Tensor swapaxes(const Tensor& x, int64_t a, int64_t b) { return transpose(x, a, b); }

Tensor t(const Tensor& x) {
  if (x.dim() > 2) base::fail("t", "takes a matrix, got shape {}; use transpose", ir::to_string(x.shape()));
  return transpose(x, 0, x.dim() < 2 ? 0 : 1);  // a view all the same
}

Tensor expand(const Tensor& x, const Dims& shape) {
  const size_t rank = x.shape().size();
  if (shape.size() < rank)
    base::fail("expand", "shape {} has fewer dims than {}", ir::to_string(shape), ir::to_string(x.shape()));
  Dims target = shape, padded(shape.size(), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_new = i < shape.size() - rank;
    const int64_t old = is_new ? 1 : x.shape()[i - (shape.size() - rank)];
    padded[i] = old;
    if (target[i] == -1 && !is_new) target[i] = old;
    if (target[i] < 0 || (old != 1 && old != target[i])) {
      base::fail("expand", "shape {} does not expand to {}", ir::to_string(x.shape()), ir::to_string(shape));
    }
  }
  ir::require_shape("expand", target);
  const ir::Move moves[] = {{Op::reshape, ir::ShapeAttrs{padded}}, {Op::expand, ir::ShapeAttrs{target}}};
  return viewed(x, moves);
}

Tensor broadcast_to(const Tensor& x, const Dims& shape) { return expand(x, shape); }
Tensor Tensor::expand_as(const Tensor& other) const { return expand(other.shape()); }

Tensor flip(const Tensor& x, const Axes& dims) {
  const Dims axes = dims.empty() ? Dims() : record::axes("flip", dims, x.shape().size());
  return tensor_of(ir::flip(record::in(x), axes));
}

Tensor fliplr(const Tensor& x) {
  if (x.dim() < 2) base::fail("fliplr", "needs two dims or more, not {}", ir::to_string(x.shape()));
  return flip(x, 1);
}
Tensor flipud(const Tensor& x) {
  if (x.dim() < 1) base::fail("flipud", "needs a dim, got a single number");
  return flip(x, 0);
}

Tensor squeeze(const Tensor& x) {
  Dims shape;
  for (int64_t size : x.shape()) {
    if (size != 1) shape.push_back(size);
  }
  return x.reshape(shape);
}

Tensor squeeze(const Tensor& x, int64_t dim) {
  if (record::is_single("squeeze", x, dim)) return x.reshape({});
  const size_t axis = record::axis("squeeze", dim, x.shape().size());
  if (x.shape()[axis] != 1) return x.reshape(x.shape());  // a view all the same
  Dims shape = x.shape();
  shape.erase(shape.begin() + axis);
  return x.reshape(shape);
}

Tensor squeeze(const Tensor& x, const Dims& dims) {
  std::vector<bool> goes(x.shape().size());
  for (const int64_t dim : dims) {
    if (record::is_single("squeeze", x, dim)) continue;
    const size_t axis = record::axis("squeeze", dim, x.shape().size());
    goes[axis] = x.shape()[axis] == 1;
  }
  Dims shape;
  for (size_t i = 0; i < goes.size(); ++i) {
    if (!goes[i]) shape.push_back(x.shape()[i]);
  }
  return x.reshape(shape);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  const size_t axis = record::axis("unsqueeze", dim, x.shape().size() + 1);
  Dims shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return x.reshape(shape);
}

Tensor flatten(const Tensor& x, int64_t first, int64_t last) {
  if (x.dim() == 0) return x.reshape({1});
  const size_t from = record::axis("flatten", first, x.shape().size()),
               to = record::axis("flatten", last, x.shape().size());
  if (from > to) base::fail("flatten", "first dim {} comes after last dim {}", first, last);
  if (from == to) return x;
  Dims shape(x.shape().begin(), x.shape().begin() + from);
  int64_t joined = 1;
  for (size_t i = from; i <= to; ++i) joined *= x.shape()[i];
  shape.push_back(joined);
  for (size_t i = to + 1; i < x.shape().size(); ++i) shape.push_back(x.shape()[i]);
  return x.reshape(shape);
}

std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& sizes, int64_t dim) { return split(x, sizes, dim); }
Tensor ravel(const Tensor& x) { return x.reshape({-1}); }

// ---- slices ----

Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) const {
  return sliced(*this, record::axis("slice", dim, shape().size()), Slice(start, stop, step));
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  const size_t axis = record::axis("narrow", dim, x.shape().size());
  const int64_t size = x.shape()[axis];
  const int64_t from = start < 0 ? start + size : start;
  if (from < 0 || from > size || length < 0 || length > size - from) {
    base::fail("narrow", "{} elements from {} do not fit dim {} of size {}", length, start, dim, size);
  }
  return sliced(x, axis, Slice(from, from + length));
}

Tensor select(const Tensor& x, int64_t dim, int64_t position) {
  if (x.dim() == 0) base::fail("select", "a single number has no elements to select");
  const size_t axis = record::axis("select", dim, x.shape().size());
  const int64_t size = x.shape()[axis];
  if (position < -size || position >= size) {
    base::fail_range("select", "index {} is out of range for dim {} of size {}", position, dim, size);
  }
  const int64_t at = position < 0 ? position + size : position;
  ir::ShrinkAttrs cut{Dims(x.shape().size(), 0), x.shape(), Dims(x.shape().size(), 1)};
  cut.start[axis] = at;
  cut.size[axis] = 1;
  Dims without = x.shape();
  without.erase(without.begin() + axis);
  const ir::Move moves[] = {{Op::shrink, std::move(cut)}, {Op::reshape, ir::ShapeAttrs{std::move(without)}}};
  return viewed(x, moves);
}

Tensor viewed_through(const Tensor& x, std::span<const IndexEntry> entries) {
  const Dims shape = x.shape();
  int64_t taken = 0;  // dims that entries stand for
  for (const IndexEntry& entry : entries)
    taken += std::holds_alternative<int64_t>(entry.index) || std::holds_alternative<Slice>(entry.index);
  Dims backwards, sizes;
  ir::ShrinkAttrs cut{Dims(shape.size(), 0), shape, Dims(shape.size(), 1)};
  bool cuts = false;
  size_t axis = 0;  // of x; sizes are those of the result
  const auto keep = [&](int64_t count) {
    for (; count > 0; --count) sizes.push_back(shape[axis++]);
  };
  for (const IndexEntry& entry : entries) {
    if (const auto* position = std::get_if<int64_t>(&entry.index)) {
      const int64_t size = shape[axis];
      if (*position < -size || *position >= size) {
        base::fail_range("select", "index {} is out of range for dim {} of size {}", *position, sizes.size(), size);
      }
      cut.start[axis] = *position < 0 ? *position + size : *position;
      cut.size[axis++] = 1;
      cuts = true;
    } else if (const auto* slice = std::get_if<Slice>(&entry.index)) {
      Range range = resolved(*slice, shape[axis]);
      if (range.step < 0) {
        backwards.push_back(static_cast<int64_t>(axis));
        range.start = shape[axis] - 1 - range.start;
        range.step = -range.step;
      }
      cuts = cuts || range.size != shape[axis];
      cut.start[axis] = range.size == 0 ? 0 : range.start;
      cut.size[axis] = range.size;
      cut.step[axis++] = range.size <= 1 ? 1 : range.step;
      sizes.push_back(range.size);
    } else if (std::holds_alternative<NewAxis>(entry.index)) {
      sizes.push_back(1);
    } else {
      keep(x.dim() - taken);
    }
  }
  keep(x.dim() - static_cast<int64_t>(axis));
  base::SmallVector<ir::Move, 3> moves;
  if (!backwards.empty()) moves.push_back({Op::flip, ir::AxesAttrs{backwards}});
  const bool reshapes = cut.size.size() != sizes.size() || !(cut.size == sizes);
  if (cuts || (backwards.empty() && !reshapes)) moves.push_back({Op::shrink, std::move(cut)});
  if (reshapes) moves.push_back({Op::reshape, ir::ShapeAttrs{sizes}});
  return viewed(x, std::span<const ir::Move>(moves.data(), moves.size()));
}

// ---- joining and cutting ----

Tensor pad(const Tensor& x, const Dims& sizes, Number value) {
  const size_t rank = x.shape().size();
  if (sizes.size() % 2 != 0 || sizes.size() > 2 * rank) {
    base::fail("pad", "{} sizes do not fit a tensor of rank {}: give two per dim, last dim first", sizes.size(), rank);
  }
  Dims before(rank, 0), after(rank, 0);
  Tensor inner = x;
  for (size_t i = 0; i < sizes.size() / 2; ++i) {
    const size_t axis = rank - 1 - i;
    const int64_t front = std::min<int64_t>(0, sizes[2 * i]), back = std::min<int64_t>(0, sizes[2 * i + 1]);
    if (front < -x.shape()[axis] || back < -x.shape()[axis] - front) {
      base::fail("pad", "cutting {} and {} elements from dim {} of size {}", -static_cast<uint64_t>(front),
                 -static_cast<uint64_t>(back), axis, x.shape()[axis]);
    }
    const int64_t cut_front = -front, cut_back = -back;
    if (cut_front + cut_back > 0) {
      inner = inner.narrow(static_cast<int64_t>(axis), cut_front, x.shape()[axis] - cut_front - cut_back);
    }
    before[axis] = std::max<int64_t>(0, sizes[2 * i]);
    after[axis] = std::max<int64_t>(0, sizes[2 * i + 1]);
  }
  const ir::Value padded = ir::pad(record::in(inner), before, after);
  if (value.as_double() == 0) return tensor_of(padded);
  const ir::Value inside = ir::pad(ir::full(inner.shape(), 1, DType::boolean, x.device().id), before, after);
  return where(tensor_of(inside), tensor_of(padded), full(padded.shape(), value, Options(x.dtype(), x.device())));
}

namespace {

// Side by side along an axis that has `total` places in all. -0 and other bits survive because each element is chosen,
// not added. Every element passes through all of the choices, and kernels that read it compute them on their way: good
// for a few values.
ir::Value chosen_by_place(std::span<const ir::Value> values, size_t axis, int64_t total) {
  ir::Value joined;
  int64_t at = 0;
  for (const ir::Value& value : values) {
    const int64_t size = value.shape()[axis];
    Dims before(value.rank(), 0), after(value.rank(), 0);
    before[axis] = at;
    after[axis] = total - at - size;
    const ir::Value piece = ir::pad(value, before, after);
    if (!joined) {
      joined = piece;
    } else {
      const ir::Value position = ir::iota_along(piece.shape(), axis, DType::i64, piece.device());
      joined = ir::where(ir::less(position, ir::full_like(position, static_cast<double>(at))), joined, piece);
    }
    at += size;
  }
  return joined;
}

// What the parts of a joined value get of its gradient.
std::vector<ir::Value> parts_along(const ir::Value& whole, size_t axis, const Dims& sizes) {
  std::vector<ir::Value> parts;
  ir::ShrinkAttrs cut{Dims(whole.rank(), 0), whole.shape(), Dims(whole.rank(), 1)};
  for (const int64_t size : sizes) {
    cut.size[axis] = size;
    parts.push_back(ir::move(whole, {Op::shrink, cut}));
    cut.start[axis] += size;
  }
  return parts;
}

// The same for many values: the choices stand in one row, the axis first, where the planner writes each value to its
// place. Their gradients are slices, instead of what passes back through all of the choices.
ir::Value assembled(std::span<const ir::Value> values, size_t axis) {
  Dims order = ir::iota_dims(values[0].rank()), back = order, sizes;
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  std::vector<ir::Value> rows;
  Dims shape;
  int64_t total = 0;
  for (const ir::Value& value : values) {
    const ir::Value turned = ir::permute(ir::detach(value), order);
    shape = turned.shape();
    sizes.push_back(shape[0]);
    total += shape[0];
    if (ir::count(shape) > 0) rows.push_back(ir::reshape(turned, {ir::count(shape)}));
  }
  shape[0] = total;
  const ir::Value joined = rows.empty() ? ir::full(shape, 0, values[0].dtype(), values[0].device())
                                        : ir::reshape(chosen_by_place(rows, 0, ir::count(shape)), shape);
  const ir::Value whole = ir::permute(joined, back);
  if (std::none_of(values.begin(), values.end(), [](const ir::Value& value) { return value.needs_grad(); }))
    return whole;
  const auto rule = std::make_shared<const ir::CustomRule>(
      ir::CustomRule{"cat", [axis, sizes](std::span<const ir::Value>, std::span<const ir::Value> grads) {
                       return parts_along(grads[0], axis, sizes);
                     }});
  ir::Operands operands{whole};
  for (const ir::Value& value : values) operands.push_back(value);
  return {ir::Node::make(Op::custom, std::move(operands), ir::CustomAttrs{rule, 1}), 0};
}

// Side by side along an axis of a shape that the values have all but for it, or, if `stacks`, lack.
Tensor side_by_side(std::span<ir::Value> values, const ir::Type& type, size_t axis, bool stacks) {
  constexpr size_t kFew = 4;
  const bool are_many = values.size() > kFew && type.shape[axis] > 0;
  if (are_many && !Trace::current()) {
    if (auto copied = exec::joined_by_host(values, type, axis)) return tensor_of(std::move(*copied));
  }
  if (stacks) {
    Dims raised = type.shape;
    raised[axis] = 1;
    for (ir::Value& value : values) value = ir::reshape(value, raised);
  }
  return tensor_of(are_many ? assembled(values, axis) : chosen_by_place(values, axis, type.shape[axis]));
}

// For cat and what is made of it.
Tensor joined_along(std::string_view op, std::span<const Tensor> tensors, int64_t dim) {
  // Empty vectors are skipped whatever the others' rank, but for their type, as in PyTorch.
  const auto is_empty_vector = [](const Tensor& t) { return t.shape() == Dims{0}; };
  if (std::any_of(tensors.begin(), tensors.end(), is_empty_vector) &&
      !std::all_of(tensors.begin(), tensors.end(), is_empty_vector)) {
    std::vector<Tensor> rest;
    DType dtype = tensors[0].dtype();
    for (const Tensor& t : tensors) {
      record::require_same_device(op, tensors[0], t);
      dtype = promote(dtype, t.dtype());
      if (!is_empty_vector(t)) rest.push_back(t);
    }
    return joined_along(op, rest, dim).to(dtype);
  }
  const Dims& first = tensors[0].shape();
  const size_t axis = record::axis(op, dim, first.size());
  ir::Type type{tensors[0].dtype(), first};
  type.shape[axis] = 0;
  for (const Tensor& t : tensors) {
    record::require_same_device(op, tensors[0], t);
    bool fits = t.shape().size() == first.size();
    for (size_t i = 0; fits && i < first.size(); ++i) fits = i == axis || t.shape()[i] == first[i];
    if (!fits) {
      base::fail(op, "shapes {} and {} do not fit along dim {}", ir::to_string(first), ir::to_string(t.shape()), dim);
    }
    type.dtype = promote(type.dtype, t.dtype());
    type.shape[axis] += t.shape()[axis];
    ir::require_shape(op, type.shape);
  }
  std::vector<ir::Value> values;
  for (const Tensor& t : tensors) values.push_back(ir::cast(record::in(t), type.dtype));
  return side_by_side(values, type, axis, false);
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int64_t dim) {
  if (tensors.empty()) base::fail("cat", "takes at least one tensor");
  return joined_along("cat", tensors, dim);
}

Tensor stack(std::span<const Tensor> tensors, int64_t dim) {
  if (tensors.empty()) base::fail("stack", "takes at least one tensor");
  const Dims& each = tensors[0].shape();
  const size_t axis = record::axis("stack", dim, each.size() + 1);
  ir::Type type{tensors[0].dtype(), each};
  type.shape.insert(type.shape.begin() + axis, static_cast<int64_t>(tensors.size()));
  for (const Tensor& t : tensors) {
    record::require_same_device("stack", tensors[0], t);
    if (t.shape() != each)
      base::fail("stack", "shapes {} and {} differ", ir::to_string(each), ir::to_string(t.shape()));
    type.dtype = promote(type.dtype, t.dtype());
  }
  ir::require_shape("stack", type.shape);
  std::vector<ir::Value> values;
  for (const Tensor& t : tensors) values.push_back(ir::cast(record::in(t), type.dtype));
  return side_by_side(values, type, axis, true);
}

namespace {

std::vector<Tensor> at_least(std::span<const Tensor> tensors, int64_t rank) {
  std::vector<Tensor> raised(tensors.begin(), tensors.end());
  for (Tensor& one : raised) {
    while (one.dim() < rank) one = one.unsqueeze(0);
  }
  return raised;
}

}  // namespace

Tensor hstack(std::span<const Tensor> tensors) {
  if (tensors.empty()) base::fail("hstack", "takes at least one tensor");
  const std::vector<Tensor> raised = at_least(tensors, 1);
  return joined_along("hstack", raised, raised[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(std::span<const Tensor> tensors) {
  if (tensors.empty()) base::fail("vstack", "takes at least one tensor");
  return joined_along("vstack", at_least(tensors, 2), 0);
}

namespace {

// How many parts of a size n elements fall into; the size may be any number from 1 on.
int64_t parts_of(int64_t n, int64_t size) { return n == 0 ? 0 : (n - 1) / size + 1; }

// A view may have more elements than memory has bytes; a list of its parts may not.
void require_few_parts(std::string_view op, const Tensor& x, int64_t parts) {
  constexpr int64_t kMost = 1 << 18;
  if (parts > kMost) {
    base::fail(op, "a tensor of shape {} would fall into {} parts; at most {} are made", ir::to_string(x.shape()),
               parts, kMost);
  }
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim) {
  const size_t axis = record::axis("split", dim, x.shape().size());
  int64_t total = 0;
  for (int64_t size : sizes) {
    if (size < 0) base::fail("split", "sizes {} hold a negative one", ir::to_string(sizes));
    if (size > ir::kMostElements - total)
      base::fail("split", "sizes {} add up to too many elements", ir::to_string(sizes));
    total += size;
  }
  if (total != x.shape()[axis]) {
    base::fail("split", "sizes {} add up to {}, dim {} has {}", ir::to_string(sizes), total, dim, x.shape()[axis]);
  }
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    parts.push_back(x.narrow(static_cast<int64_t>(axis), at, size));
    at += size;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  const size_t axis = record::axis("split", dim, x.shape().size());
  if (size <= 0) base::fail("split", "the size of a part must be positive, got {}", size);
  require_few_parts("split", x, parts_of(x.shape()[axis], size));
  Dims sizes;
  for (int64_t left = x.shape()[axis]; left > 0; left -= size) sizes.push_back(std::min(left, size));
  return sizes.empty() ? std::vector{x} : split(x, sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  const size_t axis = record::axis("chunk", dim, x.shape().size());
  if (chunks <= 0) base::fail("chunk", "the number of chunks must be positive, got {}", chunks);
  constexpr int64_t kMostEmpty = 1 << 20;
  if (x.shape()[axis] == 0) {  // as many as asked for
    if (chunks > kMostEmpty) base::fail("chunk", "{} empty chunks are too many", chunks);
    return split(x, Dims(static_cast<size_t>(chunks), 0), dim);
  }
  return split(x, parts_of(x.shape()[axis], chunks), dim);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  const size_t axis = record::axis("unbind", dim, x.shape().size());
  require_few_parts("unbind", x, x.shape()[axis]);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.shape()[axis]; ++i) parts.push_back(x.select(dim, i));
  return parts;
}

Tensor repeat(const Tensor& x, const Dims& repeats) {
  const size_t rank = repeats.size();
  if (rank < x.shape().size()) base::fail("repeat", "{} repeats for a tensor of rank {}", rank, x.shape().size());
  // (n) -> (1, n) -> (r, n) -> (r * n) along every dim.
  Dims split(2 * rank, 1), wide(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    if (repeats[i] < 0) base::fail("repeat", "repeats must not be negative, got {}", repeats[i]);
    const size_t lead = rank - x.shape().size();
    const int64_t size = i < lead ? 1 : x.shape()[i - lead];
    split[2 * i + 1] = wide[2 * i + 1] = size;
    wide[2 * i] = repeats[i];
  }
  ir::require_shape("repeat", wide);
  Dims joined(rank);
  for (size_t i = 0; i < rank; ++i) joined[i] = wide[2 * i] * wide[2 * i + 1];
  return tensor_of(ir::reshape(ir::expand(ir::reshape(record::in(x), split), wide), joined));
}

Tensor tile(const Tensor& x, const Dims& dims) {
  Dims repeats = dims;
  while (static_cast<int64_t>(repeats.size()) < x.dim()) repeats.insert(repeats.begin(), 1);
  return repeat(x, repeats);
}

Tensor roll(const Tensor& x, int64_t shift, int64_t dim) {
  const size_t axis = record::axis("roll", dim, x.shape().size());
  const int64_t size = x.shape()[axis];
  if (size == 0) return x.clone();
  const int64_t by = ((shift % size) + size) % size;
  if (by == 0) return x.clone();
  return cat({x.narrow(dim, size - by, by), x.narrow(dim, 0, size - by)}, dim);
}

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims) {
  if (dims.empty() && shifts.size() == 1) return roll(flatten(x), shifts[0], 0).reshape(x.shape());
  if (shifts.empty() || shifts.size() != dims.size())
    base::fail("roll", "needs one shift for each dim, not {} for {} dims", shifts.size(), dims.size());
  Tensor moved = x;
  for (size_t i = 0; i < dims.size(); ++i) moved = roll(moved, shifts[i], dims[i]);
  return moved;
}

namespace {

// x where column - row lies on the wanted side of the diagonal, else 0.
Tensor triangle(std::string_view op, const Tensor& x, int64_t diagonal, bool lower) {
  const size_t rank = x.shape().size();
  if (rank < 2) base::fail(op, "takes at least a matrix, got shape {}", ir::to_string(x.shape()));
  const ir::Value value = record::in(x);
  const int64_t near = std::clamp(diagonal, -ir::kMostElements, ir::kMostElements);  // farther ones lie outside, too
  const ir::Value row =
      ir::add_number(ir::iota_along(x.shape(), rank - 2, DType::i64, value.device()), static_cast<double>(near));
  const ir::Value column = ir::iota_along(x.shape(), rank - 1, DType::i64, value.device());
  const ir::Value outside = lower ? ir::less(row, column) : ir::less(column, row);
  return tensor_of(ir::where(outside, ir::full_like(value, 0), value));
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, diagonal, false); }

}  // namespace tenon
