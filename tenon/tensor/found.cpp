// Ops whose shape depends on values: positions, selections, distinct values, counts. They compute what they are given,
// look at it on the host, and are refused inside captured functions, which have no values yet.

#include <algorithm>
#include <numeric>

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/stats.h"

namespace tenon {
namespace {

using base::fail;

Tensor numbers(std::vector<int64_t> values, const Dims& shape, Device device) {
  return from_vector(values, shape, Options(DType::i64, device));
}

// NaN comes last, and is equal to none, not even to another.
template <typename T>
bool comes_before(T a, T b) {
  return a < b || (b != b && a == a);
}

// What is made at once and cannot be: how many numbers of 64 bits, and where.
void require_memory(std::string_view op, uint64_t count, Device device) {
  constexpr uint64_t kFew = 1 << 20;  // asking what is free takes some 50 us
  if (count <= kFew) return;
  const auto available = available_memory(device);
  if (!available || count <= *available / sizeof(int64_t)) return;
  fail(op, "{} numbers do not fit into the {} bytes that {} has free: give it smaller values", count, *available,
       device.name());
}

template <typename T>
Unique unique_of(const Tensor& x) {
  const std::vector<T> values = x.detach().to_vector<T>();
  std::vector<int64_t> order(values.size()), inverse(values.size()), counts;
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return comes_before<T>(at(a), at(b)); });
  std::vector<T> distinct;
  for (int64_t i : order) {
    if (distinct.empty() || !(distinct.back() == at(i))) {
      distinct.push_back(at(i));
      counts.push_back(0);
    }
    ++counts.back();
    inverse[static_cast<size_t>(i)] = static_cast<int64_t>(distinct.size()) - 1;
  }
  const Dims length{static_cast<int64_t>(distinct.size())};
  // Through the host where the device lacks f64.
  const Tensor made = from_vector(distinct, length, Options(record::with_f64(x.device())));
  return {made.to(x.dtype()).to(x.device()), numbers(inverse, x.shape(), x.device()),
          numbers(counts, length, x.device())};
}

// Slices are rows of `rows`.
template <typename T>
Unique unique_rows_of(const Tensor& x, const Tensor& rows, int64_t dim) {
  const std::vector<T> values = rows.detach().to_vector<T>();
  const int64_t count = rows.size(0), width = rows.size(1);
  const auto at = [&](int64_t row, int64_t i) { return values[static_cast<size_t>(row * width + i)]; };
  const auto is_before = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < width; ++i) {
      if (comes_before<T>(at(a, i), at(b, i))) return true;
      if (comes_before<T>(at(b, i), at(a, i))) return false;
    }
    return false;
  };
  const auto is_same = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < width; ++i) {
      if (!(at(a, i) == at(b, i))) return false;
    }
    return true;
  };
  std::vector<int64_t> order(static_cast<size_t>(count)), inverse(order.size()), counts, firsts;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), is_before);
  for (const int64_t row : order) {
    if (firsts.empty() || !is_same(firsts.back(), row)) {
      firsts.push_back(row);
      counts.push_back(0);
    }
    ++counts.back();
    inverse[static_cast<size_t>(row)] = static_cast<int64_t>(firsts.size()) - 1;
  }
  const Dims found{static_cast<int64_t>(firsts.size())};
  return {index_select(x.detach(), dim, numbers(firsts, found, x.device())), numbers(inverse, {count}, x.device()),
          numbers(counts, found, x.device())};
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  record::require_known_values("nonzero", "nonzero");
  const std::vector<bool> found = (x.dtype() == DType::boolean ? x.detach() : ne(x.detach(), 0)).to_vector<bool>();
  const auto rank = static_cast<size_t>(x.dim());
  const Dims& shape = x.shape();
  Dims position(rank, 0);
  std::vector<int64_t> rows;
  for (const bool is_one : found) {
    if (is_one) rows.insert(rows.end(), position.begin(), position.end());
    for (size_t axis = rank; axis-- > 0;) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
  const int64_t count = std::count(found.begin(), found.end(), true);
  return numbers(rows, {count, x.dim()}, x.device());
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  record::require_known_values("masked_select", "masked_select");
  if (mask.dtype() != DType::boolean) fail("masked_select", "the mask must be bool, got {}", name(mask.dtype()));
  record::require_same_device("masked_select", x, mask);
  const Dims shape = record::broadcast("masked_select", x.shape(), mask.shape());
  const Tensor places = nonzero(mask.expand(shape).flatten()).select(1, 0);
  return index_select(x.expand(shape).flatten(), 0, places);
}

Unique unique(const Tensor& x) {
  record::require_known_values("unique", "unique");
  return is_float(x.dtype()) ? unique_of<double>(x) : unique_of<int64_t>(x);
}

Unique unique(const Tensor& x, int64_t dim) {
  record::require_known_values("unique", "unique");
  const auto axis = static_cast<int64_t>(record::axis("unique", dim, x.shape().size()));
  const int64_t count = x.size(axis);
  if (x.numel() == 0 && count > 0)
    fail("unique", "slices along dim {} of {} have no elements", dim, ir::to_string(x.shape()));
  const Tensor rows = x.detach().movedim(axis, 0).reshape({count, count == 0 ? 1 : x.numel() / count});
  return is_float(x.dtype()) ? unique_rows_of<double>(x, rows, axis) : unique_rows_of<int64_t>(x, rows, axis);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  record::require_known_values("bincount", "bincount");
  if (!is_integer(x.dtype())) fail("bincount", "takes integers, got {}", name(x.dtype()));
  if (x.dim() != 1) fail("bincount", "takes a vector, got shape {}", ir::to_string(x.shape()));
  if (minlength < 0) fail("bincount", "minlength must not be negative, got {}", minlength);
  if (weights.defined() && weights.shape() != x.shape()) {
    fail("bincount", "weights of shape {} do not fit {}", ir::to_string(weights.shape()), ir::to_string(x.shape()));
  }
  // Sums of weights are f64 unless those are f32, as in PyTorch.
  const DType dtype = !weights.defined() ? DType::i64 : weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  auto size = static_cast<uint64_t>(minlength);
  if (x.numel() > 0) {
    const int64_t least = amin(x).item<int64_t>();
    if (least < 0) fail("bincount", "counts 0, 1, ..., got {}", least);
    size = std::max(size, static_cast<uint64_t>(amax(x).item<int64_t>()) + 1);
  }
  require_memory("bincount", size, x.device());
  const Tensor none = zeros({static_cast<int64_t>(size)}, Options(dtype, x.device()));
  if (x.numel() == 0) return none;
  const Tensor each = weights.defined() ? weights.detach().to(dtype) : ones({x.numel()}, Options(dtype, x.device()));
  return scatter_add(none, 0, x.to(DType::i64), each);
}

Tensor repeat_interleave(const Tensor& given, const Operand& repeats, std::optional<int64_t> dim) {
  const Tensor x = dim && given.dim() > 0 ? given : given.flatten();
  const int64_t at = dim ? *dim : 0;
  const size_t axis = record::axis("repeat_interleave", at, x.shape().size());
  if (!repeats.is_tensor()) {
    const int64_t times = repeats.number().as_int();
    if (repeats.number().is_real()) fail("repeat_interleave", "repeats are integers");
    if (times < 0) fail("repeat_interleave", "repeats must not be negative, got {}", times);
    Dims single = x.shape(), split = x.shape(), joined = x.shape();
    single.insert(single.begin() + axis + 1, 1);
    split.insert(split.begin() + axis + 1, times);
    ir::require_shape("repeat_interleave", split);
    joined[axis] *= times;
    // Values, not views: the result is a tensor of its own even where strides would show it.
    return tensor_of(ir::reshape(ir::expand(ir::reshape(record::in(x), single), split), joined));
  }
  record::require_known_values("repeat_interleave", "a tensor of repeats");
  const Tensor& counts = repeats.tensor();
  if (!is_integer(counts.dtype())) fail("repeat_interleave", "repeats are integers, got {}", name(counts.dtype()));
  if (counts.dim() > 1 || (counts.numel() != 1 && counts.numel() != x.shape()[axis])) {
    fail("repeat_interleave", "repeats of shape {} do not fit dim {} of size {}", ir::to_string(counts.shape()), at,
         x.shape()[axis]);
  }
  const std::vector<int64_t> each = counts.to_vector<int64_t>();
  const auto times_of = [&](int64_t i) { return each[each.size() == 1 ? 0 : static_cast<size_t>(i)]; };
  uint64_t total = 0;
  for (int64_t i = 0; i < x.shape()[axis]; ++i) {
    if (times_of(i) < 0) fail("repeat_interleave", "repeats must not be negative, got {}", times_of(i));
    if (__builtin_add_overflow(total, static_cast<uint64_t>(times_of(i)), &total)) total = UINT64_MAX;
  }
  require_memory("repeat_interleave", total, Device("cpu"));
  const auto count = static_cast<int64_t>(total);
  Dims shape = x.shape();
  shape[axis] = count;
  ir::require_shape("repeat_interleave", shape);
  std::vector<int64_t> places;
  places.reserve(static_cast<size_t>(total));
  for (int64_t i = 0; i < x.shape()[axis]; ++i) places.insert(places.end(), static_cast<size_t>(times_of(i)), i);
  return index_select(x, at, numbers(std::move(places), {count}, x.device()));
}

}  // namespace tenon
