// Pooling as views: the elements of a window are so many slices of the image in steps of the stride, compared one after
// another. The gradient is made for pixels a stride apart, all of which are the same elements of their windows.

#include <algorithm>
#include <limits>

#include "tenon/base/divide.h"
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

// In memory, so that the kernels that read it compute it once; what it is made of is computed on the way there.
Value in_memory(const Value& x) { return decompose(Op::contiguous, {&x, 1}, NoAttrs())[0]; }

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
  const Value x = windows_meet(attrs) && is_elementwise(given) ? in_memory(given) : given;
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
  return {best, in_memory(place)};
}

// Along one axis the pixels `phase`, `phase + stride`, ... and element t of the windows: pixel k of these lies in
// window `k + ahead`, where there is one.
struct Meeting {
  bool any = false;
  int64_t ahead = 0;
};
Meeting meeting_of(const ConvAxis& axis, int64_t phase, int64_t t) {
  const int64_t behind = phase + axis.padding - t * axis.dilation;
  if (behind % axis.stride != 0) return {};
  const int64_t ahead = behind / axis.stride, pixels = base::ceil_div(axis.image - phase, axis.stride);
  return {ahead < axis.out && ahead + pixels > 0, ahead};
}

// What windows pass on, seen from the pixels that meet them.
Value seen_from_pixels(const Value& share, const PoolAttrs& attrs, const Dims& pixels, const Dims& ahead) {
  Dims start{0, 0}, size = outer_of(attrs, share), before{0, 0}, after{0, 0};
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    const int64_t first = std::max<int64_t>(0, ahead[i]), missing = std::max<int64_t>(0, -ahead[i]);
    const int64_t found = std::min(attrs.axes[i].out - first, pixels[i] - missing);
    start.push_back(first);
    size.push_back(found);
    before.push_back(missing);
    after.push_back(pixels[i] - missing - found);
  }
  const Value windows = shrink(share, in_order(attrs, start), in_order(attrs, size), Dims(start.size(), 1));
  return pad(windows, in_order(attrs, before), in_order(attrs, after));
}

// Pixels a stride apart have the same elements of their windows in common. These sums are made for each such set of
// pixels and written where it belongs, so that nobody looks at the other elements of the windows.
Value spread(const Value& g, const Value& places, const PoolAttrs& attrs) {
  const bool meets_several = windows_meet(attrs);
  const size_t rank = attrs.axes.size();
  const Dims outer = outer_of(attrs, g);
  Dims whole = outer, strides{1, 1};
  int64_t phases = 1;
  for (const ConvAxis& axis : attrs.axes) {
    whole.push_back(axis.image);
    strides.push_back(axis.stride);
    phases *= axis.stride;
  }
  Value total = full(in_order(attrs, whole), 0, g.dtype(), g.device());
  for (int64_t phase = 0; phase < phases; ++phase) {
    Dims start{0, 0}, size = outer, pixels(rank);
    start.resize(rank + 2);
    for (int64_t left = phase, i = static_cast<int64_t>(rank); i-- > 0; left /= attrs.axes[i].stride)
      start[i + 2] = left % attrs.axes[i].stride;
    bool any = true;
    for (size_t i = 0; i < rank; ++i) {
      pixels[i] = std::max<int64_t>(0, base::ceil_div(attrs.axes[i].image - start[i + 2], attrs.axes[i].stride));
      size.push_back(pixels[i]);
      any = any && pixels[i] > 0;
    }
    if (!any) continue;
    Value sum;
    for (int64_t t = 0; t < attrs.places(); ++t) {
      Dims ahead(rank);
      bool meet = true;
      for (int64_t left = t, i = static_cast<int64_t>(rank); i-- > 0; left /= attrs.axes[i].kernel) {
        const Meeting meeting = meeting_of(attrs.axes[i], start[i + 2], left % attrs.axes[i].kernel);
        meet = meet && meeting.any;
        ahead[i] = meeting.ahead;
      }
      if (!meet) continue;
      const Value share = where(equal(places, full_like(places, static_cast<double>(t))), g, full_like(g, 0));
      const Value seen = seen_from_pixels(share, attrs, pixels, ahead);
      sum = sum ? add(sum, seen) : meets_several ? add(full_like(seen, 0), seen) : seen;
    }
    const ShrinkAttrs cut{in_order(attrs, start), in_order(attrs, size), in_order(attrs, strides)};
    if (sum) total = store(total, sum, {Move{Op::shrink, cut}});
  }
  return total;
}

}  // namespace

std::vector<Value> decompose_pooling(Op op, std::span<const Value> in, const PoolAttrs& attrs) {
  if (op == Op::max_pool) return largest(in[0], attrs);
  return {spread(in[0], in[1], attrs)};
}

}  // namespace tenon::ir
