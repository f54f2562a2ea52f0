// Interpolation is a product with a matrix for each axis, whose rows weigh the elements around a place; what takes the
// nearest element is a view or a look-up. Places and weights are PyTorch's.

#include "tenon/nn/resampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tenon/ir/composition.h"
#include "tenon/nn/axis_matrices.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/composed.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;

// One axis of an image in another size.
struct ResampledAxis {
  int64_t size, out;
  double scale;  // from a place of the new image to one of the old
};

double aligned_step(const ResampledAxis& axis) {
  return axis.out > 1 ? static_cast<double>(axis.size - 1) / static_cast<double>(axis.out - 1) : 0.0;
}

// Where the elements of the new image lie in the old one, as a column.
Tensor places_of(const ResampledAxis& axis, bool align_corners, const Options& options) {
  const Tensor i = arange(axis.out, options).unsqueeze(1);
  return align_corners ? i * aligned_step(axis) : (i + 0.5) * axis.scale - 0.5;
}

// Row i weighs the two elements around its place.
Tensor linear_weights(const ResampledAxis& axis, bool align_corners, const Options& options) {
  Tensor at = places_of(axis, align_corners, options);
  if (!align_corners) at = maximum(at, 0.0);
  const auto last = static_cast<double>(axis.size - 1);
  const Tensor low = minimum(floor(at), last), high = minimum(low + 1.0, last), share = at - low;
  const Tensor place = arange(axis.size, options).unsqueeze(0);
  const DType dtype = *options.dtype;
  return eq(place, low).to(dtype) * (1.0 - share) + eq(place, high).to(dtype) * share;
}

// What Keys' cubic of a parameter gives an element at a distance.
Tensor cubic(const Tensor& distance, double a) {
  const Tensor x = abs(distance);
  const Tensor near = ((a + 2) * x - (a + 3)) * x * x + 1.0;
  const Tensor far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return where(le(x, 1.0), near, where(lt(x, 2.0), far, 0.0));
}

// Row i weighs the four elements around its place; beyond the border are the outermost ones again.
Tensor cubic_weights(const ResampledAxis& axis, bool align_corners, const Options& options) {
  constexpr double kParameter = -0.75;
  const Tensor at = places_of(axis, align_corners, options), first = floor(at) - 1.0;
  const Tensor place = arange(axis.size, options).unsqueeze(0);
  Tensor weights;
  for (int i = 0; i < 4; ++i) {
    const Tensor from = first + static_cast<double>(i), inside = clamp(from, 0.0, static_cast<double>(axis.size - 1));
    const Tensor share = eq(place, inside).to(*options.dtype) * cubic(at - from, kParameter);
    weights = weights.defined() ? weights + share : share;
  }
  return weights;
}

// The same filters, as wide as a new element is in the old image.
Tensor antialiased_weights(const ResampledAxis& axis, const UpsampleOptions& o, const Options& options) {
  constexpr double kParameter = -0.5;
  const bool is_cubic = o.mode == Resample::bicubic;
  const double step = o.align_corners ? aligned_step(axis) : axis.scale, width = std::max(step, 1.0);
  const double reach = (is_cubic ? 2.0 : 1.0) * width;
  const Tensor center = (arange(axis.out, options).unsqueeze(1) + 0.5) * step;
  const Tensor place = arange(axis.size, options).unsqueeze(0);
  const Tensor inside = logical_and(ge(place, floor(center - reach + 0.5)), lt(place, floor(center + reach + 0.5)));
  const Tensor distance = (place - center + 0.5) / width;
  const Tensor filter = is_cubic ? cubic(distance, kParameter) : maximum(1.0 - abs(distance), 0.0);
  const Tensor weights = where(inside, filter, 0.0);
  return weights / sum(weights, {1}, true);
}

// The rows of the matrix of an axis; none where it stays as it is, as in PyTorch whatever the scale.
Tensor weights_of(const ResampledAxis& axis, const UpsampleOptions& o, const Options& options) {
  if (o.mode == Resample::area) return even_shares(axis.size, axis.out, options);
  if (o.antialias) return antialiased_weights(axis, o, options);
  if (o.mode == Resample::bicubic) return cubic_weights(axis, o.align_corners, options);
  return axis.out == axis.size ? Tensor() : linear_weights(axis, o.align_corners, options);
}

// Element i is that at floor(i scale), in PyTorch's arithmetic: from 41 on, i * (1 / i) can be less than 1 in f32. An
// axis of an image that stays or doubles does so whatever the scale, one of a sequence does not: PyTorch's answers,
// too. The exact mode asks for the middle of the element.
Tensor nearest_along(const Tensor& x, int64_t dim, const ResampledAxis& axis, bool is_exact) {
  const int64_t size = axis.size, out = axis.out, times = out / size;
  const bool is_image = x.dim() == 4 && !is_exact;
  const bool is_quotient = axis.scale == static_cast<double>(size) / static_cast<double>(out);
  const bool is_whole = out % size == 0 && (is_quotient || (is_image && times <= 2));
  if (is_whole && times <= 40) {  // every element so often
    Dims split = x.shape(), whole, joined = x.shape();
    split.insert(split.begin() + dim + 1, 1);
    whole = split;
    whole[static_cast<size_t>(dim) + 1] = times;
    joined[static_cast<size_t>(dim)] = out;
    return x.reshape(split).expand(whole).reshape(joined);
  }
  const Tensor i = arange(out, Options(accumulator(x.dtype()), x.device())), at = (is_exact ? i + 0.5 : i) * axis.scale;
  return index_select(x, dim, minimum(floor(at.to(DType::f32)).to(DType::i64), size - 1));
}

std::string_view word_of(Resample mode) {
  constexpr std::string_view kWords[] = {"nearest",   "nearest-exact", "linear", "bilinear",
                                         "trilinear", "bicubic",       "area"};
  return kWords[static_cast<size_t>(mode)];
}

void require_mode(std::string_view op, const Tensor& x, const UpsampleOptions& o) {
  record::require_float(op, x);
  if (x.dim() < 3 || x.dim() > 5)
    fail(op,
         "takes (batch, channels, length), (batch, channels, height, width) or (batch, channels, depth, height, "
         "width), got {}",
         ir::to_string(x.shape()));
  const bool is_between = o.mode != Resample::nearest && o.mode != Resample::nearest_exact && o.mode != Resample::area;
  const int64_t rank = o.mode == Resample::linear ? 3 : o.mode == Resample::trilinear ? 5 : 4;
  constexpr std::string_view kPlaces[] = {"length", "height, width", "depth, height, width"};
  if (is_between && x.dim() != rank)
    fail(op, "{} takes (batch, channels, {}), got {}", word_of(o.mode), kPlaces[rank - 3], ir::to_string(x.shape()));
  if (o.align_corners && !is_between)
    fail(op, "align_corners is of linear, bilinear, bicubic and trilinear alone, not of {}", word_of(o.mode));
  if (o.antialias && o.mode != Resample::bilinear && o.mode != Resample::bicubic)
    fail(op, "antialias is of bilinear and bicubic alone, not of {}", word_of(o.mode));
}

// The axes of the image with their new sizes.
std::vector<ResampledAxis> resampled_axes(std::string_view op, const Tensor& x, const UpsampleOptions& o) {
  if (o.size.empty() == o.scale.empty()) fail(op, "takes either a size or a scale");
  if (o.recompute_scale && o.scale.empty()) fail(op, "recomputes a scale, not a size");
  const auto axes = static_cast<size_t>(x.dim()) - 2, given = std::max(o.size.count(), o.scale.count());
  if (given != 1 && given != axes)
    fail(op, "takes one {0} or one for each of {1} axes, got {2}", o.size.empty() ? "scale" : "size", axes, given);
  std::vector<ResampledAxis> made;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i) + 2);
    int64_t out = 0;
    if (o.scale.empty()) {
      out = o.size.of(i);
    } else {
      const double scale = o.scale.of(i), wanted = std::floor(static_cast<double>(size) * scale);
      if (!(scale > 0)) fail(op, "the scale must be positive, got {}", scale);
      if (!(wanted <= static_cast<double>(ir::kMostElements)))
        fail(op, "a scale of {} makes too many elements of {}", scale, size);
      out = static_cast<int64_t>(wanted);
    }
    if (size < 1 || out < 1) fail(op, "sizes must be positive, got {} to {}", size, out);
    ir::require_shape(op, {size, out});
    const bool is_given = !o.scale.empty() && !o.recompute_scale;
    made.push_back({size, out, is_given ? 1 / o.scale.of(i) : static_cast<double>(size) / static_cast<double>(out)});
  }
  return made;
}

}  // namespace

Tensor interpolate(const Tensor& x, const UpsampleOptions& options) {
  constexpr std::string_view kOp = "interpolate";
  require_mode(kOp, x, options);
  const std::vector<ResampledAxis> axes = resampled_axes(kOp, x, options);
  Dims shape{x.size(0), x.size(1)};
  for (const ResampledAxis& axis : axes) shape.push_back(axis.out);
  ir::require_shape(kOp, shape);
  Tensor y = tensor_of(record::in(x));
  if (options.mode == Resample::nearest || options.mode == Resample::nearest_exact) {
    const bool is_exact = options.mode == Resample::nearest_exact;
    for (size_t i = 0; i < axes.size(); ++i) y = nearest_along(y, static_cast<int64_t>(i) + 2, axes[i], is_exact);
    return record::apart(y);  // a value of its own, of which nobody sees that elements repeat
  }
  std::vector<Tensor> matrices;
  for (const ResampledAxis& axis : axes)
    matrices.push_back(weights_of(axis, options, Options(accumulator(x.dtype()), x.device())));
  return record::apart(through_matrices(y, matrices));
}

namespace {

// Places and weights are computed once and kept, not once for every channel, and one number says where a pixel lies:
// images have a margin of 0 on all sides, which is what is read outside of them.
Tensor sampled(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  const int64_t batch = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
  const int64_t places = grid.size(1) * grid.size(2), row_pixels = width + 2, pixels = (height + 2) * row_pixels;
  const DType wide = accumulator(x.dtype());
  const bool is_small = batch * channels * pixels <= std::numeric_limits<int32_t>::max();
  const Options whole(is_small ? DType::i32 : DType::i64, x.device());

  const Tensor source = pad(x, {1, 1, 1, 1}).clone().reshape({-1});  // in memory, so that kernels look it up
  // Coordinates after each other, in a row: so their gradients are computed one after the other, too.
  const Tensor coordinates = grid.permute({3, 0, 1, 2}).clone().reshape({-1});
  // The first pixel of each image, after its margin.
  const Tensor starts = add(mul(arange(batch * channels, whole), pixels), row_pixels + 1).reshape({batch, channels, 1});
  const auto along = [&](int64_t axis, int64_t size) {
    const Tensor unit =
        coordinates.narrow(0, axis * batch * places, batch * places).reshape({batch, 1, places}).to(wide);
    const auto length = static_cast<double>(size);
    const Tensor at =
        options.align_corners ? mul(add(unit, 1.0), (length - 1) / 2) : div(sub(mul(add(unit, 1.0), length), 1.0), 2.0);
    return options.border ? clamp(at, 0.0, length - 1) : at;
  };
  // Whatever lies further outside, and NaN, is in the margin.
  const auto in_margin = [&](const Tensor& at, int64_t size) {
    const Tensor from = where(gt(at, -1.0), at, -1.0);
    const auto end = static_cast<double>(size);
    return where(lt(from, end), from, end).to(*whole.dtype);
  };
  const auto column_of = [&](const Tensor& at) { return in_margin(at, width); };
  const auto row_of = [&](const Tensor& at) { return mul(in_margin(at, height), row_pixels); };
  const auto read = [&](const Tensor& column, const Tensor& row) {
    const Tensor in_image = add(row, column).clone();
    return tensor_of(ir::gather(record::in(source), record::in(add(in_image, starts).detach()), 0));
  };

  const Tensor across = along(0, width), down = along(1, height);
  Tensor made;
  if (options.mode == Resample::nearest) {
    made = read(column_of(round(across.detach())), row_of(round(down.detach())));
  } else {
    const Tensor left = floor(across.detach()), top = floor(down.detach());
    const Tensor right = sub(across, left), low = sub(down, top);  // how far towards the next pixel
    const Tensor not_right = sub(1.0, right), not_low = sub(1.0, low);
    const Tensor columns[] = {column_of(left), column_of(add(left, 1.0))},
                 rows[] = {row_of(top), row_of(add(top, 1.0))};
    const auto with_weight = [&](size_t i, size_t j, const Tensor& weight) {
      return mul(read(columns[i], rows[j]).to(wide), weight.clone());
    };
    made = add(add(with_weight(0, 0, mul(not_right, not_low)), with_weight(1, 0, mul(right, not_low))),
               add(with_weight(0, 1, mul(not_right, low)), with_weight(1, 1, mul(right, low))))
               .to(x.dtype());
  }
  return made.reshape({batch, channels, grid.size(1), grid.size(2)});
}

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  constexpr std::string_view kOp = "grid_sample";
  record::require_float(kOp, x);
  if (options.mode != Resample::nearest && options.mode != Resample::bilinear)
    fail(kOp, "reads bilinear or nearest, not {}", word_of(options.mode));
  const bool fits = x.dim() == 4 && grid.dim() == 4 && grid.size(0) == x.size(0) && grid.size(3) == 2;
  if (!fits || x.dtype() != grid.dtype())
    fail(kOp,
         "takes images (batch, channels, height, width) and a grid (batch, rows, columns, 2) of one dtype, got {} {} "
         "and {} {}",
         ir::to_string(x.shape()), name(x.dtype()), ir::to_string(grid.shape()), name(grid.dtype()));
  const int64_t batch = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
  if (height < 1 || width < 1) fail(kOp, "the images {} have no pixels", ir::to_string(x.shape()));
  ir::require_shape(kOp, {height + 2, width + 2});
  ir::require_shape(kOp, {batch, channels, (height + 2) * (width + 2)});
  ir::require_shape(kOp, {batch, channels, grid.size(1), grid.size(2)});
  const bool is_nearest = options.mode == Resample::nearest;
  const bool is_wide = x.dtype() == DType::f32 || x.dtype() == DType::f64;
  constexpr int64_t kMostChannels = 8192;  // whose sum the routine takes as a reduction of so many elements would be
  const bool is_short = channels <= kMostChannels && (height + 2) * (width + 2) <= std::numeric_limits<int32_t>::max();
  const bool has_routine = !is_nearest && is_wide && is_short && x.numel() > 0 && grid.numel() > 0;
  return composed(
      "grid_sample", {is_nearest, options.border, options.align_corners}, std::array{x, grid},
      [&](std::span<const Tensor> in) { return std::vector{sampled(in[0], in[1], options)}; },
      has_routine ? ir::Routine::grid_sample : ir::Routine::none)[0];
}

}  // namespace tenon::nn
