#include "tenon/tensor/arrangements.h"

#include <algorithm>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

using base::fail;

constexpr int64_t kMostParts = int64_t{1} << 31;

enum class Triangle { lower, upper };

Tensor positions_of_triangle(const char* op, int64_t rows, int64_t columns, int64_t offset, Triangle side,
                             const Options& options) {
  if (rows < 0 || columns < 0) fail(op, "needs sizes of 0 or more, not {} and {}", rows, columns);
  const DType dtype = options.dtype.value_or(DType::i64);
  if (dtype != DType::i64 && dtype != DType::i32) fail(op, "positions are i64 or i32, not {}", name(dtype));
  const Options whole(DType::i64, options.device);
  const Tensor distance = sub(arange(columns, whole), arange(rows, whole).reshape({-1, 1}));
  const Tensor inside = side == Triangle::lower ? le(distance, offset) : ge(distance, offset);
  return nonzero(inside).t().contiguous().to(dtype);
}

/// Index vectors of choices, in lexical order.
std::vector<int64_t> choices(int64_t count, int64_t r, bool with_replacement) {
  std::vector<int64_t> all, now(static_cast<size_t>(r));
  if (!with_replacement) std::iota(now.begin(), now.end(), 0);
  if (r > 0 && (count == 0 || (!with_replacement && r > count))) return all;
  for (;;) {
    all.insert(all.end(), now.begin(), now.end());
    int64_t at = r - 1;
    const auto last = [&](int64_t i) { return with_replacement ? count - 1 : count - r + i; };
    while (at >= 0 && now[static_cast<size_t>(at)] == last(at)) --at;
    if (at < 0) return all;
    const int64_t next = ++now[static_cast<size_t>(at)];
    for (int64_t i = at + 1; i < r; ++i) now[static_cast<size_t>(i)] = with_replacement ? next : next + i - at;
  }
}

/// count over r, or nothing above 2^31.
std::optional<int64_t> binomial(int64_t count, int64_t r) {
  if (r > count) return 0;
  int64_t made = 1;
  for (int64_t i = 1; i <= std::min(r, count - r); ++i) {
    made = made * (count - std::min(r, count - r) + i) / i;
    if (made >= kMostParts) return std::nullopt;
  }
  return made;
}

}  // namespace

Dims broadcast_shapes(std::span<const Dims> shapes) {
  Dims together;
  for (const Dims& shape : shapes) together = record::broadcast("broadcast", together, shape);
  return together;
}

std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors) {
  std::vector<Dims> shapes;
  for (const Tensor& one : tensors) shapes.push_back(one.shape());
  const Dims together = broadcast_shapes(shapes);
  std::vector<Tensor> made;
  for (const Tensor& one : tensors) made.push_back(one.shape() == together ? one : one.expand(together));
  return made;
}

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, const Options& options) {
  return positions_of_triangle("tril_indices", rows, columns, offset, Triangle::lower, options);
}
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, const Options& options) {
  return positions_of_triangle("triu_indices", rows, columns, offset, Triangle::upper, options);
}

Tensor block_diag(std::span<const Tensor> tensors) {
  if (tensors.empty()) return zeros({1, 0});
  std::vector<Tensor> blocks, rows;
  int64_t width = 0, before = 0;
  for (const Tensor& one : tensors) {
    if (one.dim() > 2) fail("block_diag", "needs matrices, not shape {}", ir::to_string(one.shape()));
    blocks.push_back(one.dim() == 2 ? one : one.reshape({1, one.numel()}));
    width += blocks.back().size(1);
  }
  for (const Tensor& one : blocks) {
    const auto none = [&](int64_t columns) {
      return zeros({one.size(0), columns}, Options(one.dtype(), one.device()));
    };
    rows.push_back(cat({none(before), one, none(width - before - one.size(1))}, 1));
    before += one.size(1);
  }
  return cat(rows, 0);
}

Tensor cartesian_prod(std::span<const Tensor> tensors) {
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors, "ij")) columns.push_back(grid.flatten());
  return stack(columns, 1);
}

Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  if (x.dim() != 1) fail("combinations", "takes a vector, got shape {}", ir::to_string(x.shape()));
  if (r < 0) fail("combinations", "takes 0 elements or more, not {}", r);
  const int64_t size = x.numel();
  const auto count = binomial(size + (with_replacement && r > 0 ? r - 1 : 0), r);
  if (!count || *count * std::max<int64_t>(r, 1) >= kMostParts)
    fail("combinations", "there are too many choices of {} of {} elements", r, size);
  const Tensor places = from_vector(choices(size, r, with_replacement), {*count * r});
  return record::apart(index_select(x, 0, places.to(x.device())).reshape({*count, r}));
}

Tensor rot90(const Tensor& x, int64_t k, const Dims& dims) {
  if (dims.size() != 2) fail("rot90", "needs two dims, not {}", ir::to_string(dims));
  const auto first = static_cast<int64_t>(record::axis("rot90", dims[0], x.shape().size()));
  const auto second = static_cast<int64_t>(record::axis("rot90", dims[1], x.shape().size()));
  if (first == second) fail("rot90", "needs two dims, not {}", ir::to_string(dims));
  switch ((k % 4 + 4) % 4) {
    case 0: return x.clone();
    case 1: return record::apart(x.flip({second}).transpose(first, second));
    case 2: return x.flip({first, second});
    default: return record::apart(x.flip({first}).transpose(first, second));
  }
}

Tensor atleast_1d(const Tensor& x) { return x.dim() >= 1 ? x : x.reshape({1}); }
Tensor atleast_2d(const Tensor& x) { return x.dim() >= 2 ? x : x.reshape({1, x.numel()}); }
Tensor atleast_3d(const Tensor& x) {
  if (x.dim() >= 3) return x;
  return x.dim() == 2 ? x.unsqueeze(-1) : x.reshape({1, x.numel(), 1});
}

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  if (sections < 1 || sections >= kMostParts)
    fail("tensor_split", "needs 1 part or more, and fewer than 2^31, not {}", sections);
  const int64_t size = x.size(dim);
  Dims ends;
  for (int64_t i = 1, end = 0; i < sections; ++i)
    ends.push_back(end += size / sections + (i - 1 < size % sections ? 1 : 0));
  return tensor_split(x, ends, dim);
}

std::vector<Tensor> tensor_split(const Tensor& x, const Dims& ends, int64_t dim) {
  if (x.dim() == 0) fail("tensor_split", "needs a tensor with dims");
  const int64_t size = x.size(dim);
  std::vector<Tensor> parts;
  int64_t start = 0;
  const auto part_to = [&](int64_t end) {
    end = std::clamp<int64_t>(end < 0 ? end + size : end, 0, size);
    parts.push_back(x.narrow(dim, std::min(start, size), std::max<int64_t>(end - start, 0)));
    start = end;
  };
  for (const int64_t end : ends) part_to(end);
  part_to(size);
  return parts;
}

Unique unique_consecutive(const Tensor& given, std::optional<int64_t> dim) {
  const Tensor x = dim ? given : given.flatten();
  const auto along = static_cast<int64_t>(record::axis("unique_consecutive", dim.value_or(0), x.shape().size()));
  const int64_t count = x.size(along);
  const Options whole(DType::i64, x.device()), flags(DType::boolean, x.device());
  Tensor starts = ones({std::min<int64_t>(count, 1)}, flags);
  if (count > 1) {
    Tensor differs = ne(x.narrow(along, 1, count - 1), x.narrow(along, 0, count - 1));
    differs = any(differs.movedim(along, 0).reshape({count - 1, x.numel() / count}), 1);
    starts = cat({starts, differs}, 0);
  }
  const Tensor places = nonzero(starts).flatten();
  const Tensor inverse = sub(cumsum(starts.to(DType::i64), 0), 1);
  const Tensor counts = diff(cat({places, full({1}, count, whole)}, 0));
  return {index_select(x, along, places), dim ? inverse : inverse.reshape(given.shape()), counts};
}

Tensor index_put(const Tensor& x, std::span<const Tensor> positions, const Operand& values, bool accumulate) {
  Tensor made = x.clone();
  const std::vector<IndexEntry> entries(positions.begin(), positions.end());
  return made.index_put_(entries, values, accumulate);
}

Tensor& fill_diagonal_(Tensor& x, const Operand& value, bool wrap) {
  const Dims& shape = x.shape();
  if (shape.size() < 2 ||
      (shape.size() > 2 && !std::all_of(shape.begin(), shape.end(), [&](int64_t size) { return size == shape[0]; })))
    fail("fill_diagonal_", "needs a matrix, or dims of one size, not {}", ir::to_string(shape));
  const Options whole(DType::i64, x.device());
  std::vector<IndexEntry> entries;
  if (wrap && shape.size() == 2) {
    for (const Tensor& places : unravel_index(arange(0, x.numel(), shape[1] + 1, whole), shape))
      entries.emplace_back(places);
  } else {
    const Tensor places = arange(*std::min_element(shape.begin(), shape.end()), whole);
    entries.assign(shape.size(), IndexEntry(places));
  }
  return x.index_put_(entries, value);
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& dim, double correction, bool keepdim) {
  return {var(x, dim, correction, keepdim), mean(x, dim, keepdim)};
}
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& dim, double correction, bool keepdim) {
  return {tenon::std(x, dim, correction, keepdim), mean(x, dim, keepdim)};
}

}  // namespace tenon
