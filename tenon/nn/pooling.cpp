// Pooling as compositions of views: the elements of a window are so many slices of the image in steps of the stride.
// Means over uneven parts, and bilinear resampling, are products with a matrix for each axis.

#include "tenon/nn/pooling.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
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
  fail(op, "takes (batch, channels, {0}) or (channels, {0}), got {1}", axes == 1 ? "length" : "height, width",
       ir::to_string(x.shape()));
}

Pool pool_of(std::string_view op, const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
             const Dims& dilation, bool ceil_mode) {
  Pool pool{op, {}};
  for (size_t i = 0; i < kernel.size(); ++i) {
    PoolAxis axis{x.size(static_cast<int64_t>(i) + 2), kernel[i], stride[i], padding[i], dilation[i]};
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1)
      fail(op, "kernel, stride and dilation must be positive, got {}, {} and {}", sizes(kernel), sizes(stride),
           sizes(dilation));
    if (axis.padding < 0 || 2 * axis.padding > axis.kernel)
      fail(op, "padding {} must be at most half of the kernel {}", sizes(padding), sizes(kernel));
    if (axis.size < 1) fail(op, "the input {} is empty", ir::to_string(x.shape()));
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

// Tap t of a window by its place along each axis, the last one running fastest.
Dims place_of(const Pool& pool, int64_t t) {
  Dims place(pool.axes.size(), 0);
  for (size_t i = place.size(); i-- > 0; t /= pool.axes[i].kernel) place[i] = t % pool.axes[i].kernel;
  return place;
}

int64_t taps_of(const Pool& pool) {
  int64_t taps = 1;
  for (const PoolAxis& axis : pool.axes) taps *= axis.kernel;
  return taps;
}

Tensor tap_of(const Tensor& x, const Pool& pool, int64_t t) {
  const Dims place = place_of(pool, t);
  Tensor seen = x;
  for (size_t i = 0; i < place.size(); ++i) seen = elements(seen, static_cast<int64_t>(i) + 2, pool.axes[i], place[i]);
  return seen;
}

struct Largest {
  Tensor value, tap;
};

// The first tap of every window that lies in the image, not in the padding before it.
Tensor first_inside(const Pool& pool, const Options& numbers) {
  Tensor tap = full(Dims(pool.axes.size(), 1), 0, numbers);
  for (size_t i = 0; i < pool.axes.size(); ++i) {
    const PoolAxis& axis = pool.axes[i];
    Dims along(pool.axes.size(), 1);
    along[i] = axis.out;
    const Tensor missing = clamp(axis.padding - arange(axis.out, numbers) * axis.stride, 0, {});
    tap = tap * axis.kernel + floor_divide(missing + (axis.dilation - 1), axis.dilation).reshape(along);
  }
  return tap;
}

// The first of the largest elements, or the last NaN, and which it is: what PyTorch's loop finds. Padding is never the
// largest: where all of a window is as small, the first element of the image is.
Largest largest_of(const Tensor& x, const Pool& pool) {
  const Tensor whole = padded(x, pool, -std::numeric_limits<double>::infinity());
  const int64_t taps = taps_of(pool);
  const DType numbers = taps <= 255 ? DType::u8 : DType::i32;
  Tensor best = tap_of(whole, pool, 0);
  const bool has_padding = std::any_of(pool.axes.begin(), pool.axes.end(), [](auto& axis) { return axis.padding > 0; });
  Tensor index = has_padding ? first_inside(pool, Options(DType::i32, x.device())).to(numbers).expand(best.shape())
                             : full(best.shape(), 0, Options(numbers, x.device()));
  for (int64_t t = 1; t < taps; ++t) {
    const Tensor next = tap_of(whole, pool, t);
    const Tensor is_better = logical_or(gt(next, best), ne(next, next));
    best = where(is_better, next, best);
    index = where(is_better, full({}, t, Options(numbers, x.device())), index);
  }
  return {best, index};
}

// Every tap's share written where it belongs, over the whole of what windows cover; elements of several windows add up.
Tensor spread_by_taps(const Tensor& g, const Tensor& tap, const Pool& pool) {
  bool overlap = false;
  Dims shape{g.size(0), g.size(1)};
  for (const PoolAxis& axis : pool.axes) {
    overlap = overlap || !is_even(axis);
    shape.push_back((axis.out - 1) * axis.stride + axis.reach());
  }
  ir::Value total = ir::full(shape, 0, g.dtype(), g.device().id);
  for (int64_t t = 0; t < taps_of(pool); ++t) {
    ir::ShrinkAttrs cut{Dims(shape.size(), 0), g.shape(), Dims(shape.size(), 1)};
    const Dims place = place_of(pool, t);
    for (size_t i = 0; i < place.size(); ++i) {
      cut.start[i + 2] = place[i] * pool.axes[i].dilation;
      cut.step[i + 2] = pool.axes[i].stride;
    }
    const ir::Move target{ir::Op::shrink, cut};
    const ir::Value share = record::in(where(eq(tap, t), g, 0.0));
    total = ir::store(total, overlap ? ir::add(ir::move(total, target), share) : share, {target});
  }
  return tensor_of(total);
}

Tensor max_pool(const Tensor& given, const Pool& pool) {
  const Tensor x = with_batch(pool.op, given, pool.axes.size());
  Tensor y;
  if (!grad_enabled() || !x.requires_grad()) {
    y = tensor_of(record::in(largest_of(x, pool).value));  // windows of one element are a view
  } else {
    Largest found = [&] {
      const NoGrad values_only;
      return largest_of(x.detach(), pool);
    }();
    // Kept, because the backward pass would find it again for every tap.
    found.tap = tensor_of(ir::contiguous(record::in(found.tap)));
    const CustomFunction function{
        "max_pool", [&](std::span<const Tensor>) { return std::vector<Tensor>{found.value}; },
        [pool](std::span<const Tensor> in, std::span<const Tensor> grads) {
          Dims cut;
          for (size_t i = pool.axes.size(); i-- > 0;) {
            const PoolAxis& axis = pool.axes[i];
            cut.push_back(-axis.padding);
            cut.push_back(axis.size + axis.padding - (axis.out - 1) * axis.stride - axis.reach());
          }
          const Tensor spread = spread_by_taps(grads[0], in[1], pool);
          return std::vector<Tensor>{cut == Dims(cut.size(), 0) ? spread : pad(spread, cut), Tensor()};
        }};
    y = tenon::apply(function, std::vector<Tensor>{x, found.tap})[0];
  }
  return x.dim() == given.dim() ? y : y.squeeze(0);
}

// How many elements of the image, or of the padding too, each window has along an axis.
Tensor counted(const PoolAxis& axis, bool with_padding, const Options& options) {
  const Tensor first = arange(axis.out, options) * axis.stride - axis.padding;
  const Tensor end = minimum(first + axis.kernel, axis.size + axis.padding);
  return with_padding ? end - first : minimum(end, axis.size) - maximum(first, 0);
}

// Axis by axis, because a mean over rows of means over columns is the mean of all.
Tensor avg_pool(const Tensor& given, const Pool& pool, bool count_include_pad, bool ceil_mode) {
  const Tensor x = with_batch(pool.op, given, pool.axes.size());
  Tensor y = record::in_wide(x, [&](const Tensor& wide) {
    const Tensor whole = padded(wide, pool, 0);
    Tensor sums = whole;
    double elements_of_all = 1;
    bool divides = false;
    for (size_t i = pool.axes.size(); i-- > 0;) {
      const PoolAxis& axis = pool.axes[i];
      const auto dim = static_cast<int64_t>(i) + 2;
      if (is_even(axis)) {
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
        sums = total;
      }
      elements_of_all *= static_cast<double>(axis.kernel);
      divides = divides || ceil_mode || (!count_include_pad && axis.padding > 0);
    }
    if (!divides) return sums * (1 / elements_of_all);
    Tensor count;
    for (size_t i = 0; i < pool.axes.size(); ++i) {
      Dims along(pool.axes.size(), 1);
      along[i] = pool.axes[i].out;
      const Tensor one = counted(pool.axes[i], count_include_pad, Options(DType::i32, x.device())).reshape(along);
      count = count.defined() ? count * one : one;
    }
    return sums / count.to(sums.dtype());
  });
  return x.dim() == given.dim() ? y : y.squeeze(0);
}

// x with each of its last axes replaced: by a product with a matrix (new, old).
Tensor through(const Tensor& x, const std::vector<Tensor>& matrices) {
  return record::in_wide(x, [&](const Tensor& wide) {
    Tensor y = wide;
    if (matrices.back().defined()) y = matmul(y, matrices.back().t());
    if (matrices.size() == 2 && matrices[0].defined()) y = matmul(matrices[0], y);
    return y;
  });
}

// Row i averages floor(i size / out) ... ceil((i + 1) size / out).
Tensor parts_of(int64_t size, int64_t out, const Options& options) {
  const Options whole(DType::i64, options.device);
  const Tensor i = arange(out, whole).unsqueeze(1), place = arange(size, whole).unsqueeze(0);
  const Tensor first = floor_divide(i * size, out), end = floor_divide((i + 1) * size + (out - 1), out);
  const Tensor inside = logical_and(ge(place, first), lt(place, end)).to(*options.dtype);
  return inside / (end - first).to(*options.dtype);
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
  if (divides) return avg_pool(given, pool, true, false);
  const Options options(accumulator(x.dtype()), x.device());
  for (const PoolAxis& axis : pool.axes) {
    ir::require_shape(op, {axis.out, axis.size});
    matrices.push_back(parts_of(axis.size, axis.out, options));
  }
  const Tensor y = through(x, matrices);
  return x.dim() == given.dim() ? y : y.squeeze(0);
}

// Row i weighs the two places around where i lies in the old image.
Tensor weights_of(int64_t size, int64_t out, double scale, bool align_corners, const Options& options) {
  const Tensor i = arange(out, options).unsqueeze(1);
  Tensor at = align_corners ? i * (out > 1 ? static_cast<double>(size - 1) / static_cast<double>(out - 1) : 0.0)
                            : maximum((i + 0.5) * scale - 0.5, 0.0);
  const Tensor low = minimum(floor(at), static_cast<double>(size - 1));
  const Tensor high = minimum(low + 1.0, static_cast<double>(size - 1)), share = at - low;
  const Tensor place = arange(size, options).unsqueeze(0);
  const DType dtype = *options.dtype;
  return eq(place, low).to(dtype) * (1.0 - share) + eq(place, high).to(dtype) * share;
}

// Element i is that at floor(i scale), in PyTorch's arithmetic: from 41 on, i * (1 / i) can be less than 1 in f32. An
// axis of an image that stays or doubles does so whatever the scale, one of a sequence does not: PyTorch's answers,
// too.
Tensor nearest_along(const Tensor& x, int64_t dim, int64_t out, double scale) {
  const int64_t size = x.size(dim), times = out / size;
  const bool is_image = x.dim() == 4, is_quotient = scale == static_cast<double>(size) / static_cast<double>(out);
  const bool is_whole = out % size == 0 && (is_quotient || (is_image && times <= 2));
  if (is_whole && times <= 40) {  // every element so often
    Dims split = x.shape(), whole, joined = x.shape();
    split.insert(split.begin() + dim + 1, 1);
    whole = split;
    whole[static_cast<size_t>(dim) + 1] = times;
    joined[static_cast<size_t>(dim)] = out;
    return x.reshape(split).expand(whole).reshape(joined);
  }
  const Tensor at = arange(out, Options(accumulator(x.dtype()), x.device())) * scale;
  return index_select(x, dim, minimum(floor(at.to(DType::f32)).to(DType::i64), size - 1));
}

// The new size of one axis.
int64_t resampled_size(std::string_view op, int64_t size, const UpsampleOptions& options, bool is_last) {
  if (options.size) return is_last ? options.size->width : options.size->height;
  const double out = std::floor(static_cast<double>(size) * *options.scale);
  if (!(out <= static_cast<double>(ir::kMostElements)))
    fail(op, "a scale of {} makes too many elements of {}", *options.scale, size);
  return static_cast<int64_t>(out);
}

Dims both(Size2 size) { return {size.height, size.width}; }

}  // namespace

Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& o) {
  return max_pool(x, pool_of("max_pool1d", with_batch("max_pool1d", x, 1), {kernel}, {o.stride.value_or(kernel)},
                             {o.padding}, {o.dilation}, o.ceil_mode));
}

Tensor max_pool2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& o) {
  return max_pool(x, pool_of("max_pool2d", with_batch("max_pool2d", x, 2), both(kernel),
                             both(o.stride.value_or(kernel)), both(o.padding), both(o.dilation), o.ceil_mode));
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& o) {
  return avg_pool(x,
                  pool_of("avg_pool1d", with_batch("avg_pool1d", x, 1), {kernel}, {o.stride.value_or(kernel)},
                          {o.padding}, {1}, o.ceil_mode),
                  o.count_include_pad, o.ceil_mode);
}

Tensor avg_pool2d(const Tensor& x, Size2 kernel, const AvgPool2dOptions& o) {
  return avg_pool(x,
                  pool_of("avg_pool2d", with_batch("avg_pool2d", x, 2), both(kernel), both(o.stride.value_or(kernel)),
                          both(o.padding), {1, 1}, o.ceil_mode),
                  o.count_include_pad, o.ceil_mode);
}

Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output) {
  return adaptive_avg_pool("adaptive_avg_pool1d", x, {output});
}

Tensor adaptive_avg_pool2d(const Tensor& x, Size2 output) {
  return adaptive_avg_pool("adaptive_avg_pool2d", x, both(output));
}

Tensor interpolate(const Tensor& x, const UpsampleOptions& options) {
  constexpr std::string_view kOp = "interpolate";
  record::require_float(kOp, x);
  if (x.dim() != 3 && x.dim() != 4)
    fail(kOp, "takes (batch, channels, length) or (batch, channels, height, width), got {}", ir::to_string(x.shape()));
  if (options.size.has_value() == options.scale.has_value()) fail(kOp, "takes either a size or a scale");
  if (options.mode == Resample::bilinear && x.dim() != 4)
    fail(kOp, "bilinear takes (batch, channels, height, width), got {}", ir::to_string(x.shape()));
  if (options.align_corners && options.mode != Resample::bilinear) fail(kOp, "align_corners is of bilinear alone");
  if (options.scale && !(*options.scale > 0)) fail(kOp, "the scale must be positive, got {}", *options.scale);
  Dims shape = x.shape();
  for (int64_t dim = 2; dim < x.dim(); ++dim) {
    int64_t& size = shape[static_cast<size_t>(dim)];
    size = resampled_size(kOp, x.size(dim), options, dim == x.dim() - 1);
    if (x.size(dim) < 1 || size < 1) fail(kOp, "sizes must be positive, got {} to {}", x.size(dim), size);
    ir::require_shape(kOp, {x.size(dim), size});
  }
  ir::require_shape(kOp, shape);
  std::vector<Tensor> matrices;
  Tensor y = tensor_of(record::in(x));
  for (int64_t dim = 2; dim < x.dim(); ++dim) {
    const int64_t size = x.size(dim), out = shape[static_cast<size_t>(dim)];
    const double scale = options.scale ? 1 / *options.scale : static_cast<double>(size) / static_cast<double>(out);
    if (options.mode == Resample::nearest)
      y = nearest_along(y, dim, out, scale);
    else if (out == size)  // stays as it is, whatever the scale, as in PyTorch
      matrices.emplace_back();
    else
      matrices.push_back(
          weights_of(size, out, scale, options.align_corners, Options(accumulator(x.dtype()), x.device())));
  }
  return options.mode == Resample::nearest ? y : through(y, matrices);
}

}  // namespace tenon::nn
