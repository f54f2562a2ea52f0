// Sizes are checked here, once for all convolutions; the sum itself is a call of the op table. That call has one or two
// axes. A volume is images: what the kernel sees along the depth becomes channels, so that its sum is one call too,
// with the kernel's depth times the memory of the volume and not, as windows of all three axes would be, its whole
// kernel's.

#include "tenon/nn/convolution.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/nn/init.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;
using ir::ConvAttrs;
using ir::ConvAxis;

// What differs between the functions.
struct Convolution {
  std::string_view op;
  bool is_transposed = false;
  Dims stride, padding, dilation, output_padding;
  bool same = false;
  int64_t groups = 1;

  size_t axes() const { return stride.size(); }
};

std::string sizes(const Dims& dims) { return fmt::format("{}", fmt::join(dims, " x ")); }

Dims spatial(const Tensor& x) { return Dims(x.shape().end() - (x.dim() - 2), x.shape().end()); }

void require_numbers(const Convolution& c) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // so that no sum or product of them overflows
  const auto require = [&](std::string_view what, const Dims& values, int64_t least) {
    for (const int64_t value : values) {
      if (value < least) fail(c.op, "{} must be at least {}, got {}", what, least, sizes(values));
      if (value > kMost) fail(c.op, "{} must be at most {}, got {}", what, kMost, sizes(values));
    }
  };
  require("stride", c.stride, 1);
  require("dilation", c.dilation, 1);
  require("padding", c.padding, 0);
  require("output padding", c.output_padding, 0);
  require("the number of groups", {c.groups}, 1);
  for (size_t i = 0; i < c.output_padding.size(); ++i) {
    if (c.output_padding[i] >= std::max(c.stride[i], c.dilation[i]))
      fail(c.op, "output padding {} must be smaller than the stride {} or the dilation {}", c.output_padding[i],
           c.stride[i], c.dilation[i]);
  }
  if (c.same && c.stride != Dims(c.axes(), 1)) fail(c.op, "padding 'same' takes stride 1, got {}", sizes(c.stride));
}

void require_fit(const Convolution& c, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  record::require_float(c.op, x);
  record::require_same_device(c.op, x, weight);
  const auto rank = static_cast<int64_t>(c.axes()) + 2;
  constexpr std::string_view kPlaces[] = {"length", "height, width", "depth, height, width"};
  const std::string_view places = kPlaces[c.axes() - 1];
  if (x.dim() != rank)
    fail(c.op, "takes (batch, channels, {0}) or (channels, {0}), got {1}", places, ir::to_string(x.shape()));
  if (weight.dim() != rank) fail(c.op, "weight must have {} dims, got {}", rank, ir::to_string(weight.shape()));
  const int64_t channels = x.size(1), wanted = c.is_transposed ? weight.size(0) : weight.size(1) * c.groups;
  if (channels % c.groups != 0) fail(c.op, "{} channels cannot be divided into {} groups", channels, c.groups);
  if (weight.size(0) % c.groups != 0)
    fail(c.op, "{} channels cannot be divided into {} groups", weight.size(0), c.groups);
  if (channels != wanted)
    fail(c.op, "input {} and weight {} do not fit: {} channels in {} groups instead of {}", ir::to_string(x.shape()),
         ir::to_string(weight.shape()), channels, c.groups, wanted);
  const int64_t out = c.is_transposed ? weight.size(1) * c.groups : weight.size(0);
  if (bias.defined()) {
    record::require_same_device(c.op, x, bias);
    if (bias.shape() != Dims{out})
      fail(c.op, "bias {} does not fit weight {}", ir::to_string(bias.shape()), ir::to_string(weight.shape()));
  }
}

ConvAttrs attrs_of(const Convolution& c, const Tensor& x, const Tensor& weight) {
  ConvAttrs attrs;
  attrs.groups = c.groups;
  const Dims in = spatial(x), kernel = spatial(weight);
  for (size_t i = 0; i < c.axes(); ++i) {
    if (kernel[i] < 1) fail(c.op, "a kernel of {} has no elements", sizes(kernel));
    if (kernel[i] > ir::kMostElements / c.dilation[i])
      fail(c.op, "a kernel of {} dilated by {} reaches too far", sizes(kernel), sizes(c.dilation));
    const int64_t reach = c.dilation[i] * (kernel[i] - 1) + 1;  // of a window
    ConvAxis axis{.kernel = kernel[i], .stride = c.stride[i], .padding = c.padding[i], .dilation = c.dilation[i]};
    if (c.is_transposed) {
      axis.out = in[i];
      if (in[i] > ir::kMostElements / c.stride[i])
        fail(c.op, "an input of {} with stride {} has too large a result", sizes(in), sizes(c.stride));
      axis.image = (in[i] - 1) * c.stride[i] - 2 * c.padding[i] + reach + c.output_padding[i];
      if (in[i] < 1) fail(c.op, "an input of {} has no elements", sizes(in));
      if (axis.image < 1)
        fail(c.op, "padding {} leaves nothing of the result of an input of {}", sizes(c.padding), sizes(in));
    } else {
      const int64_t around = c.same ? reach - 1 : 2 * c.padding[i];
      if (c.same) axis.padding = around / 2;  // the odd one is behind, as in PyTorch
      axis.image = in[i];
      if (in[i] + around < reach)
        fail(c.op, "a kernel of {}{} is larger than the input of {} with padding {}", sizes(kernel),
             c.dilation == Dims(c.axes(), 1) ? "" : " dilated by " + sizes(c.dilation), sizes(in),
             c.same ? "same" : sizes(c.padding));
      axis.out = (in[i] + around - reach) / c.stride[i] + 1;
    }
    attrs.axes.push_back(axis);
  }
  return attrs;
}

Tensor convolved(bool is_transposed, const Tensor& x, const Tensor& weight, ConvAttrs attrs, DType result) {
  attrs.result = result;
  attrs.tf32 = record::is_tf32(x.dtype(), x.device().id);
  const ir::Value in = record::in(x), by = record::in(weight);
  return tensor_of(is_transposed ? ir::conv_transpose(in, by, attrs) : ir::conv(in, by, attrs));
}

// As products under Autocast: the lower type is multiplied, sums are f32, and the weight's gradient is never rounded;
// but where a library rounds both. `result`: what sums are written as, rounded at once where nothing is added to them.
Tensor autocast_sums(bool is_transposed, const Tensor& x, const Tensor& weight, const ConvAttrs& attrs, DType low,
                     DType result) {
  const Tensor low_weight = autocast_values(weight);
  const CustomFunction function{
      "autocast_convolution",
      [&](std::span<const Tensor> in) {
        return std::vector<Tensor>{convolved(is_transposed, in[0], low_weight, attrs, result)};
      },
      [is_transposed, attrs, low](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor g = grads[0].to(low);
        ConvAttrs wide = attrs;
        wide.result = record::convolution_sums(low, g.device().id);
        const Tensor &image = is_transposed ? g : in[0], &seen = is_transposed ? in[0] : g;
        const Tensor slope = tensor_of(ir::conv_weight(record::in(image), record::in(seen), wide));
        return std::vector<Tensor>{convolved(!is_transposed, g, with_history_of(in[1], in[2]), attrs, low),
                                   slope.to(in[1].dtype()), Tensor()};
      }};
  return tenon::apply(function, std::vector<Tensor>{x.to(low), weight, low_weight.detach()})[0];
}

constexpr Dims::value_type kDepth = 1;  // of (batch, depth, channels, height, width)

Tensor depth_before_channels(const Tensor& x) { return x.permute({0, 2, 1, 3, 4}); }

// Weights (out, in, depth, height, width) of images whose channels are (in, depth).
Tensor depth_into_channels(const Tensor& weight) {
  return weight.reshape({weight.size(0), weight.size(1) * weight.size(2), weight.size(3), weight.size(4)});
}

ConvAttrs without_depth(ConvAttrs attrs) {
  attrs.axes.erase(attrs.axes.begin());
  return attrs;
}

// Volumes (N, C, D, H, W) as images (N * out, C * kernel, H, W): for each place of the result along the depth, what the
// kernel sees from there.
Tensor images_of_windows(const Tensor& volume, const ConvAxis& depth) {
  // The gradients of what several windows show are added in f32, and rounded once.
  Tensor x = depth_before_channels(volume.to(accumulator(volume.dtype())));
  const int64_t covered = (depth.out - 1) * depth.stride + (depth.kernel - 1) * depth.dilation + 1;
  const int64_t behind = std::max<int64_t>(0, covered - depth.image - depth.padding);
  if (depth.padding > 0 || behind > 0) x = pad(x, {0, 0, 0, 0, 0, 0, depth.padding, behind});
  std::vector<Tensor> seen;
  for (int64_t k = 0; k < depth.kernel; ++k) {
    const int64_t first = k * depth.dilation;
    seen.push_back(x.slice(kDepth, first, first + (depth.out - 1) * depth.stride + 1, depth.stride));
  }
  const Tensor windows = stack(seen, 3);  // (N, out, C, kernel, H, W)
  return windows.reshape({x.size(0) * depth.out, x.size(2) * depth.kernel, x.size(3), x.size(4)}).to(volume.dtype());
}

Tensor volumes_of(const Tensor& images, int64_t batch, int64_t depth) {
  return images.reshape({batch, depth, images.size(1), images.size(2), images.size(3)});
}

// Images (N * in, O * kernel, H, W), each of which adds to as many places of the depth as the kernel has elements
// there.
Tensor overlapping_sum(const Tensor& images, int64_t batch, const ConvAxis& depth) {
  const int64_t in = depth.out, channels = images.size(1) / depth.kernel, height = images.size(2),
                width = images.size(3);
  const int64_t spread = (in - 1) * depth.stride + 1;
  const int64_t whole = std::max(spread + (depth.kernel - 1) * depth.dilation, depth.padding + depth.image);
  const Tensor parts = images.reshape({batch, in, channels, depth.kernel, height, width});
  Tensor total;
  for (int64_t k = 0; k < depth.kernel; ++k) {
    Tensor part = parts.select(3, k);
    if (depth.stride > 1) {  // with zeros between
      part = pad(part.unsqueeze(2), {0, 0, 0, 0, 0, 0, 0, depth.stride - 1});
      part = part.reshape({batch, in * depth.stride, channels, height, width}).narrow(kDepth, 0, spread);
    }
    const int64_t first = k * depth.dilation;
    part = pad(part, {0, 0, 0, 0, 0, 0, first, whole - first - spread});
    total = total.defined() ? total + part : part;
  }
  return total.narrow(kDepth, depth.padding, depth.image);
}

// The sum of products alone, in `result`.
Tensor summed(const Convolution& c, const Tensor& x, const Tensor& weight, const ConvAttrs& attrs,
              std::optional<DType> low, DType result) {
  if (low) return autocast_sums(c.is_transposed, x, weight, attrs, *low, result);
  return convolved(c.is_transposed, x, weight, attrs, result);
}

Tensor summed_volumes(const Convolution& c, const Tensor& x, const Tensor& weight, const ConvAttrs& attrs,
                      std::optional<DType> low, DType dtype) {
  const ConvAxis& depth = attrs.axes[0];
  const Tensor flat = depth_into_channels(weight);
  const int64_t batch = x.size(0);
  if (!c.is_transposed) {
    const Tensor images = images_of_windows(low ? x.to(*low) : x, depth);
    const Tensor y = summed(c, images, flat, without_depth(attrs), low, record::convolution_sums(dtype, x.device().id));
    return depth_before_channels(volumes_of(y, batch, depth.out));
  }
  const Tensor before = depth_before_channels(x);
  const Tensor images = before.reshape({batch * x.size(2), x.size(1), x.size(3), x.size(4)});
  const Tensor y = summed(c, images, flat, without_depth(attrs), low, record::convolution_sums(dtype, x.device().id));
  return depth_before_channels(overlapping_sum(y.to(accumulator(dtype)), batch, depth));
}

Tensor run(const Convolution& c, const Tensor& given, const Tensor& weight, const Tensor& bias) {
  require_numbers(c);
  const bool is_single = given.dim() == static_cast<int64_t>(c.axes()) + 1;
  const Tensor x = is_single ? given.unsqueeze(0) : given;
  require_fit(c, x, weight, bias);
  const ConvAttrs attrs = attrs_of(c, x, weight);
  const std::optional<DType> low = autocast_dtype();
  const bool is_cast = low && is_autocast(x.dtype()) && is_autocast(weight.dtype());
  if (!is_cast && x.dtype() != weight.dtype())
    fail(c.op, "dtypes {} and {} differ; convert one with to()", name(x.dtype()), name(weight.dtype()));
  const DType dtype = is_cast ? *low : x.dtype(), sums = record::convolution_sums(dtype, x.device().id);
  const std::optional<DType> cast = is_cast ? low : std::nullopt;
  const bool is_volume = c.axes() == 3;
  Tensor y = is_volume ? summed_volumes(c, x, weight, attrs, cast, dtype)
                       : summed(c, x, weight, attrs, cast, bias.defined() ? sums : dtype);
  if (bias.defined()) {
    Dims column(c.axes() + 2, 1);
    column[1] = bias.size(0);
    y = y.to(accumulator(dtype));
    y = y + bias.to(dtype).to(y.dtype()).reshape(column);
  }
  y = y.to(dtype);
  if (is_volume) return record::apart(is_single ? y.contiguous().squeeze(0) : y.contiguous());
  return is_single ? y.squeeze(0) : y;
}

Dims both(Size2 size) { return {size.height, size.width}; }
Dims all(Size3 size) { return {size.depth, size.height, size.width}; }

// Bounds of 1 / sqrt(fan), as PyTorch's.
void make_parameters(Tensor& weight, Tensor& bias, const Dims& shape, int64_t out, bool has_bias,
                     const Options& options) {
  weight = empty(shape, options);
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!has_bias) return;
  const double bound = 1 / std::sqrt(static_cast<double>(init::fans_of(weight).in));
  bias = empty({out}, options);
  init::uniform_(bias, -bound, bound);
}

void require_layer(const Convolution& c, int64_t in, int64_t out, const Dims& kernel) {
  require_numbers(c);
  if (in < 1 || out < 1) fail(c.op, "takes at least one channel each way, got {} and {}", in, out);
  for (const int64_t channels : {in, out}) {
    if (channels % c.groups != 0) fail(c.op, "{} channels cannot be divided into {} groups", channels, c.groups);
  }
  for (const int64_t size : kernel) {
    if (size < 1) fail(c.op, "a kernel of {} has no elements", sizes(kernel));
  }
}

Convolution described(const Conv1dOptions& o) {
  return {"conv1d", false, {o.stride}, {o.padding.sides.width}, {o.dilation}, {}, o.padding.same, o.groups};
}
Convolution described(const Conv2dOptions& o) {
  return {"conv2d", false, both(o.stride), both(o.padding.sides), both(o.dilation), {}, o.padding.same, o.groups};
}
Convolution described(const Conv3dOptions& o) {
  return {"conv3d", false, all(o.stride), all(o.padding.sides), all(o.dilation), {}, o.padding.same, o.groups};
}
Convolution described(const ConvTranspose1dOptions& o) {
  return {"conv_transpose1d", true, {o.stride}, {o.padding}, {o.dilation}, {o.output_padding}, false, o.groups};
}
Convolution described(const ConvTranspose2dOptions& o) {
  return {"conv_transpose2d",     true,  both(o.stride), both(o.padding), both(o.dilation),
          both(o.output_padding), false, o.groups};
}
Convolution described(const ConvTranspose3dOptions& o) {
  return {"conv_transpose3d",    true,  all(o.stride), all(o.padding), all(o.dilation),
          all(o.output_padding), false, o.groups};
}

}  // namespace

Padding::Padding(std::string_view word) : same(word == "same") {
  if (!same && word != "valid") fail("padding", "'{}' is no padding; it can be same, valid or a number", word);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& o) {
  return run(described(o), x, weight, bias);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& o) {
  return run(described(o), x, weight, bias);
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv3dOptions& o) {
  return run(described(o), x, weight, bias);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvTranspose1dOptions& o) {
  return run(described(o), x, weight, bias);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvTranspose2dOptions& o) {
  return run(described(o), x, weight, bias);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvTranspose3dOptions& o) {
  return run(described(o), x, weight, bias);
}

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel, const Conv1dOptions& options) : options_(options) {
  require_layer(described(options), in, out, {kernel});
  make_parameters(weight, bias, {out, in / options.groups, kernel}, out, options.bias, options.options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}
Tensor Conv1d::forward(const Tensor& x) const { return conv1d(x, weight, bias, options_); }

Conv2d::Conv2d(int64_t in, int64_t out, Size2 kernel, const Conv2dOptions& options) : options_(options) {
  require_layer(described(options), in, out, both(kernel));
  make_parameters(weight, bias, {out, in / options.groups, kernel.height, kernel.width}, out, options.bias,
                  options.options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}
Tensor Conv2d::forward(const Tensor& x) const { return conv2d(x, weight, bias, options_); }

Conv3d::Conv3d(int64_t in, int64_t out, Size3 kernel, const Conv3dOptions& options) : options_(options) {
  require_layer(described(options), in, out, all(kernel));
  make_parameters(weight, bias, {out, in / options.groups, kernel.depth, kernel.height, kernel.width}, out,
                  options.bias, options.options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}
Tensor Conv3d::forward(const Tensor& x) const { return conv3d(x, weight, bias, options_); }

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, const ConvTranspose1dOptions& options)
    : options_(options) {
  require_layer(described(options), in, out, {kernel});
  make_parameters(weight, bias, {in, out / options.groups, kernel}, out, options.bias, options.options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}
Tensor ConvTranspose1d::forward(const Tensor& x) const { return conv_transpose1d(x, weight, bias, options_); }

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, Size2 kernel, const ConvTranspose2dOptions& options)
    : options_(options) {
  require_layer(described(options), in, out, both(kernel));
  make_parameters(weight, bias, {in, out / options.groups, kernel.height, kernel.width}, out, options.bias,
                  options.options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}
Tensor ConvTranspose2d::forward(const Tensor& x) const { return conv_transpose2d(x, weight, bias, options_); }

ConvTranspose3d::ConvTranspose3d(int64_t in, int64_t out, Size3 kernel, const ConvTranspose3dOptions& options)
    : options_(options) {
  require_layer(described(options), in, out, all(kernel));
  make_parameters(weight, bias, {in, out / options.groups, kernel.depth, kernel.height, kernel.width}, out,
                  options.bias, options.options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}
Tensor ConvTranspose3d::forward(const Tensor& x) const { return conv_transpose3d(x, weight, bias, options_); }

}  // namespace tenon::nn
