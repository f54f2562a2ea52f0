// Order statistics, searching in sorted values, differences: all by sorting and picking.

#include <bit>
#include <cmath>
#include <limits>

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon {
namespace {

using base::fail;

void require_size(std::string_view op, const Tensor& x, size_t axis) {
  if (x.shape()[axis] == 0) fail(op, "dim {} of shape {} is empty", axis, ir::to_string(x.shape()));
}

std::pair<Tensor, Tensor> picked(const Tensor& x, int64_t dim, const Tensor& where_it_stands, bool keepdim) {
  const Tensor values = gather(x, dim, where_it_stands);
  if (keepdim) return {values, where_it_stands};
  return {record::apart(values.squeeze(dim)), where_it_stands.squeeze(dim)};
}

// An index that is known to lie in 0 .. size - 1.
Tensor inside(Tensor index, int64_t size) {
  set_known_range(index, 0, size - 1, false);
  return index;
}

}  // namespace

Tensor nansum(const Tensor& x, const Axes& dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return nansum(x.to(*dtype), dims, keepdim).to(*dtype);
  return sum(is_float(x.dtype()) ? where(isnan(x), 0, x) : x, dims, keepdim);
}

Tensor nanmean(const Tensor& x, const Axes& dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return nanmean(x.to(*dtype), dims, keepdim);
  record::require_float("nanmean", x);
  return record::in_wide(
      x, [&](const Tensor& w) { return div(nansum(w, dims, keepdim), sum(logical_not(isnan(w)), dims, keepdim)); });
}

Tensor count_nonzero(const Tensor& x, const Axes& dims) { return sum(ne(x, 0), dims); }

Tensor diff(const Tensor& given, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  if (n < 0) fail("diff", "n must not be negative, got {}", n);
  std::vector<Tensor> parts{given};
  if (n > 0 && prepend.defined()) parts.insert(parts.begin(), prepend);  // as in PyTorch, of no differences at all
  if (n > 0 && append.defined()) parts.push_back(append);
  const Tensor x = parts.size() == 1 ? given : cat(parts, dim);
  const auto axis = static_cast<int64_t>(record::axis("diff", dim, x.shape().size()));
  Tensor made = x;
  for (int64_t i = 0; i < n && made.size(axis) > 0; ++i) {
    const int64_t size = made.size(axis);
    const Tensor from = made.narrow(axis, 0, size - 1), to = made.narrow(axis, 1, size - 1);
    made = x.dtype() == DType::boolean ? logical_xor(to, from) : sub(to, from);
  }
  return n == 0 ? x.clone() : made;
}

std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  if (record::is_single("kthvalue", x, dim)) {
    const auto [values, indices] = kthvalue(x.reshape({1}), k, 0, true);
    return {record::apart(values.reshape({})), indices.reshape({})};
  }
  const size_t axis = record::axis("kthvalue", dim, x.shape().size());
  if (k < 1 || k > x.shape()[axis])
    fail("kthvalue", "k = {} does not lie in 1..{}, the size of dim {}", k, x.shape()[axis], dim);
  const Tensor order = inside(argsort(x.detach(), dim).narrow(dim, k - 1, 1), x.shape()[axis]);
  return picked(x, dim, order, keepdim);
}

std::pair<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim) {
  if (record::is_single("median", x, dim)) {
    const auto [values, indices] = median(x.reshape({1}), 0, true);
    return {record::apart(values.reshape({})), indices.reshape({})};
  }
  const size_t axis = record::axis("median", dim, x.shape().size());
  require_size("median", x, axis);
  const int64_t n = x.shape()[axis];
  const auto [sorted, order] = sort(x.detach(), dim);
  Tensor middle = order.narrow(dim, (n - 1) / 2, 1);
  if (is_float(x.dtype()))  // NaN stands last
    middle = where(isnan(sorted.narrow(dim, n - 1, 1)), order.narrow(dim, n - 1, 1), middle);
  return picked(x, dim, inside(middle, n), keepdim);
}

Tensor median(const Tensor& x) {
  if (x.numel() == 0) {
    if (!is_float(x.dtype()))
      fail("median", "a tensor of shape {} has no median, and {} has no NaN to say so", ir::to_string(x.shape()),
           name(x.dtype()));
    return full({}, std::numeric_limits<double>::quiet_NaN(), Options(x.dtype(), x.device()));
  }
  const Tensor value = median(x.detach().flatten(), 0).first;
  return is_float(x.dtype()) ? record::shared_evenly("median", x, value) : value;
}

std::pair<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  if (!is_float(x.dtype())) return median(x, dim, keepdim);
  if (record::is_single("nanmedian", x, dim)) {
    const auto [values, indices] = nanmedian(x.reshape({1}), 0, true);
    return {record::apart(values.reshape({})), indices.reshape({})};
  }
  const size_t axis = record::axis("nanmedian", dim, x.shape().size());
  require_size("nanmedian", x, axis);
  const Tensor order = sort(x.detach(), dim).second;  // NaN stands last
  const Tensor counted = sum(logical_not(isnan(x.detach())), dim, true);
  const Tensor middle = inside(clamp(floor_divide(sub(counted, 1), 2), 0, {}), x.shape()[axis]);
  return picked(x, dim, inside(gather(order, dim, middle), x.shape()[axis]), keepdim);
}

Tensor nanmedian(const Tensor& x) {
  if (x.numel() == 0 || !is_float(x.dtype())) return median(x);
  return record::shared_evenly("nanmedian", x, nanmedian(x.detach().flatten(), 0).first);
}

// In sorted order equal elements are runs: the first one of the longest.
std::pair<Tensor, Tensor> mode(const Tensor& x, int64_t dim, bool keepdim) {
  if (record::is_single("mode", x, dim)) {
    const auto [values, indices] = mode(x.reshape({1}), 0, true);
    return {record::apart(values.reshape({})), indices.reshape({})};
  }
  const size_t axis = record::axis("mode", dim, x.shape().size());
  require_size("mode", x, axis);
  const int64_t n = x.shape()[axis];
  const auto [sorted, order] = sort(x.detach(), dim);
  Dims along(x.shape().size(), 1);
  along[axis] = n;
  const Tensor place = arange(n, Options(DType::i64, x.device())).reshape(along).expand(x.shape());
  const Tensor begins = ne(sorted, roll(sorted, 1, static_cast<int64_t>(axis)));
  const Tensor start = cummax(where(begins, place, 0), dim).first;  // the first place begins a run whatever it is
  const Tensor last = inside(argmax(sub(place, start), dim, true), n);
  return picked(x, dim, inside(gather(order, dim, last), n), keepdim);
}

namespace {

// Slopes along one dim. Places have the shape of a vector, a distance that of a number.
Tensor gradient_along(const Tensor& x, int64_t dim, const Tensor& spacing, int64_t edge_order) {
  const int64_t n = x.size(dim);
  if (n < edge_order + 1)
    fail("gradient", "edges of order {} need {} elements, and dim {} has {}", edge_order, edge_order + 1, dim, n);
  const auto at = [&](int64_t i) { return x.narrow(dim, i, 1); };
  if (spacing.dim() == 0) {
    Tensor first = sub(at(1), at(0)), last = sub(at(n - 1), at(n - 2));
    if (edge_order == 2) {
      first = sub(mul(sub(at(1), at(0)), 1.5), mul(sub(at(2), at(1)), 0.5));
      last = sub(mul(sub(at(n - 1), at(n - 2)), 1.5), mul(sub(at(n - 2), at(n - 3)), 0.5));
    }
    const Tensor inner = mul(sub(x.narrow(dim, 2, n - 2), x.narrow(dim, 0, n - 2)), 0.5);
    return div(cat({first, inner, last}, dim), spacing);
  }
  if (spacing.dim() != 1 || spacing.numel() != n)
    fail("gradient", "dim {} has {} elements, and the places given for it have the shape {}", dim, n,
         ir::to_string(spacing.shape()));
  Dims along(x.shape().size(), 1);
  along[static_cast<size_t>(dim)] = n - 1;
  const Tensor apart = diff(spacing).reshape(along);
  const Tensor slope = div(sub(x.narrow(dim, 1, n - 1), x.narrow(dim, 0, n - 1)), apart);
  const auto slope_at = [&](int64_t i) { return slope.narrow(dim, i, 1); };
  const auto apart_at = [&](int64_t i) { return apart.narrow(dim, i, 1); };
  // The parabola through three points has the slope of each of its halves in the middle of that.
  const Tensor before = apart.narrow(dim, 0, n - 2), behind = apart.narrow(dim, 1, n - 2);
  const Tensor inner =
      div(add(mul(slope.narrow(dim, 0, n - 2), behind), mul(slope.narrow(dim, 1, n - 2), before)), add(before, behind));
  Tensor first = slope_at(0), last = slope_at(n - 2);
  if (edge_order == 2) {
    const auto beyond = [&](int64_t edge, int64_t next) {
      const Tensor share = div(apart_at(edge), add(apart_at(edge), apart_at(next)));
      return add(slope_at(edge), mul(sub(slope_at(edge), slope_at(next)), share));
    };
    first = beyond(0, 1);
    last = beyond(n - 2, n - 3);
  }
  return cat({first, inner, last}, dim);
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& given, std::span<const Tensor> spacing, const Axes& dims,
                             int64_t edge_order) {
  if (edge_order != 1 && edge_order != 2) fail("gradient", "edge_order is 1 or 2, not {}", edge_order);
  const DType dtype = record::real_type(given.dtype());
  const Tensor x = given.to(accumulator(dtype));  // 16-bit types are rounded once
  Dims wanted(dims.begin(), dims.end());
  if (wanted.empty()) wanted = ir::iota_dims(x.shape().size());
  record::axes("gradient", wanted, x.shape().size());  // fails where a dim appears twice
  if (!spacing.empty() && spacing.size() != wanted.size())
    fail("gradient", "{} spacings are given for {} dims", spacing.size(), wanted.size());
  const Tensor one = ones({}, Options(x.dtype(), x.device()));
  std::vector<Tensor> slopes;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto dim = static_cast<int64_t>(record::axis("gradient", wanted[i], x.shape().size()));
    const Tensor& apart = spacing.empty() ? one : spacing[i];
    record::require_same_device("gradient", x, apart);
    slopes.push_back(gradient_along(x, dim, apart.to(accumulator(apart.dtype())), edge_order).to(dtype));
  }
  return slopes;
}

Tensor histc(const Tensor& given, int64_t bins, double low, double high) {
  record::require_float("histc", given);
  if (bins < 1) fail("histc", "needs bins, not {} of them", bins);
  const Tensor x = given.detach().flatten();
  Tensor first = full({}, low, Options(x.dtype(), x.device())), last = full({}, high, Options(x.dtype(), x.device()));
  if (low == 0 && high == 0 && x.numel() > 0) {
    first = amin(x);
    last = amax(x);
  }
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high))
    fail("histc", "counts from a finite number to a larger one, not from {} to {}", low, high);
  const Tensor is_one_place = eq(first, last);
  first = where(is_one_place, sub(first, 1), first);
  last = where(is_one_place, add(last, 1), last);
  const Tensor is_inside = logical_and(ge(x, first), le(x, last));
  // Rounded to the dtype of x after every step, as PyTorch does: an element at an edge of 16 bits stays in its bin.
  const Tensor place = div(mul(sub(x, first), bins), sub(last, first));
  const Tensor bin = inside(clamp(where(is_inside, place, 0.0).to(DType::i64), 0, bins - 1), bins);
  return index_add(zeros({bins}, Options(x.dtype(), x.device())), 0, bin, is_inside.to(x.dtype()));
}

namespace {

// Where a share lies among n sorted elements: between two of them, and how far from the lower one.
struct Between {
  Tensor low, high, weight;
};

Between between(const Operand& q, int64_t n, std::string_view how, const Options& options) {
  const auto last = static_cast<double>(n - 1);
  if (q.is_tensor()) {
    const Tensor position = mul(q.tensor().to(*options.dtype), last);
    const Tensor at = how == "nearest" ? round(position) : how == "higher" ? ceil(position) : floor(position);
    const Tensor low = at.to(DType::i64);
    const Tensor rest = how == "linear"     ? sub(position, at)
                        : how == "midpoint" ? mul(ne(position, at), 0.5)
                                            : zeros_like(at);
    return {low, clamp(add(low, 1), {}, n - 1), rest};
  }
  // The share is rounded to the dtype of the elements first, as in PyTorch: 0.6 is a little more in f32.
  const double given = q.number().as_double();
  const double position = last * (options.dtype == DType::f64 ? given : static_cast<float>(given));
  const double at = how == "nearest"  ? std::nearbyint(position)
                    : how == "higher" ? std::ceil(position)
                                      : std::floor(position);
  const double rest = how == "linear" ? position - at : how == "midpoint" && position != at ? 0.5 : 0;
  const auto low = static_cast<int64_t>(at);
  const auto index = [&](int64_t i) { return full({}, i, Options(DType::i64, options.device)); };
  return {inside(index(low), n), inside(index(std::min(low + 1, n - 1)), n), full({}, rest, options)};
}

}  // namespace

namespace {

// Of the elements of each row that are numbers, which stand first. Rows without any give NaN.
Tensor quantile_of_numbers(const Tensor& rows, const Operand& q, std::string_view how) {
  const Tensor sorted = sort(rows, -1).first;
  const Options options(rows.dtype(), rows.device());
  const Tensor shares = q.is_tensor() ? q.tensor().to(rows.dtype()).flatten() : full({1}, q.number(), options);
  const Tensor count = sum(logical_not(isnan(rows.detach())), {-1}, true).to(rows.dtype());
  const Tensor position = clamp(mul(shares, sub(count, 1.0)), 0.0, {});
  const Tensor low = how == "nearest" ? round(position) : how == "higher" ? ceil(position) : floor(position);
  const bool is_between = how == "linear" || how == "midpoint";
  const auto picked_at = [&](const Tensor& place) {
    return gather(sorted, -1, inside(place.to(DType::i64), rows.size(-1)));
  };
  const Tensor below = picked_at(low);
  if (!is_between) return below;
  const Tensor high = ceil(position);
  return lerp(below, picked_at(high), how == "linear" ? sub(position, low) : mul(sub(high, low), 0.5));
}

Tensor quantile_of(std::string_view op, const Tensor& x, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation, bool leaves_nan_out) {
  record::require_float(op, x);
  const bool is_known = interpolation == "linear" || interpolation == "lower" || interpolation == "higher" ||
                        interpolation == "nearest" || interpolation == "midpoint";
  if (!is_known) {
    fail(op, "interpolation is \"linear\", \"lower\", \"higher\", \"nearest\" or \"midpoint\", not \"{}\"",
         interpolation);
  }
  if (!q.is_tensor() && !(q.number().as_double() >= 0 && q.number().as_double() <= 1))
    fail(op, "q must lie in 0..1, got {}", q.number().as_double());
  if (q.is_tensor() && (q.tensor().dim() > 1 || !is_float(q.tensor().dtype())))
    fail(op, "q is a number or a vector of them, got {}{}", name(q.tensor().dtype()),
         ir::to_string(q.tensor().shape()));
  const bool along = dim && x.dim() > 0;
  if (dim && x.dim() == 0) record::is_single(op, x, *dim);
  const Tensor rows = along ? movedim(x, *dim, -1) : x.flatten();
  const size_t axis = rows.shape().size() - 1;
  if (rows.shape()[axis] == 0) fail(op, "a dim of shape {} is empty", ir::to_string(x.shape()));
  const int64_t n = rows.shape()[axis];
  Tensor made;
  if (leaves_nan_out) {
    made = quantile_of_numbers(rows, q, interpolation);
  } else {
    const Tensor sorted = sort(rows, -1).first;
    const auto [low, high, weight] = between(q, n, interpolation, Options(x.dtype(), x.device()));
    const Tensor below = index_select(sorted, -1, low), above = index_select(sorted, -1, high);
    const Tensor largest = sorted.narrow(-1, n - 1, 1);
    made = where(isnan(largest), largest, lerp(below, above, weight));
  }
  // The shares come first, then what is left of x.
  const bool has_shares = q.is_tensor() && q.tensor().dim() == 1;
  made = has_shares ? movedim(made, -1, 0) : made.squeeze(-1);
  if (!keepdim) return made;
  const int64_t lead = has_shares ? 1 : 0;
  if (along) return made.unsqueeze(lead + static_cast<int64_t>(record::axis(op, *dim, x.shape().size())));
  Dims shape(x.shape().size(), 1);
  if (has_shares) shape.insert(shape.begin(), made.size(0));
  return made.reshape(shape);
}

}  // namespace

Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return record::apart(quantile_of("quantile", x, q, dim, keepdim, interpolation, false));
}
Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return record::apart(quantile_of("nanquantile", x, q, dim, keepdim, interpolation, true));
}

namespace {

// Binary search in steps of falling powers of two, of all values at once.
Tensor places_among(const Tensor& sorted, const Operand& values, bool right) {
  if (sorted.dim() == 0) fail("searchsorted", "takes a sorted vector or batches of them");
  const auto as_tensor = [&](const Number& number) {  // a real number among integers stays what it is
    const DType dtype = number.is_real() ? record::real_type(sorted.dtype()) : sorted.dtype();
    return full({}, number, Options(dtype, sorted.device()));
  };
  const Tensor wanted = values.is_tensor() ? values.tensor() : as_tensor(values.number());
  record::require_same_device("searchsorted", sorted, wanted);
  const bool one_for_all = sorted.dim() == 1;
  bool fits = one_for_all || sorted.dim() == wanted.dim();
  for (int64_t i = 0; fits && !one_for_all && i + 1 < sorted.dim(); ++i) fits = sorted.size(i) == wanted.size(i);
  if (!fits) {
    fail("searchsorted", "values of shape {} do not fit sorted ones of {}", ir::to_string(wanted.shape()),
         ir::to_string(sorted.shape()));
  }
  const int64_t n = sorted.size(-1);
  Tensor found = zeros(wanted.shape(), Options(DType::i64, sorted.device()));
  if (n == 0 || wanted.numel() == 0) return found;
  for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); step > 0; step /= 2) {
    const Tensor next = add(found, step);
    const Tensor at = inside(clamp(sub(next, 1), {}, n - 1), n);
    const Tensor there =
        one_for_all ? index_select(sorted, 0, at.flatten()).reshape(wanted.shape()) : gather(sorted, -1, at);
    const Tensor stays = right ? gt(there, wanted) : ge(there, wanted);  // so that NaN goes behind everything
    found = where(logical_and(le(next, n), logical_not(stays)), next, found);
  }
  return found;
}

bool is_right(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  if (*side != "left" && *side != "right")
    fail("searchsorted", "there is no side '{}'; there are 'left' and 'right'", *side);
  if (right && *side == "left") fail("searchsorted", "is asked for right and for the side 'left'");
  return *side == "right";
}

}  // namespace

Tensor searchsorted(const Tensor& sequence, const Operand& values, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  if (sorter.defined() && sorter.shape() != sequence.shape())
    fail("searchsorted", "a sorter of shape {} does not fit values of shape {}", ir::to_string(sorter.shape()),
         ir::to_string(sequence.shape()));
  const Tensor found =
      places_among(sorter.defined() ? gather(sequence, -1, sorter) : sequence, values, is_right(right, side));
  return out_int32 ? found.to(DType::i32) : found;
}

namespace {

Tensor is_among(const Tensor& x, const Tensor& elements) {
  record::require_same_device("isin", x, elements);
  const int64_t n = elements.numel();
  if (n == 0) return full(x.shape(), false, Options(DType::boolean, x.device()));
  const DType dtype = promote(x.dtype(), elements.dtype());
  const Tensor wanted = x.detach().to(dtype), sorted = sort(elements.detach().to(dtype).flatten(), 0).first;
  // NaN, which is equal to nothing, stands behind all others: so must what is searched through.
  const Tensor keys = is_float(dtype) ? where(isnan(sorted), std::numeric_limits<double>::infinity(), sorted) : sorted;
  const Tensor at = inside(clamp(searchsorted(keys, wanted), {}, n - 1), n);
  return eq(index_select(sorted, 0, at.flatten()).reshape(x.shape()), wanted);
}

}  // namespace

Tensor isin(const Tensor& x, const Operand& wanted, bool, bool invert) {
  const Tensor found = wanted.is_tensor() ? is_among(x, wanted.tensor()) : eq(x, wanted);
  return invert ? logical_not(found) : found;
}

}  // namespace tenon
