// Reductions, scans and sorting.

#include <cmath>
#include <limits>

#include "tenon/ir/composition.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/composed.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

using ir::Op;
using record::in_wide;

Dims without(const Dims& shape, const Dims& axes) {
  Dims kept;
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<int64_t>(i))
      ++next;
    else
      kept.push_back(shape[i]);
  }
  return kept;
}

// Records a reduction over sorted axes; the table keeps reduced axes, PyTorch drops them.
ir::Value reduced(Op op, const ir::Value& x, const Dims& axes, bool keepdim) {
  const ir::Value kept = ir::reduce(op, x, axes);
  return keepdim ? kept : ir::reshape(kept, without(x.shape(), axes));
}

int64_t elements(const Tensor& x, const Dims& axes) {
  int64_t n = 1;
  for (int64_t axis : axes) n *= x.shape()[static_cast<size_t>(axis)];
  return n;
}

// Sums of integers and bool are i64, as in PyTorch.
DType total_type(DType dtype) { return is_float(dtype) ? dtype : DType::i64; }

void require_elements(std::string_view op, const Tensor& x, const Dims& axes) {
  for (int64_t axis : axes) {
    if (x.shape()[static_cast<size_t>(axis)] == 0) {
      base::fail(op, "cannot reduce dim {} of shape {}: it is empty and {} has no identity", axis,
                 ir::to_string(x.shape()), op);
    }
  }
}

// Reverses the order of values, so that the smallest becomes the largest.
ir::Value reversed(const ir::Value& x) {
  if (is_float(x.dtype())) return ir::neg(x);
  return ir::binary(Op::bit_xor, x, ir::full_like(x, x.dtype() == DType::boolean ? 1 : -1));
}

// The first index of the largest element along one axis; NaN counts as largest.
Tensor first_largest(std::string_view op, const ir::Value& value, size_t axis, bool keepdim) {
  const Dims axes{static_cast<int64_t>(axis)};
  const int64_t n = value.shape()[axis];
  if (n == 0) base::fail(op, "cannot search dim {} of shape {}: it is empty", axis, ir::to_string(value.shape()));
  const ir::Value x = ir::detach(value);
  const ir::Value top = ir::expand(ir::reduce(Op::max, x, axes), x.shape());
  ir::Value found = ir::equal(x, top);
  if (is_float(x.dtype())) found = ir::binary(Op::bit_or, found, ir::logical_not(ir::equal(x, x)));
  // Counting down from n makes the first match the largest number.
  const ir::Value from_end = ir::sub(ir::full(x.shape(), static_cast<double>(n), DType::i64, x.device()),
                                     ir::iota_along(x.shape(), axis, DType::i64, x.device()));
  const ir::Value score = ir::where(found, from_end, ir::full_like(from_end, 0));
  const ir::Value last = reduced(Op::max, score, axes, keepdim);
  Tensor index = tensor_of(ir::sub(ir::full_like(last, static_cast<double>(n)), last));
  return index;
}

Tensor arg_extreme(const char* op, const Tensor& x, int64_t dim, bool keepdim, bool largest) {
  ir::Value value = value_of(x);
  const bool is_single = record::is_single(op, x, dim);
  if (is_single) value = ir::reshape(value, {1});
  const size_t axis = is_single ? 0 : record::axis(op, dim, x.shape().size());
  const Tensor index = first_largest(op, largest ? value : reversed(value), axis, keepdim && !is_single);
  return is_single ? index.reshape({}) : index;
}

// What accuracies and greedy choices ask in every step: f is one node, for which a device may have a kernel.
std::vector<Tensor> searched(const char* op, const Tensor& x, int64_t dim, bool keepdim, bool largest,
                             const Composed& f) {
  const size_t axis = record::is_single(op, x, dim) ? 0 : record::axis(op, dim, x.shape().size());
  const ir::Routine routine = x.dim() > 0 && x.numel() > 0 ? ir::Routine::arg_extreme : ir::Routine::none;
  return composed(op, {static_cast<int64_t>(axis), largest, keepdim}, {&x, 1}, f, routine);
}

Tensor place_of_extreme(const char* op, const Tensor& x, std::optional<int64_t> dim, bool keepdim, bool largest) {
  if (!dim && x.dim() > 1) {
    const Tensor index = place_of_extreme(op, x.reshape({x.numel()}), 0, false, largest);
    return keepdim ? index.reshape(Dims(x.shape().size(), 1)) : index;
  }
  const int64_t along = dim.value_or(0);
  return searched(op, x, along, keepdim, largest, [&](std::span<const Tensor> in) {
    return std::vector{arg_extreme(op, in[0], along, keepdim, largest)};
  })[0];
}

std::pair<Tensor, Tensor> extreme_along(const char* op, const Tensor& x, int64_t dim, bool keepdim, bool largest) {
  if (grad_enabled() && x.requires_grad() && x.dim() > 0) {
    const Tensor index = place_of_extreme(op, x, dim, true, largest), values = gather(x, dim, index);
    return keepdim ? std::pair{values, index} : std::pair{record::apart(values.squeeze(dim)), index.squeeze(dim)};
  }
  const auto made = searched(op, x, dim, keepdim, largest, [&](std::span<const Tensor> in) {
    const Tensor index = arg_extreme(op, in[0], dim, true, largest);
    if (in[0].dim() == 0) return std::vector{in[0], index};
    const Tensor values = gather(in[0], dim, index);
    return keepdim ? std::vector{values, index} : std::vector{values.squeeze(dim), index.squeeze(dim)};
  });
  return {made[0], made[1]};
}

}  // namespace

Tensor sum(const Tensor& given, const Axes& dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return sum(given.to(*dtype), dims, keepdim).to(*dtype);
  const Tensor x = autocast_wide(given);
  const Dims axes = record::axes("sum", dims, x.shape().size());
  return tensor_of(reduced(Op::sum, ir::cast(record::in(x), total_type(x.dtype())), axes, keepdim));
}

Tensor prod(const Tensor& given, const Axes& dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return prod(given.to(*dtype), dims, keepdim).to(*dtype);
  const Tensor x = autocast_wide(given);
  const Dims axes = record::axes("prod", dims, x.shape().size());
  return tensor_of(reduced(Op::prod, ir::cast(record::in(x), total_type(x.dtype())), axes, keepdim));
}

Tensor mean(const Tensor& given, const Axes& dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return mean(given.to(*dtype), dims, keepdim);
  const Tensor x = autocast_wide(given);
  record::require_float("mean", x);
  const Dims axes = record::axes("mean", dims, x.shape().size());
  const auto n = static_cast<double>(elements(x, axes));
  return in_wide(x, [&](const Tensor& w) { return div(sum(w, axes, keepdim), n); });
}

Tensor amax(const Tensor& x, const Axes& dims, bool keepdim) {
  const Dims axes = record::axes("amax", dims, x.shape().size());
  require_elements("amax", x, axes);
  return tensor_of(reduced(Op::max, record::in(x), axes, keepdim));
}

Tensor amin(const Tensor& x, const Axes& dims, bool keepdim) {
  const Dims axes = record::axes("amin", dims, x.shape().size());
  require_elements("amin", x, axes);
  return tensor_of(reversed(reduced(Op::max, reversed(record::in(x)), axes, keepdim)));
}

namespace {

// Of all elements at once. Those that are as large share the gradient, or the NaN ones where there are any: amax has no
// gradient there. Both as in PyTorch.
Tensor extreme_of_all(const Tensor& x, bool largest) {
  const Tensor value = largest ? amax(x.detach()) : amin(x.detach());
  return is_float(x.dtype()) ? record::shared_evenly(largest ? "max" : "min", x, value) : value;
}

}  // namespace

Tensor max(const Tensor& x) { return extreme_of_all(x, true); }
Tensor min(const Tensor& x) { return extreme_of_all(x, false); }

std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_along("max", x, dim, keepdim, true);
}
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme_along("min", x, dim, keepdim, false);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return place_of_extreme("argmax", x, dim, keepdim, true);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return place_of_extreme("argmin", x, dim, keepdim, false);
}

Tensor var(const Tensor& given, const Axes& dims, double correction, bool keepdim) {
  const Tensor x = autocast_wide(given);
  record::require_float("var", x);
  const Dims axes = record::axes("var", dims, x.shape().size());
  const double divisor = std::max(0.0, static_cast<double>(elements(x, axes)) - correction);
  return in_wide(x, [&](const Tensor& w) {
    const Tensor centred = sub(w, mean(w, axes, true));
    return div(sum(square(centred), axes, keepdim), divisor);
  });
}

Tensor std(const Tensor& given, const Axes& dims, double correction, bool keepdim) {
  const Tensor x = autocast_wide(given);
  record::require_float("std", x);
  return in_wide(x, [&](const Tensor& w) {
    const Tensor variance = var(w, dims, correction, keepdim);
    const Tensor zero = eq(variance, 0.0);  // the root's slope there is infinite: take 0, as PyTorch does
    return where(zero, 0.0, sqrt(where(zero, 1.0, variance)));
  });
}

namespace {

// A sum instead of a maximum: it has an identity, so empty dims give false.
Tensor any_of(const Tensor& truth, const Dims& axes, bool keepdim) { return ne(sum(truth, axes, keepdim), 0); }

// Answers about u8 are u8, as in PyTorch.
Tensor answer_about(const Tensor& x, const Tensor& truth) {
  return x.dtype() == DType::u8 ? truth.to(DType::u8) : truth;
}

}  // namespace

Tensor any(const Tensor& x, const Axes& dims, bool keepdim) {
  const Dims axes = record::axes("any", dims, x.shape().size());
  return answer_about(x, any_of(x.dtype() == DType::boolean ? x : ne(x, 0), axes, keepdim));
}

Tensor all(const Tensor& x, const Axes& dims, bool keepdim) {
  const Dims axes = record::axes("all", dims, x.shape().size());
  return answer_about(x, logical_not(any_of(logical_not(x), axes, keepdim)));
}

Tensor norm(const Tensor& given, double p, const Axes& dims, bool keepdim) {
  const Tensor x = autocast_wide(given);
  record::require_float("norm", x);
  const Dims axes = record::axes("norm", dims, x.shape().size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return in_wide(x, [&](const Tensor& w) {
    if (std::isinf(p)) return p > 0 ? amax(abs(w), axes, keepdim) : amin(abs(w), axes, keepdim);
    if (p == 0) return record::with_flat_part(sum(ne(w, 0.0).to(w.dtype()), axes, keepdim), w);
    if (p == 1) return sum(abs(w), axes, keepdim);
    // Powers of 0 stand apart: some have derivatives that are not finite, and would spoil those of all other elements.
    const Tensor none = eq(w, 0.0);
    const auto power = [&] {
      return where(none, p > 0 ? 0.0 : kInfinity, pow(where(none, 1.0, where(lt(w, 0.0), neg(w), w)), p));
    };
    const Tensor total = sum(p == 2 ? square(w) : power(), axes, keepdim);
    const Tensor zero = eq(total, 0.0);
    const Tensor safe = where(zero, 1.0, total);
    return where(zero, p > 0 ? 0.0 : kInfinity, p == 2 ? sqrt(safe) : pow(safe, 1 / p));
  });
}

Tensor logsumexp(const Tensor& given, const Axes& dims, bool keepdim) {
  const Tensor x = autocast_wide(given.to(record::real_type(given.dtype())));
  const Dims axes = record::axes("logsumexp", dims, x.shape().size());
  return in_wide(x, [&](const Tensor& w) {
    if (w.numel() == 0) return log(sum(exp(w), axes, keepdim));
    // The shift is exact algebra, so it takes no gradient; an infinite maximum would make inf - inf.
    const Tensor top = amax(w, axes, true).detach();
    const Tensor shift = where(isfinite(top), top, 0.0);
    const Tensor total = add(log(sum(exp(sub(w, shift)), axes, true)), shift);
    return keepdim ? total : tensor_of(ir::reshape(record::in(total), without(w.shape(), axes)));
  });
}

Tensor softmax(const Tensor& given, int64_t dim, std::optional<DType> dtype) {
  if (dtype) return softmax(given.to(*dtype), dim);
  const Tensor x = autocast_wide(given);
  record::require_float("softmax", x);
  if (record::is_single("softmax", x, dim)) return softmax(x.reshape({1}), 0).reshape({});
  const Dims axes{static_cast<int64_t>(record::axis("softmax", dim, x.shape().size()))};
  if (x.numel() == 0) return x.clone();
  return in_wide(x, [&](const Tensor& w) {
    const Tensor weights = exp(sub(w, amax(w, axes, true).detach()));
    return mul(weights, div(1.0, sum(weights, axes, true)));  // one division a row, not one an element
  });
}

Tensor log_softmax(const Tensor& given, int64_t dim, std::optional<DType> dtype) {
  if (dtype) return log_softmax(given.to(*dtype), dim);
  const Tensor x = autocast_wide(given);
  record::require_float("log_softmax", x);
  if (record::is_single("log_softmax", x, dim)) return log_softmax(x.reshape({1}), 0).reshape({});
  const Dims axes{static_cast<int64_t>(record::axis("log_softmax", dim, x.shape().size()))};
  if (x.numel() == 0) return x.clone();
  return in_wide(x, [&](const Tensor& w) {
    const Tensor centred = sub(w, amax(w, axes, true).detach());
    return sub(centred, log(sum(exp(centred), axes, true)));
  });
}

namespace {

Tensor scanned(std::string_view op, const Tensor& x, int64_t dim, ir::ScanKind kind) {
  const ir::Value value = ir::cast(record::in(x), total_type(x.dtype()));
  if (record::is_single(op, x, dim)) return tensor_of(value);
  return tensor_of(ir::scan(value, record::axis(op, dim, x.shape().size()), kind));
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  if (dtype) return cumsum(x.to(*dtype), dim).to(*dtype);
  return scanned("cumsum", autocast_wide(x), dim, ir::ScanKind::sum);
}
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  if (dtype) return cumprod(x.to(*dtype), dim).to(*dtype);
  return scanned("cumprod", autocast_wide(x), dim, ir::ScanKind::prod);
}

namespace {

// The running largest elements, and up to every place the last element that is one. Places are looked for in the words
// of half the size that hold them as a rule.
std::vector<Tensor> running_extremes(const Tensor& x, size_t axis) {
  const ir::Value now = record::in(x), best = ir::scan(now, axis, ir::ScanKind::max);
  const DType words = x.shape()[axis] <= std::numeric_limits<int32_t>::max() ? DType::i32 : DType::i64;
  const ir::Value place = ir::iota_along(x.shape(), axis, words, x.device().id);
  ir::Value is_taken = ir::equal(now, best);
  if (is_float(x.dtype())) is_taken = ir::where(ir::equal(now, now), is_taken, ir::full_like(is_taken, 1));
  const ir::Value last = ir::scan(ir::where(is_taken, place, ir::full_like(place, 0)), axis, ir::ScanKind::max);
  return {tensor_of(best), tensor_of(ir::cast(last, DType::i64))};
}

// NaN counts as more extreme than all, whichever way.
std::pair<Tensor, Tensor> extremes_so_far(std::string_view op, const Tensor& x, int64_t dim, bool largest) {
  if (record::is_single(op, x, dim)) return {x.clone(), zeros({}, Options(DType::i64, x.device()))};
  const size_t axis = record::axis(op, dim, x.shape().size());
  if (x.dtype() == DType::boolean) {
    const auto [values, places] = extremes_so_far(op, x.to(DType::u8), dim, largest);
    return {values.to(DType::boolean), places};
  }
  const auto mirrored = [&](const ir::Value& v) {  // -x of an integer may be beyond what its dtype holds
    return is_float(v.dtype()) ? ir::unary(Op::neg, v) : ir::binary(Op::bit_xor, v, ir::full_like(v, -1));
  };
  const ir::Value given = record::in(x), seen = largest ? given : mirrored(given);
  const bool has_gradient = grad_enabled() && seen.needs_grad();
  const Tensor operand = tensor_of(ir::detach(seen));
  const auto made = composed(
      "running extremes", {static_cast<int64_t>(axis)}, {&operand, 1},
      [&](std::span<const Tensor> in) { return running_extremes(in[0], axis); }, ir::Routine::running_extremes);
  const ir::Value extreme = has_gradient ? ir::scan(seen, axis, ir::ScanKind::max) : record::in(made[0]);
  return {tensor_of(largest ? extreme : mirrored(extreme)), made[1]};
}

}  // namespace

std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) { return extremes_so_far("cummax", x, dim, true); }
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) { return extremes_so_far("cummin", x, dim, false); }

std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending, bool) {
  if (record::is_single("sort", x, dim)) return {tensor_of(record::in(x)), zeros({}, Options(DType::i64, x.device()))};
  auto [values, indices] = ir::sort(record::in(x), record::axis("sort", dim, x.shape().size()), descending);
  return {tensor_of(values), tensor_of(indices)};
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending, bool) { return sort(x, dim, descending).second; }

std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool) {
  if (record::is_single("topk", x, dim)) {
    if (k < 0 || k > 1) base::fail("topk", "k = {} does not lie in 0..1, the size of a single number", k);
    return sort(x, dim);
  }
  const size_t axis = record::axis("topk", dim, x.shape().size());
  if (k < 0 || k > x.shape()[axis]) {
    base::fail("topk", "k = {} does not lie in 0..{}, the size of dim {}", k, x.shape()[axis], dim);
  }
  const auto [values, indices] = sort(x, dim, largest);
  return {record::apart(values.narrow(dim, 0, k)), record::apart(indices.narrow(dim, 0, k))};
}

}  // namespace tenon
