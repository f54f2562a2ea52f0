// The largest of a window is an op of its own; means are sums of views: the elements of a window are so many slices of
// the image in steps of the stride. Means over uneven parts are products with a matrix for each axis.

#include "tenon/nn/pooling.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/device/registry.h"
#include "tenon/nn/axis_matrices.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/composed.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;

struct PoolAxis {
  int64_t size, kernel, stride, padding, dilation = 1, out = 0;
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

struct Pool {
  std::string_view op;
  std::vector<PoolAxis> axes;
};

std::string sizes(const Dims& dims) { return fmt::format("{}", fmt::join(dims, " x ")); }

// x with a batch, which it may lack.
Tensor with_batch(std::string_view op, const Tensor& x, size_t axes) {
  record::require_float(op, x);
  const auto rank = static_cast<int64_t>(axes) + 2;
  if (x.dim() == rank) return x;
  if (x.dim() == rank - 1) return x.unsqueeze(0);
  constexpr std::string_view kPlaces[] = {"length", "height, width", "depth, height, width"};
  fail(op, "takes (batch, channels, {0}) or (channels, {0}), got {1}", kPlaces[axes - 1], ir::to_string(x.shape()));
}

Pool pool_of(std::string_view op, const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
             const Dims& dilation, bool ceil_mode) {
  Pool pool{op, {}};
  for (size_t i = 0; i < kernel.size(); ++i) {
    PoolAxis axis{x.size(static_cast<int64_t>(i) + 2), kernel[i], stride[i], padding[i], dilation[i]};
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1)
      fail(op, "kernel, stride and dilation must be positive, got {}, {} and {}", sizes(kernel), sizes(stride),
           sizes(dilation));
    if (std::max({axis.kernel, axis.stride, axis.dilation}) > ir::kMostElements ||
        axis.dilation > ir::kMostElements / axis.kernel)
      fail(op, "a kernel of {} with stride {} and dilation {} is larger than any tensor", sizes(kernel), sizes(stride),
           sizes(dilation));
    // Of volumes PyTorch looks at the kernel alone, not at how far it is dilated.
    const int64_t most = (kernel.size() == 3 ? axis.kernel : axis.reach()) / 2;
    if (axis.padding < 0 || axis.padding > most)
      fail(op, "padding {} must be at most half of the kernel {}", sizes(padding), sizes(kernel));
    if (axis.size < 1 || x.size(1) < 1) fail(op, "the input {} is empty", ir::to_string(x.shape()));
    const int64_t room = axis.size + 2 * axis.padding - axis.reach();
    const int64_t over = ceil_mode ? axis.stride - 1 : 0;  // how far the last window may hang over
    if (room + over < 0)
      fail(op, "a kernel of {} is larger than the input of {} with padding {}", sizes(kernel),
           sizes(Dims(x.shape().begin() + 2, x.shape().end())), sizes(padding));
    axis.out = (room + over) / axis.stride + 1;
    // A window must begin inside of the image or in front of it.
    if (ceil_mode && (axis.out - 1) * axis.stride >= axis.size + axis.padding) --axis.out;
    pool.axes.push_back(axis);
  }
  return pool;
}

// So much in front of the axis and behind it that all windows lie inside.
Dims around(const Pool& pool) {
  Dims sizes;
  for (size_t i = pool.axes.size(); i-- > 0;) {
    const PoolAxis& axis = pool.axes[i];
    sizes.push_back(axis.padding);
    sizes.push_back((axis.out - 1) * axis.stride + axis.reach() - axis.size - axis.padding);
  }
  return sizes;
}

Tensor padded(const Tensor& x, const Pool& pool, double value) {
  const Dims sizes = around(pool);
  return sizes == Dims(sizes.size(), 0) ? x : pad(x, sizes, value);
}

// Element `k` of all windows along one axis of what is padded.
Tensor elements(const Tensor& x, int64_t dim, const PoolAxis& axis, int64_t k) {
  const int64_t first = k * axis.dilation;
  return x.slice(dim, first, first + (axis.out - 1) * axis.stride + 1, axis.stride);
}

bool is_even(const PoolAxis& axis) { return axis.kernel == axis.stride && axis.dilation == 1; }

ir::PoolAttrs attrs_of(const Pool& pool) {
  ir::PoolAttrs attrs;
  for (const PoolAxis& axis : pool.axes)
    attrs.axes.push_back({axis.size, axis.kernel, axis.out, axis.stride, axis.padding, axis.dilation});
  return attrs;
}

// Values, and which element of its window each one is.
struct Largest {
  Tensor value, place;
};

Largest largest_of(const Tensor& x, const Pool& pool) {
  const auto [value, place] = ir::max_pool(record::in(x), attrs_of(pool));
  return {tensor_of(value), tensor_of(ir::detach(place))};
}

// Volumes are pooled plane by plane, and these values along the depth: of several that are the largest, both take the
// first, and of NaN the last, so that together they take what a walk through the window would.
struct VolumePools {
  Pool planes, depth;  // of (N, C * depth, height, width) and of (N, C, depth, places of a plane)
};

VolumePools parts_of(const Pool& pool) {
  const int64_t places = pool.axes[1].out * pool.axes[2].out;
  return {{pool.op, {pool.axes[1], pool.axes[2]}}, {pool.op, {pool.axes[0], {places, 1, 1, 0, 1, places}}}};
}

struct LargestOfVolume {
  Largest planes, depth;
};

LargestOfVolume largest_of_volume(const Tensor& x, const VolumePools& pools) {
  const int64_t batch = x.size(0), channels = x.size(1), depth = x.size(2);
  const Largest planes = largest_of(x.reshape({batch, channels * depth, x.size(3), x.size(4)}), pools.planes);
  const Tensor columns = planes.value.reshape({batch, channels, depth, pools.depth.axes[1].size});
  return {planes, largest_of(columns, pools.depth)};
}

Dims pooled_shape(const Tensor& x, const Pool& pool) {
  Dims shape{x.size(0), x.size(1)};
  for (const PoolAxis& axis : pool.axes) shape.push_back(axis.out);
  return shape;
}

Tensor max_pool(const Tensor& given, const Pool& pool) {
  const Tensor x = with_batch(pool.op, given, pool.axes.size());
  const Tensor y = pool.axes.size() == 3
                       ? largest_of_volume(x, parts_of(pool)).depth.value.reshape(pooled_shape(x, pool))
                       : largest_of(x, pool).value;
  return record::apart(x.dim() == given.dim() ? y : y.squeeze(0));
}

// Windows of one axis that begin at `first` (out,), go on by `step` and end in front of `end` (out,), if that is there.
struct Windows {
  Tensor first, end;
  int64_t step = 1;
};

// Elements of an image are counted row by row.
Tensor indices_of(const Tensor& place, const Pool& pool, const std::vector<Windows>& windows) {
  Tensor rest = place.to(DType::i64), index;
  int64_t row = 1;  // elements from one place of the axis to the next
  for (size_t i = pool.axes.size(); i-- > 0;) {
    const PoolAxis& axis = pool.axes[i];
    Dims along(pool.axes.size(), 1);
    along[i] = axis.out;
    Tensor at = windows[i].first.reshape(along) + rest % axis.kernel * windows[i].step;
    if (windows[i].end.defined()) at = minimum(at, windows[i].end.reshape(along) - 1);
    index = index.defined() ? index + at * row : at;
    rest = floor_divide(rest, axis.kernel);
    row *= axis.size;
  }
  return index;
}

Tensor indices_of(const Tensor& place, const Pool& pool) {
  const Options whole(DType::i64, place.device());
  std::vector<Windows> windows;
  for (const PoolAxis& axis : pool.axes)
    windows.push_back({arange(axis.out, whole) * axis.stride - axis.padding, Tensor(), axis.dilation});
  return indices_of(place, pool, windows);
}

// A place in a volume is one in the plane that the search along the depth chose, after all planes before it.
MaxPooled max_pool_volume_with_indices(const Tensor& x, const Pool& pool) {
  const VolumePools pools = parts_of(pool);
  const LargestOfVolume found = largest_of_volume(x, pools);
  const int64_t batch = x.size(0), channels = x.size(1), places = pools.depth.axes[1].size;
  const Tensor in_plane = indices_of(found.planes.place, pools.planes).reshape({batch, channels, x.size(2) * places});
  const Tensor chosen =
      indices_of(found.depth.place, pools.depth).reshape({batch, channels, pool.axes[0].out * places});
  // A dilated window may lie around a thin volume without an element of it.
  const Tensor there = minimum(chosen, x.size(2) * places - 1);
  const Tensor indices = gather(in_plane, 2, there) + floor_divide(chosen, places) * (x.size(3) * x.size(4));
  const Dims shape = pooled_shape(x, pool);
  return {record::apart(found.depth.value.reshape(shape)), indices.reshape(shape)};
}

MaxPooled max_pool_with_indices(const Tensor& given, const Pool& pool) {
  const Tensor x = with_batch(pool.op, given, pool.axes.size());
  MaxPooled found;
  if (pool.axes.size() == 3) {
    found = max_pool_volume_with_indices(x, pool);
  } else {
    const Largest largest = largest_of(x, pool);
    found = {largest.value, indices_of(largest.place, pool)};
  }
  if (x.dim() == given.dim()) return found;
  return {record::apart(found.y.squeeze(0)), found.indices.squeeze(0)};
}

// How many elements of the image, or of the padding too, each window has along an axis.
Tensor counted(const PoolAxis& axis, bool with_padding, const Options& options) {
  const Tensor first = arange(axis.out, options) * axis.stride - axis.padding;
  const Tensor end = minimum(first + axis.kernel, axis.size + axis.padding);
  return with_padding ? end - first : minimum(end, axis.size) - maximum(first, 0);
}

// What sums of windows are divided by.
struct Divisor {
  bool count_include_pad, ceil_mode;
  std::optional<int64_t> given = {};
};

bool is_overlapping(const Pool& pool) {
  return std::ranges::any_of(pool.axes, [](const PoolAxis& axis) { return axis.kernel > axis.stride; });
}

bool on_host(const Tensor& x) { return device::open(x.device().id).limits().max_threads == 1; }

// How many elements each window has.
Tensor elements_of_windows(const Pool& pool, const Divisor& divisor, Device device) {
  Tensor count;
  for (size_t i = 0; i < pool.axes.size(); ++i) {
    Dims along(pool.axes.size(), 1);
    along[i] = pool.axes[i].out;
    const Tensor one = counted(pool.axes[i], divisor.count_include_pad, Options(DType::i32, device)).reshape(along);
    count = count.defined() ? count * one : one;
  }
  return count;
}

bool has_uneven_windows(const Pool& pool, const Divisor& divisor) {
  return divisor.ceil_mode || (!divisor.count_include_pad &&
                               std::ranges::any_of(pool.axes, [](const PoolAxis& axis) { return axis.padding > 0; }));
}

// Axis by axis, because a mean over rows of means over columns is the mean of all.
Tensor means_of_windows(const Tensor& x, const Pool& pool, const Divisor& divisor);

// Windows side by side: each element has its share of one mean. The rules of the ops that add the slices of windows up
// would pass over every slice for each of the others.
Tensor shares_of_windows(const Tensor& gradient, const Tensor& x, const Pool& pool, std::optional<int64_t> divisor) {
  Dims split{gradient.size(0), gradient.size(1)}, whole = split, joined = split, missing;
  double elements = 1;
  for (const PoolAxis& axis : pool.axes) {
    for (const int64_t size : {axis.out, int64_t{1}}) split.push_back(size);
    for (const int64_t size : {axis.out, axis.kernel}) whole.push_back(size);
    joined.push_back(axis.out * axis.kernel);
    elements *= static_cast<double>(axis.kernel);
  }
  if (divisor) elements = static_cast<double>(*divisor);
  for (size_t i = pool.axes.size(); i-- > 0;) {
    missing.push_back(0);
    missing.push_back(x.size(static_cast<int64_t>(i) + 2) - joined[i + 2]);
  }
  return tenon::pad((gradient * (1 / elements)).reshape(split).expand(whole).reshape(joined), missing);
}

// The elements along a dim with zeros between them.
Tensor in_steps(const Tensor& x, int64_t dim, int64_t step) {
  if (step == 1) return x;
  const int64_t size = x.size(dim);
  Dims split = x.shape(), joined = x.shape(), around(2 * static_cast<size_t>(x.dim() - dim), 0);
  split.insert(split.begin() + dim + 1, 1);
  joined[static_cast<size_t>(dim)] = size * step;
  around.back() = step - 1;
  return tenon::pad(x.reshape(split), around).reshape(joined).narrow(dim, 0, (size - 1) * step + 1);
}

// Windows that overlap: an element has its share of the means of all windows around it, which are sums of windows
// again, over means that lie as far apart as the windows do.
Tensor shares_of_overlapping(const Tensor& gradient, const Pool& pool, const Divisor& divisor) {
  return record::in_wide(gradient, [&](const Tensor& wide) {
    Tensor shares;
    if (divisor.given) {
      shares = wide / static_cast<double>(*divisor.given);
    } else if (has_uneven_windows(pool, divisor)) {
      shares = wide / elements_of_windows(pool, divisor, wide.device()).to(wide.dtype());
    } else {
      double elements = 1;
      for (const PoolAxis& axis : pool.axes) elements *= static_cast<double>(axis.kernel);
      shares = wide * (1 / elements);
    }
    for (size_t i = pool.axes.size(); i-- > 0;) {
      const PoolAxis& axis = pool.axes[i];
      const auto dim = static_cast<int64_t>(i) + 2;
      const Tensor apart = in_steps(shares, dim, axis.stride);
      Dims around(2 * (pool.axes.size() - i), 0);
      const int64_t before = axis.kernel - 1 - axis.padding;
      around[around.size() - 2] = before;
      around.back() = axis.size + axis.kernel - 1 - before - apart.size(dim);
      const Tensor whole = tenon::pad(apart, around).clone();
      Tensor total;
      for (int64_t k = 0; k < axis.kernel; ++k) {
        const Tensor part = whole.narrow(dim, k, axis.size);
        total = total.defined() ? total + part : part;
      }
      shares = i > 0 ? total.clone() : total;
    }
    return shares;
  });
}

Tensor pooled_means(const Tensor& x, const Pool& pool, const Divisor& divisor) {
  const bool is_plain = std::all_of(pool.axes.begin(), pool.axes.end(), [](const PoolAxis& axis) {
    return is_even(axis) && axis.padding == 0 && axis.out * axis.kernel <= axis.size;
  });
  const bool has_shares = is_plain || (is_overlapping(pool) && on_host(x));
  if (!has_shares || !x.requires_grad()) return means_of_windows(x, pool, divisor);
  const CustomFunction function{
      std::string(pool.op),
      [=](std::span<const Tensor> in) { return std::vector{means_of_windows(in[0], pool, divisor)}; },
      [=](std::span<const Tensor> in, std::span<const Tensor> grads) {
        return std::vector{is_plain ? shares_of_windows(grads[0], in[0], pool, divisor.given)
                                    : shares_of_overlapping(grads[0], pool, divisor)};
      }};
  return apply(function, std::vector{x})[0];
}

Tensor avg_pool(const Tensor& given, const Pool& pool, const Divisor& divisor) {
  if (divisor.given == 0) fail(pool.op, "the divisor must not be 0");
  const Tensor x = with_batch(pool.op, given, pool.axes.size());
  Settings settings{divisor.count_include_pad, divisor.ceil_mode, divisor.given.value_or(0)};
  for (const PoolAxis& axis : pool.axes) {
    for (const int64_t size : {axis.kernel, axis.stride, axis.padding, axis.dilation, axis.out}) settings.add(size);
  }
  const Tensor y = composed("avg_pool", settings, {&x, 1}, [&](std::span<const Tensor> in) {
    return std::vector{pooled_means(in[0], pool, divisor)};
  })[0];
  return x.dim() == given.dim() ? y : y.squeeze(0);
}

Tensor means_of_windows(const Tensor& x, const Pool& pool, const Divisor& divisor) {
  return record::in_wide(x, [&](const Tensor& wide) {
    // Overlapping windows read every element several times: on the host it lies in memory then, padding and all, and so
    // do the sums along each axis. As one pass over all elements of all windows it takes two to seven times as long.
    const bool is_kept = is_overlapping(pool) && on_host(x);
    const auto kept = [&](const Tensor& t) { return is_kept ? t.clone() : t; };
    Tensor sums = kept(padded(wide, pool, 0));
    double elements_of_all = 1;
    for (size_t i = pool.axes.size(); i-- > 0;) {
      const PoolAxis& axis = pool.axes[i];
      const auto dim = static_cast<int64_t>(i) + 2;
      // Two are better added slice by slice than folded: in an eighth of the time, and to the same bits.
      constexpr int64_t kFew = 2;
      if (is_even(axis) && axis.kernel > kFew) {
        Dims split = sums.shape();
        split[i + 2] = axis.out;
        split.insert(split.begin() + dim + 1, axis.kernel);
        const Tensor used = sums.narrow(dim, 0, axis.out * axis.kernel);
        sums = sum(used.reshape(split), {dim + 1});
      } else {
        Tensor total;
        for (int64_t k = 0; k < axis.kernel; ++k) {
          const Tensor part = elements(sums, dim, axis, k);
          total = total.defined() ? total + part : part;
        }
        sums = is_even(axis) ? total + 0.0 : total;  // never -0, as a folded sum
        if (i > 0) sums = kept(sums);
      }
      elements_of_all *= static_cast<double>(axis.kernel);
    }
    if (divisor.given) return sums / static_cast<double>(*divisor.given);
    if (!has_uneven_windows(pool, divisor)) return sums * (1 / elements_of_all);
    return sums / elements_of_windows(pool, divisor, x.device()).to(sums.dtype());
  });
}

Tensor adaptive_avg_pool(std::string_view op, const Tensor& given, const Dims& output) {
  const Tensor x = with_batch(op, given, output.size());
  std::vector<Tensor> matrices;
  Pool pool{op, {}};
  bool divides = true;
  Dims shape = x.shape();
  for (size_t i = 0; i < output.size(); ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i) + 2), out = output[i];
    if (out < 1) fail(op, "the output must be at least 1, got {}", sizes(output));
    if (size < 1) fail(op, "the input {} is empty", ir::to_string(given.shape()));
    shape[i + 2] = out;
    divides = divides && size % out == 0;
    pool.axes.push_back({size, size / out, size / out, 0, 1, out});
  }
  ir::require_shape(op, shape);
  if (divides) return avg_pool(given, pool, {true, false});
  const Options options(accumulator(x.dtype()), x.device());
  for (const PoolAxis& axis : pool.axes) {
    ir::require_shape(op, {axis.out, axis.size});
    matrices.push_back(even_shares(axis.size, axis.out, options));
  }
  const Tensor y = through_matrices(x, matrices);
  return record::apart(x.dim() == given.dim() ? y : y.squeeze(0));
}

// Windows of uneven sizes are made even by their last element, which is shown again: that changes neither which one is
// the largest nor who gets its gradient.
MaxPooled adaptive_max_pool(std::string_view op, const Tensor& given, const Dims& output) {
  const Tensor x = with_batch(op, given, output.size());
  const Options whole(DType::i64, x.device());
  Pool image{op, {}}, pool{op, {}};
  std::vector<Windows> windows;
  Tensor shown = x;
  for (size_t i = 0; i < output.size(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t size = x.size(dim), out = output[i];
    if (out < 1) fail(op, "the output must be at least 1, got {}", sizes(output));
    if (size < 1) fail(op, "the input {} is empty", ir::to_string(given.shape()));
    ir::require_shape(op, {out, size});
    const Tensor first = floor_divide(arange(out, whole) * size, out);
    const Tensor end = floor_divide((arange(out, whole) + 1) * size + (out - 1), out);
    int64_t kernel = size / out;
    if (size % out != 0) {
      // More windows than elements lie within one element each, or across the border of two.
      if (out > size) kernel = out % size == 0 ? 1 : 2;
      for (int64_t k = 0; k < out && out < size; ++k)
        kernel = std::max(kernel, ((k + 1) * size + out - 1) / out - k * size / out);
      const Tensor at = minimum(first.unsqueeze(1) + arange(kernel, whole), end.unsqueeze(1) - 1);
      shown = index_select(shown, dim, at.reshape({out * kernel}));
    }
    windows.push_back({first, end, 1});
    image.axes.push_back({size, kernel, kernel, 0, 1, out});
    pool.axes.push_back({out * kernel, kernel, kernel, 0, 1, out});
  }
  const Largest found = largest_of(shown, pool);
  const Tensor indices = indices_of(found.place, image, windows);
  if (x.dim() == given.dim()) return {found.value, indices};
  return {record::apart(found.value.squeeze(0)), indices.squeeze(0)};
}

Dims both(Size2 size) { return {size.height, size.width}; }
Dims all(Size3 size) { return {size.depth, size.height, size.width}; }

Pool largest1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& o) {
  constexpr std::string_view kOp = "max_pool1d";
  return pool_of(kOp, with_batch(kOp, x, 1), {kernel}, {o.stride.value_or(kernel)}, {o.padding}, {o.dilation},
                 o.ceil_mode);
}

Pool largest2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& o) {
  constexpr std::string_view kOp = "max_pool2d";
  return pool_of(kOp, with_batch(kOp, x, 2), both(kernel), both(o.stride.value_or(kernel)), both(o.padding),
                 both(o.dilation), o.ceil_mode);
}

Pool largest3d(const Tensor& x, Size3 kernel, const MaxPool3dOptions& o) {
  constexpr std::string_view kOp = "max_pool3d";
  return pool_of(kOp, with_batch(kOp, x, 3), all(kernel), all(o.stride.value_or(kernel)), all(o.padding),
                 all(o.dilation), o.ceil_mode);
}

}  // namespace

Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& o) {
  return max_pool(x, largest1d(x, kernel, o));
}
MaxPooled max_pool1d_with_indices(const Tensor& x, int64_t kernel, const MaxPool1dOptions& o) {
  return max_pool_with_indices(x, largest1d(x, kernel, o));
}

Tensor max_pool2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& o) {
  return max_pool(x, largest2d(x, kernel, o));
}
MaxPooled max_pool2d_with_indices(const Tensor& x, Size2 kernel, const MaxPool2dOptions& o) {
  return max_pool_with_indices(x, largest2d(x, kernel, o));
}

Tensor max_pool3d(const Tensor& x, Size3 kernel, const MaxPool3dOptions& o) {
  return max_pool(x, largest3d(x, kernel, o));
}
MaxPooled max_pool3d_with_indices(const Tensor& x, Size3 kernel, const MaxPool3dOptions& o) {
  return max_pool_with_indices(x, largest3d(x, kernel, o));
}

Tensor adaptive_max_pool1d(const Tensor& x, int64_t output) { return adaptive_max_pool1d_with_indices(x, output).y; }
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, int64_t output) {
  return adaptive_max_pool("adaptive_max_pool1d", x, {output});
}
Tensor adaptive_max_pool2d(const Tensor& x, Size2 output) { return adaptive_max_pool2d_with_indices(x, output).y; }
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, Size2 output) {
  return adaptive_max_pool("adaptive_max_pool2d", x, both(output));
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& o) {
  return avg_pool(x,
                  pool_of("avg_pool1d", with_batch("avg_pool1d", x, 1), {kernel}, {o.stride.value_or(kernel)},
                          {o.padding}, {1}, o.ceil_mode),
                  {o.count_include_pad, o.ceil_mode});
}

Tensor avg_pool2d(const Tensor& x, Size2 kernel, const AvgPool2dOptions& o) {
  return avg_pool(x,
                  pool_of("avg_pool2d", with_batch("avg_pool2d", x, 2), both(kernel), both(o.stride.value_or(kernel)),
                          both(o.padding), {1, 1}, o.ceil_mode),
                  {o.count_include_pad, o.ceil_mode, o.divisor_override});
}

Tensor avg_pool3d(const Tensor& x, Size3 kernel, const AvgPool3dOptions& o) {
  return avg_pool(x,
                  pool_of("avg_pool3d", with_batch("avg_pool3d", x, 3), all(kernel), all(o.stride.value_or(kernel)),
                          all(o.padding), {1, 1, 1}, o.ceil_mode),
                  {o.count_include_pad, o.ceil_mode, o.divisor_override});
}

Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output) {
  return adaptive_avg_pool("adaptive_avg_pool1d", x, {output});
}

Tensor adaptive_avg_pool2d(const Tensor& x, Size2 output) {
  return adaptive_avg_pool("adaptive_avg_pool2d", x, both(output));
}

}  // namespace tenon::nn
