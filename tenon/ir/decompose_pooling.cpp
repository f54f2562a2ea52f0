// Pooling as views: the elements of a window are so many slices of the image in steps of the stride, compared one after
// another. The gradient writes each of these slices where it came from.

#include <algorithm>
#include <limits>

#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/walk.h"

namespace tenon::ir {
namespace {

// Along one axis of images that are padded so far that every window lies inside.
int64_t covered(const ConvAxis& axis) { return (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1; }

// Sizes of (N, C, image...), or places there, in the order of the images that are pooled.
Dims in_order(const PoolAttrs& attrs, const Dims& dims) { return attrs.channels_last ? channels_to_last(dims) : dims; }

// Images and channels.
Dims outer_of(const PoolAttrs& attrs, const Value& x) {
  return {x.shape()[0], attrs.channels_last ? x.shape().back() : x.shape()[1]};
}

// Whether an element may belong to several windows: what it is made of, or what is made of it, would be computed for
// each of them.
bool windows_meet(const PoolAttrs& attrs) {
  return std::any_of(attrs.axes.begin(), attrs.axes.end(),
                     [](const ConvAxis& axis) { return axis.kernel != axis.stride || axis.dilation != 1; });
}

bool is_elementwise(const Value& x) {
  const Node& node = *base_node(x);
  const Kind kind = node.info().kind;
  return !node.evaluated() && (kind == Kind::unary || kind == Kind::binary || kind == Kind::ternary);
}

struct Border {
  Dims before, after;
  bool empty = true;
};

// Zeros around the image, so many that every window lies inside.
Border border_of(const PoolAttrs& attrs) {
  Border border{{0, 0}, {0, 0}};
  for (const ConvAxis& axis : attrs.axes) {
    border.before.push_back(axis.padding);
    border.after.push_back(std::max<int64_t>(0, covered(axis) - axis.padding - axis.image));
    border.empty = border.empty && border.before.back() == 0 && border.after.back() == 0;
  }
  border.before = in_order(attrs, border.before);
  border.after = in_order(attrs, border.after);
  return border;
}

// The slice of element t of all windows, counted row by row.
ShrinkAttrs slice_of(const PoolAttrs& attrs, const Dims& outer, int64_t t) {
  ShrinkAttrs cut{{0, 0}, outer, {1, 1}};
  cut.start.resize(attrs.axes.size() + 2);
  for (size_t i = attrs.axes.size(); i-- > 0; t /= attrs.axes[i].kernel)
    cut.start[i + 2] = t % attrs.axes[i].kernel * attrs.axes[i].dilation;
  for (const ConvAxis& axis : attrs.axes) {
    cut.size.push_back(axis.out);
    cut.step.push_back(axis.stride);
  }
  return {in_order(attrs, cut.start), in_order(attrs, cut.size), in_order(attrs, cut.step)};
}

// The first element of every window that lies behind the padding: where all are as small as it, it is the largest.
Value first_inside(const PoolAttrs& attrs, const Dims& shape, DeviceId device) {
  Value place = full(shape, 0, DType::i32, device);
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    const ConvAxis& axis = attrs.axes[i];
    const Value window = iota_along(shape, i + (attrs.channels_last ? 1 : 2), DType::i32, device);
    const auto number = [&](int64_t n) { return full_like(window, static_cast<double>(n)); };
    const Value missing = binary(Op::maximum, sub(number(axis.padding), mul(window, number(axis.stride))), number(0));
    const Value along = binary(Op::idiv, add(missing, number(axis.dilation - 1)), number(axis.dilation));
    place = add(mul(place, number(axis.kernel)), along);
  }
  return place;
}

std::vector<Value> largest(const Value& given, const PoolAttrs& attrs) {
  const Border border = border_of(attrs);
  const Value x = windows_meet(attrs) && is_elementwise(given) ? contiguous(given) : given;
  Value whole = x;
  if (!border.empty) {
    const Value inside = pad(full(x.shape(), 1, DType::boolean, x.device()), border.before, border.after);
    const Value padded = pad(x, border.before, border.after);
    whole = where(inside, padded, full_like(padded, -std::numeric_limits<double>::infinity()));
  }
  const Dims outer = outer_of(attrs, x);
  const auto slice = [&](int64_t t) {
    const ShrinkAttrs cut = slice_of(attrs, outer, t);
    return shrink(whole, cut.start, cut.size, cut.step);
  };
  const DType numbers = attrs.place_dtype();
  Value best = slice(0);
  const bool pads = std::any_of(attrs.axes.begin(), attrs.axes.end(), [](auto& axis) { return axis.padding > 0; });
  Value place =
      pads ? cast(first_inside(attrs, best.shape(), x.device()), numbers) : full(best.shape(), 0, numbers, x.device());
  for (int64_t t = 1; t < attrs.places(); ++t) {
    const Value next = slice(t);
    const Value is_number = equal(next, next);
    const Value is_nan = binary(Op::bit_xor, is_number, full_like(is_number, 1));
    const Value is_better = binary(Op::bit_or, less(best, next), is_nan);
    best = where(is_better, next, best);
    place = where(is_better, full_like(place, static_cast<double>(t)), place);
  }
  // Kept, because the gradient would find it again for every element of the window.
  return {best, contiguous(place)};
}

// Every slice's share written where it belongs; elements of several windows add up.
Value spread(const Value& g, const Value& places, const PoolAttrs& attrs) {
  const bool overlap = windows_meet(attrs);
  bool is_whole = true;
  const Dims outer = outer_of(attrs, g);
  Dims all = outer, start{0, 0}, size = all;
  for (const ConvAxis& axis : attrs.axes) {
    all.push_back(std::max(covered(axis), axis.padding + axis.image));
    start.push_back(axis.padding);
    size.push_back(axis.image);
    is_whole = is_whole && all.back() == axis.image;
  }
  all = in_order(attrs, all);
  Value total = full(all, 0, g.dtype(), g.device());
  for (int64_t t = 0; t < attrs.places(); ++t) {
    const ShrinkAttrs slice = slice_of(attrs, outer, t);
    const Value share = where(equal(places, full_like(places, static_cast<double>(t))), g, full_like(g, 0));
    total = overlap ? add(total, unshrink(share, slice, all)) : store(total, share, {Move{Op::shrink, slice}});
  }
  const Value made =
      is_whole ? total : shrink(total, in_order(attrs, start), in_order(attrs, size), Dims(all.size(), 1));
  // Kept, as the places are: a norm reads it three times.
  return overlap ? contiguous(made) : made;
}

}  // namespace

std::vector<Value> decompose_pooling(Op op, std::span<const Value> in, const PoolAttrs& attrs) {
  if (op == Op::max_pool) return largest(in[0], attrs);
  return {spread(in[0], in[1], attrs)};
}

}  // namespace tenon::ir
