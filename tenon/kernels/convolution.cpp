// Which product a convolution is.
//
// Forward, a row is a window and a column one of the group's results. The gradient of an image is the same over the
// results' gradients, with the kernel read backwards; where windows went by strides, elements are sorted by the taps
// that met them (WindowAxis), so that nothing is multiplied by zeros in between. The gradient of weights has a row for
// each result and a column for each tap and channel, and sums over all windows, in parts. Kernels of one tap that meet
// every element are plain matrices.

#include "tenon/kernels/convolution.h"

#include <numeric>

#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/kernels/contract_problem.h"
#include "tenon/kernels/convolution_direct.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using ir::Op;
using Order = ContractSide::Order;

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;  // places are counted in 32 bits
constexpr int64_t kMostPhases = 16;                        // of which a kernel has the numbers in its text
constexpr int64_t kFarthest = int64_t{1} << 29;            // in front of an image or behind it

// An operand with two axes between its first and its last.
struct Picture {
  DType dtype = DType::f32;
  ir::IndexMap map;
  Dims sizes, steps;
  int64_t offset = 0;
};

// The step along an axis of one element is what it would be if that axis went on evenly.
Picture picture_of(const ir::Operand& operand) {
  if (!operand.map.is_strided())
    base::fail("conv", "an operand of a convolution lies unevenly: {}", operand.map.to_string());
  const ir::View& view = operand.map.views()[0];
  Picture made{operand.dtype, operand.map, view.shape, view.strides, view.offset};
  if (made.sizes.size() == 3) {
    made.sizes.insert(made.sizes.begin() + 1, 1);
    made.steps.insert(made.steps.begin() + 1, 0);
  }
  int64_t even = 1;
  for (size_t i = 4; i-- > 0;) {
    if (made.sizes[i] == 1) made.steps[i] = even;
    even = made.steps[i] * made.sizes[i];
  }
  return made;
}

// Whether rows and images follow each other evenly, so that elements of one channel have one stride.
bool is_even(const Picture& x) {
  return (x.sizes[1] == 1 || x.steps[1] == x.sizes[2] * x.steps[2]) &&
         (x.sizes[0] == 1 || x.steps[0] == x.sizes[1] * x.sizes[2] * x.steps[2]);
}

struct Sizes {
  ir::ConvAxis axes[2];
  int64_t images = 0, channels = 0, results = 0, groups = 1;  // channels and results: of a group
};

Sizes sizes_of(const ir::Call& call) {
  const auto& attrs = std::get<ir::ConvAttrs>(call.attrs);
  Sizes made;
  made.groups = attrs.groups;
  made.axes[0] = {.image = 1, .kernel = 1, .out = 1};
  for (size_t i = 0; i < attrs.axes.size(); ++i) made.axes[2 - attrs.axes.size() + i] = attrs.axes[i];
  const Dims &first = call.inputs[0].map.shape(), &second = call.inputs[1].map.shape();
  made.images = first[0];
  const bool has_weights = call.op != Op::conv_weight;
  const int64_t results = has_weights ? second[0] : second.back();
  made.channels = has_weights ? second.back() : first.back() / attrs.groups;
  made.results = results / attrs.groups;
  return made;
}

bool meets_every_element(const ir::ConvAxis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0 && axis.out == axis.image;
}

WindowAxis axis_of(const ir::ConvAxis& axis) {
  WindowAxis made;
  made.image = axis.image;
  made.windows = axis.out;
  made.stride = axis.stride;
  made.dilation = axis.dilation;
  made.phases[0] = {axis.kernel, -axis.padding, 0};
  return made;
}

// Element i of an image meets tap k of window (i + padding - k dilation) / stride, where that is a whole number.
WindowAxis axis_of_gradient(const ir::ConvAxis& axis) {
  WindowAxis made;
  const int64_t common = std::gcd(axis.stride, axis.dilation);
  made.image = axis.out;
  made.windows = ceil_div(axis.image, axis.stride);
  made.result = axis.image;
  made.step = axis.stride / common;
  made.dilation = -(axis.dilation / common);
  made.phases.clear();
  for (int64_t phase = 0; phase < axis.stride; ++phase) {
    WindowAxis::Phase each;
    while (each.first < std::min(made.step, axis.kernel) &&
           (phase + axis.padding - each.first * axis.dilation) % axis.stride != 0)
      ++each.first;
    if (each.first < std::min(made.step, axis.kernel)) {
      each.taps = ceil_div(axis.kernel - each.first, made.step);
      each.shift = (phase + axis.padding - each.first * axis.dilation) / axis.stride;
    } else {
      each.first = 0;
    }
    made.phases.push_back(each);
  }
  return made;
}

ContractSide side_of(const Picture& x) {
  ContractSide made;
  made.dtype = x.dtype;
  made.map = x.map;
  made.offset = x.offset;
  return made;
}

ContractSide matrix(const Picture& x, int64_t row, int64_t column, int64_t group, int64_t groups) {
  ContractSide made = side_of(x);
  made.is_strided = true;
  made.row = row;
  made.column = column;
  if (groups > 1) made.batch_strides = {group};
  return made;
}

ContractSide pictures(const Picture& x, Order order, const Dims& steps, int64_t group) {
  ContractSide made = side_of(x);
  made.order = order;
  made.steps = steps;
  made.group = group;
  return made;
}

// `as_taps`: weights are read in the order of that name even where they are a matrix.
ContractProblem product_of(const ir::Call& call, bool as_taps = false) {
  const Sizes s = sizes_of(call);
  const Picture first = picture_of(call.inputs[0]), second = picture_of(call.inputs[1]);
  const bool is_gradient = call.op == Op::conv_transpose;
  Windows windows;
  windows.groups = s.groups;
  const bool is_plain = meets_every_element(s.axes[0]) && meets_every_element(s.axes[1]) && is_even(first) &&
                        (call.op != Op::conv_weight || is_even(second));
  for (size_t i = 0; i < 2 && !is_plain; ++i)
    windows.axes[i] = is_gradient ? axis_of_gradient(s.axes[i]) : axis_of(s.axes[i]);
  const int64_t taps = windows.taps();
  const auto windows_of = [&](const WindowAxis& axis, int64_t each) { return is_plain ? each : axis.windows; };
  const int64_t places =
      s.images * windows_of(windows.axes[0], s.axes[0].out) * windows_of(windows.axes[1], s.axes[1].out);

  ContractProblem p;
  p.out = call.outputs[0].dtype;
  p.sums = accumulator(p.out);
  if (s.groups * windows.phases() > 1) p.batch = {s.groups * windows.phases()};
  switch (call.op) {
    case Op::conv: {
      const Picture &x = first, &w = second;
      p.rows = places, p.columns = s.results, p.depth = taps * s.channels;
      windows.channels = s.channels;
      p.a = is_plain ? matrix(x, x.steps[2], x.steps[3], s.channels * x.steps[3], s.groups)
                     : pictures(x, Order::windows, x.steps, s.channels * x.steps[3]);
      // Taps and channels of a kernel follow each other where it lies as it is counted.
      const bool is_dense = !as_taps && (w.map.views()[0].is_contiguous() || taps == 1);
      p.b = is_dense
                ? matrix(w, w.steps[3], w.steps[0], s.results * w.steps[0], s.groups)
                : pictures(w, Order::weights, {w.steps[3], w.steps[1], w.steps[2], w.steps[0]}, s.results * w.steps[0]);
      break;
    }
    case Op::conv_transpose: {
      const Picture &y = first, &w = second;
      p.rows = places, p.columns = s.channels, p.depth = taps * s.results;
      windows.channels = s.results;
      p.a = is_plain ? matrix(y, y.steps[2], y.steps[3], s.results * y.steps[3], s.groups)
                     : pictures(y, Order::windows, y.steps, s.results * y.steps[3]);
      p.b = is_plain ? matrix(w, w.steps[0], w.steps[3], s.results * w.steps[0], s.groups)
                     : pictures(w, Order::weights, w.steps, s.results * w.steps[0]);
      break;
    }
    default: {
      const Picture &x = first, &y = second;
      p.rows = s.results, p.columns = taps * s.channels, p.depth = s.images * s.axes[0].out * s.axes[1].out;
      windows.channels = s.channels;
      p.a = is_even(y) ? matrix(y, y.steps[3], y.steps[2], s.results * y.steps[3], s.groups)
                       : pictures(y, Order::places, y.steps, s.results * y.steps[3]);
      p.b = is_plain ? matrix(x, x.steps[2], x.steps[3], s.channels * x.steps[3], s.groups)
                     : pictures(x, Order::taps, x.steps, s.channels * x.steps[3]);
      p.has_natural_rows = p.has_right_first = p.sums_pixels = true;
    }
  }
  if (!is_plain || s.groups > 1) p.windows = std::move(windows);
  return p;
}

}  // namespace

bool takes_convolution(const ir::Call& call) {
  const auto* attrs = std::get_if<ir::ConvAttrs>(&call.attrs);
  if (!attrs || !attrs->channels_last || call.inputs.size() != 2) return false;
  const DType dtype = call.inputs[0].dtype;
  if (!is_float(dtype) || call.inputs[1].dtype != dtype) return false;
  const auto fits = [](const Dims& shape) { return ir::count(shape) <= kMostElements; };
  if (!fits(call.inputs[0].map.shape()) || !fits(call.inputs[1].map.shape()) || !fits(call.outputs[0].shape))
    return false;
  for (const ir::ConvAxis& axis : attrs->axes) {
    if (std::abs(axis.padding) > kFarthest || axis.kernel * axis.dilation > kFarthest ||
        axis.out * axis.stride > kFarthest || axis.stride > kMostPhases)
      return false;
  }
  const ContractProblem p = product_of(call);
  return p.rows <= kMostElements && p.depth <= kMostElements && p.columns <= kMostElements;
}

namespace {
std::optional<codegen::Module> directly(const ir::Call& call, const ir::Limits& limits) {
  if (std::get<ir::ConvAttrs>(call.attrs).groups == 1) return std::nullopt;
  const ContractProblem p = product_of(call, true);
  return call.op == Op::conv_weight ? direct_weights(p, limits) : direct_convolution(p, limits);
}
}  // namespace

codegen::Module lower_convolution(const ir::Call& call, const ir::Limits& limits) {
  if (std::optional<codegen::Module> direct = directly(call, limits)) return std::move(*direct);
  const ContractProblem p = product_of(call);
  if (call.way.empty()) return lower_product(p, limits);
  return lower_product(p, limits, contract_tile_of(call.way));
}

std::vector<ir::Way> convolution_ways(const ir::Call& call, const ir::Limits& limits) {
  if (directly(call, limits)) return {};
  return product_ways(product_of(call), limits);
}

}  // namespace tenon::kernels
