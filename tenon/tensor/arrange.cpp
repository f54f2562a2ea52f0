// Other arrangements of elements: diagonals, grids, windows, stacks.

#include <algorithm>

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {

using base::fail;

Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes) {
  const size_t axis = record::axis("unflatten", dim, x.shape().size());
  int64_t given = 1, open = 0;
  for (int64_t size : sizes) {
    if (size == -1)
      ++open;
    else
      given *= size;
  }
  const int64_t whole = x.shape()[axis];
  const bool fits = open == 0 ? given == whole : open == 1 && given > 0 && whole % given == 0;
  if (!fits || sizes.empty())
    fail("unflatten", "sizes {} do not make up dim {} of size {}", ir::to_string(sizes), dim, whole);
  Dims shape(x.shape().begin(), x.shape().begin() + axis);
  for (int64_t size : sizes) shape.push_back(size == -1 ? whole / given : size);
  shape.reserve(shape.size() + x.shape().size());
  for (size_t i = axis + 1; i < x.shape().size(); ++i) shape.push_back(x.shape()[i]);
  return x.reshape(shape);
}

Tensor movedim(const Tensor& x, const Axes& from, const Axes& to) {
  const size_t rank = x.shape().size();
  if (from.size() != to.size()) fail("movedim", "{} dims are moved to {} places", from.size(), to.size());
  if (rank == 0) {
    for (const Axes* dims : {&from, &to}) {
      for (const int64_t dim : *dims) record::is_single("movedim", x, dim);
      if (dims->size() > 1) fail("movedim", "a dim appears more than once");
    }
    return permute(x, {});
  }
  Dims order(rank, -1);  // which dim of x stands in each place
  std::vector<bool> is_moved(rank, false);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t source = record::axis("movedim", from[i], rank), target = record::axis("movedim", to[i], rank);
    if (is_moved[source] || order[target] >= 0) fail("movedim", "a dim appears more than once");
    is_moved[source] = true;
    order[target] = static_cast<int64_t>(source);
  }
  size_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (is_moved[next]) ++next;
    place = static_cast<int64_t>(next++);
  }
  return permute(x, order);
}

// Every (columns + 1)-th element of the matrix laid flat; in memory, both strides at once.
Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const size_t rank = x.shape().size();
  if (rank < 2) fail("diagonal", "takes at least a matrix, got shape {}", ir::to_string(x.shape()));
  const size_t a = record::axis("diagonal", dim1, rank), b = record::axis("diagonal", dim2, rank);
  if (a == b) fail("diagonal", "takes two different dims, got {} twice", dim1);
  const Tensor matrices = movedim(x, {dim1, dim2}, {-2, -1});
  const int64_t rows = matrices.size(-2), columns = matrices.size(-1);
  const int64_t length = offset >= 0 ? std::min(rows, columns - std::min(offset, columns))
                                     : std::min(columns, rows + std::max(offset, -rows));
  if (length <= 0) return matrices.flatten(-2).narrow(-1, 0, 0);
  const int64_t row = offset >= 0 ? 0 : -offset, column = offset >= 0 ? offset : 0;
  Dims order, flat;
  for (size_t i = 0; i < rank; ++i) {
    if (i == a || i == b) continue;
    order.push_back(static_cast<int64_t>(i));
    flat.push_back(x.shape()[i]);
  }
  order.push_back(static_cast<int64_t>(a));
  order.push_back(static_cast<int64_t>(b));
  flat.push_back(rows * columns);
  ir::ShrinkAttrs cut{Dims(flat.size(), 0), flat, Dims(flat.size(), 1)};
  cut.start[flat.size() - 1] = row * columns + column;
  cut.size[flat.size() - 1] = length;
  cut.step[flat.size() - 1] = length > 1 ? columns + 1 : 1;
  const ir::Move moves[] = {{ir::Op::permute, ir::AxesAttrs{order}},
                            {ir::Op::reshape, ir::ShapeAttrs{flat}},
                            {ir::Op::shrink, std::move(cut)}};
  return viewed(x, moves, [&](const ir::View& whole) {
    ir::View line{{}, {}, whole.offset + row * whole.strides[a] + column * whole.strides[b], {}, {}};
    for (size_t i = 0; i + 2 < rank; ++i) {
      line.shape.push_back(whole.shape[static_cast<size_t>(order[i])]);
      line.strides.push_back(whole.strides[static_cast<size_t>(order[i])]);
    }
    line.shape.push_back(length);
    line.strides.push_back(whole.strides[a] + whole.strides[b]);
    return line;
  });
}

Tensor diag(const Tensor& x, int64_t diagonal) {
  if (x.dim() == 2) return tenon::diagonal(x, diagonal).clone();
  if (x.dim() != 1) fail("diag", "takes a vector or a matrix, got shape {}", ir::to_string(x.shape()));
  const int64_t beyond = diagonal < 0 ? -diagonal : diagonal, size = x.numel() + beyond;
  ir::require_shape("diag", {size, size});
  if (x.numel() == 0) return zeros({size, size}, Options(x.dtype(), x.device()));
  // Neighbours on a diagonal lie size + 1 elements apart. Written into zeros: as padding around each of them they would
  // be looked up one by one, which takes ten times as long.
  const int64_t before = diagonal >= 0 ? beyond : beyond * size;
  const ir::Value value = record::in(x), none = ir::full({size * size}, 0, value.dtype(), value.device());
  const ir::ShrinkAttrs line{{before}, {x.numel()}, {x.numel() > 1 ? size + 1 : 1}};
  return tensor_of(ir::reshape(ir::store(none, value, {{ir::Op::shrink, line}}), {size, size}));
}

Tensor trace(const Tensor& x) {
  if (x.dim() != 2) fail("trace", "takes a matrix, got shape {}", ir::to_string(x.shape()));
  return sum(diagonal(x));
}

Tensor vander(const Tensor& x, std::optional<int64_t> columns, bool increasing) {
  if (x.dim() != 1) fail("vander", "takes a vector, got shape {}", ir::to_string(x.shape()));
  const int64_t rows = x.numel(), count = columns.value_or(rows);
  if (count < 0) fail("vander", "N must not be negative, got {}", count);
  ir::require_shape("vander", {rows, count});
  const Options options(is_float(x.dtype()) ? x.dtype() : DType::i64, x.device());
  Tensor powers = ones({rows, std::min<int64_t>(count, 1)}, options);
  if (count > 1) {
    const Tensor factors = x.to(*options.dtype).unsqueeze(1).expand({rows, count - 1});
    powers = cat({powers, cumprod(factors, 1)}, 1);
  }
  return increasing ? powers : flip(powers, {1});
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  if (record::is_single("unfold", x, dim)) return unfold(x.reshape({1}), 0, size, step).squeeze(0);
  const size_t axis = record::axis("unfold", dim, x.shape().size());
  const auto at = static_cast<int64_t>(axis);
  const int64_t length = x.shape()[axis];
  if (size < 0 || size > length) fail("unfold", "windows of {} do not fit dim {} of size {}", size, dim, length);
  if (step <= 0) fail("unfold", "the step must be positive, got {}", step);
  const int64_t windows = (length - size) / step + 1;
  if (size > 0 && size <= step && windows * step <= length) {  // a view: windows do not meet
    const Tensor steps = unflatten(x.narrow(at, 0, windows * step), at, {windows, step});
    return movedim(steps.narrow(at + 1, 0, size), at + 1, -1);
  }
  const Options whole(DType::i64, x.device());
  Tensor places = add(mul(arange(windows, whole), step).unsqueeze(1), arange(size, whole)).flatten();
  if (places.numel() > 0) set_known_range(places, 0, length - 1, false);
  return movedim(unflatten(index_select(x, at, places), at, {windows, size}), at + 1, -1);
}

Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) {
  if (size.size() != stride.size())
    fail("as_strided", "{} sizes and {} strides are given", size.size(), stride.size());
  ir::require_shape("as_strided", size);
  int64_t offset = storage_offset.value_or(x.storage_offset()), last = offset;
  for (size_t i = 0; i < size.size(); ++i) {
    if (stride[i] < 0) fail("as_strided", "strides must not be negative, got {}", ir::to_string(stride));
    last += stride[i] * std::max<int64_t>(size[i] - 1, 0);
  }
  // A leaf that is a view of something else has a gradient of its own: what it shows is all that there is.
  const Tensor owner = owner_of(x);
  const bool is_whole = !owner.defined() || (x.is_leaf() && x.requires_grad());
  Tensor memory = is_whole ? x : x.requires_grad() ? owner : owner.detach();
  if (owner.defined() && is_whole) {
    if (!x.is_contiguous()) fail("as_strided", "takes a leaf that requires grad only where it is contiguous");
    offset -= x.storage_offset();
    last -= x.storage_offset();
  }
  const int64_t count = ir::count(size);
  if (count > 0 && (offset < 0 || last >= memory.numel()))
    fail("as_strided", "elements {} to {} of a memory of {} are asked for", offset, last, memory.numel());
  if (count > 0) {
    if (const auto moves = ir::moves_to(ir::View{size, stride, offset, {}, {}}, memory.shape()))
      return viewed(memory, *moves);
  }
  Tensor places = full({}, offset, Options(DType::i64, x.device()));
  for (size_t i = 0; i < size.size(); ++i)
    places = add(places.unsqueeze(-1), mul(arange(size[i], Options(DType::i64, x.device())), stride[i]));
  places = places.flatten();
  if (count > 0) set_known_range(places, offset, last, false);
  return index_select(memory.flatten(), 0, places).reshape(size);
}

std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, std::string_view indexing) {
  if (indexing != "ij" && indexing != "xy") fail("meshgrid", "indexing is \"ij\" or \"xy\", not \"{}\"", indexing);
  const bool swapped = indexing == "xy" && tensors.size() > 1;
  Dims shape;
  for (const Tensor& one : tensors) {
    if (one.dim() > 1) fail("meshgrid", "takes vectors, got shape {}", ir::to_string(one.shape()));
    shape.push_back(one.numel());
  }
  if (swapped) std::swap(shape[0], shape[1]);
  ir::require_shape("meshgrid", shape);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t axis = swapped && i < 2 ? 1 - i : i;
    Dims own(tensors.size(), 1);
    own[axis] = tensors[i].numel();
    grids.push_back(tensors[i].reshape(own).expand(shape));
  }
  return grids;
}

}  // namespace tenon
