// Products, running sums, sorting, indexed sums and writes as elementwise ops and reductions over views. Every device
// can run these; what they cost beside a kernel of its own stands with each.

#include <algorithm>
#include <bit>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/view.h"

namespace tenon::ir {
namespace {

Dims joined(std::initializer_list<Dims> parts) {
  Dims all;
  for (const Dims& part : parts) {
    for (const int64_t size : part) all.push_back(size);
  }
  return all;
}

// All products a * b as one tensor (..., M, N, K) that is never stored, summed over K: M N K multiplications as before,
// but every operand is read from memory K times.
Value contract_as_sums(const Value& a, const Value& b, DType result) {
  const size_t rank = a.rank();
  const DType wide = accumulator(result);
  const Dims batch(a.shape().begin(), a.shape().begin() + static_cast<ptrdiff_t>(rank - 2));
  const int64_t m = a.shape()[rank - 2], k = a.shape()[rank - 1], n = b.shape()[rank - 1];
  const Dims all = joined({batch, {m, n, k}});
  const Value left = expand(reshape(cast(a, wide), joined({batch, {m, 1, k}})), all);
  const Value right = expand(reshape(transpose_last(cast(b, wide)), joined({batch, {1, n, k}})), all);
  const Value sums = reduce(Op::sum, mul(left, right), {static_cast<int64_t>(rank)});
  return cast(reshape(sums, joined({batch, {m, n}})), result);
}

// The later of two numbers unless it is less; a NaN is above all.
Value later_extreme(const Value& earlier, const Value& later) {
  Value keeps = less(later, earlier);
  if (is_float(later.dtype())) {
    const auto is_number = [](const Value& v) { return equal(v, v); };
    keeps = where(is_number(earlier), keeps, is_number(later));
  }
  return where(keeps, earlier, later);
}

// Doubling: after step s every element holds the total of the 2 s elements up to it. log2(n) passes.
Value scan_by_doubling(const Value& x, const ScanAttrs& attrs) {
  const auto axis = static_cast<size_t>(attrs.axis);
  const Dims& shape = x.shape();
  Value total = cast(x, accumulator(x.dtype()));
  for (int64_t step = 1; step < shape[axis]; step *= 2) {
    Dims size = shape, before(shape.size(), 0);
    size[axis] -= step;
    before[axis] = step;
    const Value earlier =
        pad(shrink(total, Dims(shape.size(), 0), size, Dims(shape.size(), 1)), before, Dims(shape.size(), 0));
    if (attrs.kind == ScanKind::sum) {
      total = add(total, earlier);
      continue;
    }
    const Value position = iota_along(shape, axis, DType::i64, x.device());
    const Value is_first = less(position, full_like(position, static_cast<double>(step)));
    if (attrs.kind == ScanKind::prod)
      total = mul(total, where(is_first, full_like(total, 1), earlier));
    else
      total = where(is_first, total, later_extreme(earlier, total));
  }
  return cast(total, x.dtype());
}

// Numbers whose order as integers is the order in which the values are sorted: NaN is above everything, both zeros are
// equal.
Value sort_key(const Value& x, bool descending) {
  Value key;
  if (is_float(x.dtype())) {
    const Value wide = cast(x, accumulator(x.dtype()));
    const DType integer = wide.dtype() == DType::f64 ? DType::i64 : DType::i32;
    const Value zero = full_like(wide, 0);
    const Value bits = bitcast(where(equal(wide, zero), zero, wide), integer);
    const int64_t most =
        integer == DType::i64 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
    const Value magnitude = expand(reshape(constant_int(most, integer, x.device()), Dims(x.rank(), 1)), x.shape());
    const Value ordered = where(less(bits, full_like(bits, 0)), binary(Op::bit_xor, bits, magnitude), bits);
    key = where(equal(wide, wide), ordered, magnitude);
  } else {
    key = x.dtype() == DType::i64 ? x : cast(x, DType::i32);
  }
  return descending ? binary(Op::bit_xor, key, full_like(key, -1)) : key;
}

// Fills up with `number` to `size` along the last axis.
Value padded_with(const Value& x, int64_t size, int64_t number) {
  const Dims none(x.rank(), 0);
  Dims behind = none;
  behind.back() = size - x.shape().back();
  if (behind.back() == 0) return x;
  const Value padded = pad(x, none, behind);
  const Value position = iota_along(padded.shape(), x.rank() - 1, DType::i32, x.device());
  const Value is_real = less(position, full_like(position, static_cast<double>(x.shape().back())));
  const Value rest = expand(reshape(constant_int(number, x.dtype(), x.device()), Dims(x.rank(), 1)), padded.shape());
  return where(is_real, padded, rest);
}

// Batcher's bitonic network over (key, position), which no two elements share: the order is a stable sort's.
// log2(n) (log2(n) + 1) / 2 passes over everything.
std::vector<Value> bitonic_sort(const Value& unsorted, const SortAttrs& attrs) {
  const size_t last = unsorted.rank() - 1;
  Dims order = iota_dims(unsorted.rank());
  std::swap(order[static_cast<size_t>(attrs.axis)], order[last]);
  const Value x = permute(unsorted, order);
  const int64_t n = x.shape().back();
  if (n > std::numeric_limits<int32_t>::max() / 2) base::fail("sort", "{} elements along one axis are too many", n);
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
  const Value keys = sort_key(x, attrs.descending);
  const int64_t most =
      keys.dtype() == DType::i64 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  Value value = padded_with(x, size, 0), key = padded_with(keys, size, most);
  Value position = iota_along(value.shape(), last, DType::i32, x.device());
  for (int64_t block = 2; block <= size; block *= 2) {
    for (int64_t distance = block / 2; distance >= 1; distance /= 2) {
      const Dims whole = value.shape();
      Dims split = whole;
      split.back() = size / (2 * distance);
      split.push_back(2);
      split.push_back(distance);
      const auto partner_of = [&](const Value& v) {
        return reshape(flip(reshape(v, split), {static_cast<int64_t>(last) + 1}), whole);
      };
      const Value other_value = partner_of(value), other_key = partner_of(key), other_position = partner_of(position);
      const Value comes_first = binary(Op::bit_or, less(key, other_key),
                                       binary(Op::bit_and, equal(key, other_key), less(position, other_position)));
      const Value at = iota_along(whole, last, DType::i32, x.device());
      const auto is_clear = [&](int64_t bit) {
        return equal(binary(Op::bit_and, at, full_like(at, static_cast<double>(bit))), full_like(at, 0));
      };
      const Value wants_first = equal(is_clear(distance), is_clear(block));  // the low half of an ascending block
      const Value stays = equal(comes_first, wants_first);
      value = where(stays, value, other_value);
      key = where(stays, key, other_key);
      position = where(stays, position, other_position);
    }
  }
  const auto finished = [&](const Value& v) {
    return permute(shrink(v, Dims(v.rank(), 0), x.shape(), Dims(v.rank(), 1)), order);
  };
  return {finished(value), finished(cast(position, DType::i64))};
}

// Looking an index up in 0, 1, ... gives it back, or finds that it is a bad one.
Value checked_index(const Value& numbers, const Value& index) {
  return gather(numbers, reshape(index, {count(index.shape())}), 0);
}

// Every place along the axis looks at all indices for the last that names it.
Value scatter_by_comparing(const Value& base, const Value& index, const Value& value, size_t axis) {
  const Dims& shape = base.shape();
  const int64_t places = shape[axis], values = count(index.shape());
  if (values == 0) return base;
  const Dims all{places, values};
  const Value numbers = iota(places, index.dtype(), base.device());
  const Value checked = expand(reshape(checked_index(numbers, index), {1, values}), all);
  const Value position = iota_along(all, 1, DType::i64, base.device());
  const Value is_named = equal(checked, expand(reshape(numbers, {places, 1}), all));
  const Value last = reduce(Op::max, where(is_named, position, full_like(position, -1)), {1});
  const Value none = full_like(last, -1);
  Dims along(shape.size(), 1), flat = shape;
  along[axis] = places;
  flat[axis] = values;
  const Value found =
      gather(reshape(value, flat), reshape(binary(Op::maximum, last, full_like(last, 0)), {places}), axis);
  return where(expand(reshape(equal(last, none), along), shape), base, found);
}

// Every place of the base looks at all values: as many comparisons as the base has elements times indices.
Value scatter_add_by_comparing(const Value& base, const Value& index, const Value& value, size_t axis) {
  const Dims& shape = base.shape();
  const Dims before(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis));
  const Dims behind(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, shape.end());
  const int64_t outer = count(before), inner = count(behind), places = shape[axis], values = count(index.shape());
  const Dims all{outer, places, inner, values};
  const Value known = iota(places, index.dtype(), base.device());
  const Value checked = reshape(checked_index(known, index), {1, 1, 1, values});
  const Value place = expand(reshape(known, {1, places, 1, 1}), all);
  const Value moved = permute(reshape(value, {outer, values, inner}), {0, 2, 1});
  const DType wide = accumulator(base.dtype());
  const Value each = expand(reshape(cast(moved, wide), {outer, 1, inner, values}), all);
  const Value sums = reduce(Op::sum, where(equal(expand(checked, all), place), each, full_like(each, 0)), {3});
  return cast(add(cast(base, wide), reshape(sums, shape)), base.dtype());
}

// A value of the shape behind a move, seen where it came from; zeros where the move left something out.
Value undone(const Move& move, const Value& x, const Dims& shape) {
  switch (move.op) {
    case Op::reshape: return reshape(x, shape);
    case Op::flip: return flip(x, std::get<AxesAttrs>(move.attrs).axes);
    case Op::shrink: return unshrink(x, std::get<ShrinkAttrs>(move.attrs), shape);
    case Op::pad: return shrink(x, std::get<PadAttrs>(move.attrs).before, shape, Dims(shape.size(), 1));
    case Op::permute: {
      const Dims& axes = std::get<AxesAttrs>(move.attrs).axes;
      Dims back(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) back[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
      return permute(x, back);
    }
    default: base::fail("store", "the target is no part of a buffer");
  }
}

// The whole buffer anew: the value where the target lies, what was there elsewhere.
Value store_by_choosing(const Value& base, const Value& value, const StoreAttrs& attrs) {
  std::vector<Dims> shapes{base.shape()};
  for (const Move& move : attrs.target) shapes.push_back(moved_shape(move, shapes.back()));
  Value written = reshape(value, shapes.back());
  Value is_inside = full(shapes.back(), 1, DType::boolean, base.device());
  for (size_t i = attrs.target.size(); i-- > 0;) {
    written = undone(attrs.target[i], written, shapes[i]);
    is_inside = undone(attrs.target[i], is_inside, shapes[i]);
  }
  return where(is_inside, written, base);
}

// A choice between a value and itself: nothing folds it, and it keeps every bit.
Value copy_by_choosing(const Value& x) { return where(full(x.shape(), 1, DType::boolean, x.device()), x, x); }

}  // namespace

std::vector<Value> decompose_simple_call(Op op, std::span<const Value> in, const Attrs& attrs) {
  switch (op) {
    case Op::contract: return {contract_as_sums(in[0], in[1], std::get<ContractAttrs>(attrs).result)};
    case Op::scan: return {scan_by_doubling(in[0], std::get<ScanAttrs>(attrs))};
    case Op::sort: return bitonic_sort(in[0], std::get<SortAttrs>(attrs));
    case Op::scatter:
      return {scatter_by_comparing(in[0], in[1], in[2], static_cast<size_t>(std::get<AxisAttrs>(attrs).axis))};
    case Op::scatter_add:
      return {scatter_add_by_comparing(in[0], in[1], in[2], static_cast<size_t>(std::get<AxisAttrs>(attrs).axis))};
    case Op::store: return {store_by_choosing(in[0], in[1], std::get<StoreAttrs>(attrs))};
    case Op::contiguous: return {copy_by_choosing(in[0])};
    default: base::fail(name(op), "has no decomposition");
  }
}

}  // namespace tenon::ir
