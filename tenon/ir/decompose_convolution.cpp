// Convolutions as one matrix product over all windows of the image: the windows are views, which the device lays out in
// memory for the product, once per element of the kernel.

#include <algorithm>

#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"

namespace tenon::ir {
namespace {

// Zeros in front and behind; negative sizes cut off.
Value padded(const Value& x, const Dims& before, const Dims& after) {
  const size_t rank = x.rank();
  Dims start(rank, 0), kept = x.shape(), front(rank, 0), behind(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = x.shape()[i], whole = size + before[i] + after[i];
    const int64_t first = std::clamp<int64_t>(-before[i], 0, size);
    kept[i] = std::max<int64_t>(0, std::min(size, size + after[i]) - first);
    if (kept[i] > 0) start[i] = first, front[i] = first + before[i];
    behind[i] = whole - front[i] - kept[i];
  }
  return pad(shrink(x, start, kept, Dims(rank, 1)), front, behind);
}

// Images (N, C, image...) as (N, groups, C / groups * kernel..., out...), the last two joined each.
Value patches(const Value& x, const ConvAttrs& attrs) {
  const size_t spatial = attrs.axes.size();
  const int64_t images = x.shape()[0], channels = x.shape()[1] / attrs.groups;
  int64_t kernel = 1, out = 1;
  for (const ConvAxis& axis : attrs.axes) kernel *= axis.kernel, out *= axis.out;
  const Dims shape{images, attrs.groups, channels * kernel, out};
  if (count(shape) == 0) return full(shape, 0, x.dtype(), x.device());
  Dims before(spatial + 2, 0), after(spatial + 2, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const ConvAxis& axis = attrs.axes[i];
    const int64_t reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    before[i + 2] = axis.padding;
    after[i + 2] = reach - axis.image - axis.padding;
  }
  Value seen = padded(x, before, after);
  for (size_t i = spatial; i-- > 0;) {  // the last first, so that the axes before keep their places
    const ConvAxis& axis = attrs.axes[i];
    seen = windows(seen, i + 2, axis.kernel, axis.out, axis.stride, axis.dilation);
  }
  Dims order{0, 1};
  for (const size_t first : {0, 1}) {
    for (size_t i = 0; i < spatial; ++i) order.push_back(static_cast<int64_t>(2 + 2 * i + first));
  }
  return reshape(permute(seen, order), shape);
}

int64_t inner_size(const Value& x) { return count(Dims(x.shape().begin() + 2, x.shape().end())); }

Dims with_channels(int64_t first, int64_t second, const ConvAttrs& attrs, int64_t ConvAxis::*size) {
  Dims shape{first, second};
  for (const ConvAxis& axis : attrs.axes) shape.push_back(axis.*size);
  return shape;
}

Value product(const Value& x, const Value& w, const ConvAttrs& attrs) {
  const int64_t groups = attrs.groups, images = x.shape()[0], channels = w.shape()[0];
  const Value columns = patches(x, attrs);
  const int64_t inner = columns.shape()[2];
  const Value rows =
      expand(reshape(w, {1, groups, channels / groups, inner}), {images, groups, channels / groups, inner});
  return reshape(contract(rows, columns, ContractAttrs{attrs.result, attrs.tf32}),
                 with_channels(images, channels, attrs, &ConvAxis::out));
}

// Results spread out by the stride, with zeros between, under the kernel read backwards: the image's gradient is a
// convolution of stride 1.
Value transposed(const Value& y, const Value& w, const ConvAttrs& attrs) {
  const size_t spatial = attrs.axes.size();
  const int64_t groups = attrs.groups, outer = w.shape()[0] / groups, inner = w.shape()[1];
  ConvAttrs turned = attrs;
  ShrinkAttrs cut{Dims(spatial + 2, 0), y.shape(), Dims(spatial + 2, 1)};
  Dims spread = y.shape(), backwards;
  for (size_t i = 0; i < spatial; ++i) {
    const ConvAxis& axis = attrs.axes[i];
    cut.step[i + 2] = axis.stride;
    spread[i + 2] = axis.out == 0 ? 0 : (axis.out - 1) * axis.stride + 1;
    turned.axes[i] = {.image = spread[i + 2],
                      .kernel = axis.kernel,
                      .out = axis.image,
                      .stride = 1,
                      .padding = (axis.kernel - 1) * axis.dilation - axis.padding,
                      .dilation = axis.dilation};
    backwards.push_back(static_cast<int64_t>(i) + 3);
  }
  // (groups, outer, inner, kernel...) to (groups * inner, outer, kernel...)
  Dims split{groups, outer, inner}, joined{groups * inner, outer}, order{0, 2, 1};
  for (size_t i = 0; i < spatial; ++i) {
    split.push_back(attrs.axes[i].kernel);
    joined.push_back(attrs.axes[i].kernel);
    order.push_back(static_cast<int64_t>(i) + 3);
  }
  const Value flipped = reshape(permute(flip(reshape(w, split), backwards), order), joined);
  return product(unshrink(y, cut, spread), flipped, turned);
}

// All images and places are one long inner dimension.
Value weights(const Value& x, const Value& y, const ConvAttrs& attrs) {
  const int64_t groups = attrs.groups, images = x.shape()[0], channels = y.shape()[1] / groups, places = inner_size(y);
  const Value columns = patches(x, attrs);
  const int64_t inner = columns.shape()[2];
  const Value right = reshape(permute(columns, {1, 0, 3, 2}), {groups, images * places, inner});
  const Value left = reshape(permute(reshape(y, {images, groups, channels, places}), {1, 2, 0, 3}),
                             {groups, channels, images * places});
  return reshape(contract(left, right, ContractAttrs{attrs.result, attrs.tf32}),
                 with_channels(groups * channels, x.shape()[1] / groups, attrs, &ConvAxis::kernel));
}

}  // namespace

std::vector<Value> decompose_convolution(Op op, std::span<const Value> in, const ConvAttrs& attrs) {
  if (attrs.channels_last) {
    ConvAttrs plain = attrs;
    plain.channels_last = false;
    const Value operands[] = {channels_second(in[0]), channels_second(in[1])};
    return {channels_last(decompose_convolution(op, operands, plain)[0])};
  }
  switch (op) {
    case Op::conv: return {product(in[0], in[1], attrs)};
    case Op::conv_transpose: return {transposed(in[0], in[1], attrs)};
    default: return {weights(in[0], in[1], attrs)};
  }
}

}  // namespace tenon::ir
