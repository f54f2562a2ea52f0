// Pixels arranged and read at other places.

#include "tenon/nn/images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;
using ir::to_string;
using Two = std::array<int64_t, 2>;

Two two_of(std::string_view op, const Dims& sizes) {
  if (sizes.size() == 1) return {sizes[0], sizes[0]};
  if (sizes.size() == 2) return {sizes[0], sizes[1]};
  fail(op, "takes a size or two, not {}", sizes.size());
}

// Windows of an image along both dims.
struct Windows {
  Two kernel, dilation, padding, stride;

  Windows(std::string_view op, const Dims& kernel_size, const WindowOptions& options)
      : kernel(two_of(op, kernel_size)),
        dilation(two_of(op, options.dilation)),
        padding(two_of(op, options.padding)),
        stride(two_of(op, options.stride)) {
    for (size_t i = 0; i < 2; ++i) {
      if (kernel[i] < 1 || dilation[i] < 1 || stride[i] < 1 || padding[i] < 0)
        fail(op, "kernel, dilation and stride must be 1 or more and padding 0 or more, got {}, {}, {} and {}",
             kernel[i], dilation[i], stride[i], padding[i]);
    }
  }
  // How many fit into a size, padding added.
  int64_t count(int64_t size, size_t i) const {
    const int64_t free = size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    return free < 0 ? 0 : free / stride[i] + 1;
  }
};

// Where the element at each place of a padded dim comes from.
std::vector<int64_t> sources(std::string_view mode, int64_t before, int64_t after, int64_t size) {
  std::vector<int64_t> places;
  for (int64_t i = -before; i < size + after; ++i) {
    if (mode == "replicate")
      places.push_back(std::clamp<int64_t>(i, 0, size - 1));
    else if (mode == "circular")
      places.push_back(((i % size) + size) % size);
    else
      places.push_back(i < 0 ? -i : i < size ? i : 2 * (size - 1) - i);
  }
  return places;
}

// Beyond the border a dim goes on, however much of it is cut on the other side; a circle goes round what is left.
Tensor padded_along(const Tensor& given, int64_t dim, int64_t before, int64_t after, std::string_view mode) {
  constexpr int64_t kMost = ir::kMostElements;
  if (std::max(before, after) > kMost || std::min(before, after) < -kMost)
    fail("pad", "sizes of {} and {} are larger than any tensor", before, after);
  const int64_t whole = given.size(dim), made = whole + before + after;
  const bool is_circle = mode == "circular";
  if (made < 0 || (made == 0 && whole > 0 && !is_circle))
    fail("pad", "cuts all of a dim of {}: {} and {}", whole, before, after);
  ir::require_shape("pad", {made});
  Tensor x = given;
  if (is_circle && std::min(before, after) < 0) {
    const int64_t cut_before = std::max<int64_t>(-before, 0), cut_after = std::max<int64_t>(-after, 0);
    if (cut_before + cut_after > whole || (cut_before + cut_after == whole && made > 0))
      fail("pad", "cuts all of a dim of {}: {} and {}", whole, before, after);
    x = x.narrow(dim, cut_before, whole - cut_before - cut_after);
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  const int64_t size = x.size(dim), most = std::max(before, after);
  const bool is_too_far = (mode == "reflect" && most >= size) || (is_circle && most > size);
  if (is_too_far || (size == 0 && made > 0))
    fail("pad", "with '{}' takes sizes below that of the dim, {}, not {} and {}", mode, size, before, after);
  const std::vector<int64_t> places = sources(mode, before, after, size);
  return index_select(x, dim, from_vector(places, {static_cast<int64_t>(places.size())}, Options(x.device())));
}

}  // namespace

Tensor pad(const Tensor& given, const Dims& sizes, std::string_view mode, Number value) {
  if (mode == "constant") return tenon::pad(given, sizes, value);
  if (mode != "reflect" && mode != "replicate" && mode != "circular")
    fail("pad", "there is no mode '{}'; there are 'constant', 'reflect', 'replicate' and 'circular'", mode);
  if (sizes.size() % 2 != 0 || static_cast<int64_t>(sizes.size() / 2) > given.dim())
    fail("pad", "takes two sizes for each dim from the last on, not {} for {} dims", sizes.size(), given.dim());
  Tensor x = given;
  bool is_changed = false;
  for (size_t i = 0; i < sizes.size() / 2; ++i) {
    const int64_t before = sizes[2 * i], after = sizes[2 * i + 1];
    if (before == 0 && after == 0) continue;
    x = padded_along(x, x.dim() - 1 - static_cast<int64_t>(i), before, after, mode);
    is_changed = true;
  }
  return is_changed ? x : x.clone();
}

Tensor unfold(const Tensor& x, const Dims& kernel_size, const WindowOptions& options) {
  if (x.dim() != 3 && x.dim() != 4)
    fail("unfold", "takes (batch, channels, height, width) or (channels, height, width), got {}", to_string(x.shape()));
  const Windows windows("unfold", kernel_size, options);
  const Tensor batch = x.dim() == 4 ? x : x.unsqueeze(0);
  const Two count{windows.count(batch.size(2), 0), windows.count(batch.size(3), 1)};
  if (count[0] < 1 || count[1] < 1)
    fail("unfold", "a window of {}x{} does not fit into {}", windows.kernel[0], windows.kernel[1],
         to_string(x.shape()));
  const auto& p = windows.padding;
  const Tensor image = tenon::pad(batch, {p[1], p[1], p[0], p[0]});
  const auto part = [&](const Tensor& from, size_t i, int64_t at) {
    const int64_t first = at * windows.dilation[i];
    return from.slice(static_cast<int64_t>(2 + i), first, first + (count[i] - 1) * windows.stride[i] + 1,
                      windows.stride[i]);
  };
  std::vector<Tensor> parts;
  for (int64_t row = 0; row < windows.kernel[0]; ++row) {
    for (int64_t column = 0; column < windows.kernel[1]; ++column)
      parts.push_back(part(part(image, 0, row), 1, column));
  }
  const Tensor columns = stack(parts, 2).reshape(
      {batch.size(0), batch.size(1) * windows.kernel[0] * windows.kernel[1], count[0] * count[1]});
  return x.dim() == 4 ? columns : columns.select(0, 0);
}

Tensor fold(const Tensor& x, const Dims& output_size, const Dims& kernel_size, const WindowOptions& options) {
  if (x.dim() != 2 && x.dim() != 3)
    fail("fold", "takes (batch, channels * window, windows) or (channels * window, windows), got {}",
         to_string(x.shape()));
  const Windows windows("fold", kernel_size, options);
  const Two size = two_of("fold", output_size);
  const Two count{windows.count(size[0], 0), windows.count(size[1], 1)};
  for (size_t i = 0; i < 2; ++i) {
    if (windows.kernel[i] > std::max<int64_t>(1, x.size(-2)) || size[i] > ir::kMostElements)
      fail("fold", "windows of {}x{} in {}x{} do not fit {} columns of {} elements", windows.kernel[0],
           windows.kernel[1], size[0], size[1], x.size(-1), x.size(-2));
  }
  const int64_t window = windows.kernel[0] * windows.kernel[1];
  if (x.size(-2) % window != 0 || count[0] * count[1] < 1 || x.size(-1) != count[0] * count[1])
    fail("fold", "to {}x{} takes {} columns of a multiple of {} elements, not {} of {}", size[0], size[1],
         count[0] * count[1], window, x.size(-1), x.size(-2));
  const Tensor columns = x.dim() == 3 ? x : x.unsqueeze(0);
  const int64_t batch = columns.size(0), channels = columns.size(1) / window;
  const Two whole{size[0] + 2 * windows.padding[0], size[1] + 2 * windows.padding[1]};
  // Where the elements of a window's side are, for every window: (kernel, windows).
  const auto places = [&](size_t i) {
    const Options whole_numbers(DType::i64, x.device());
    return add(mul(arange(windows.kernel[i], whole_numbers), windows.dilation[i]).unsqueeze(1),
               mul(arange(count[i], whole_numbers), windows.stride[i]));
  };
  const Tensor rows = mul(places(0), whole[1]).reshape({windows.kernel[0], 1, count[0], 1});
  const Tensor flat = add(rows, places(1).reshape({1, windows.kernel[1], 1, count[1]})).flatten();
  Tensor image = zeros({batch, channels, whole[0] * whole[1]}, Options(x.dtype(), x.device()));
  image = index_add(image, 2, flat, columns.reshape({batch, channels, window * count[0] * count[1]}));
  image = image.reshape({batch, channels, whole[0], whole[1]})
              .narrow(2, windows.padding[0], size[0])
              .narrow(3, windows.padding[1], size[1]);
  return x.dim() == 3 ? image : image.select(0, 0);
}

namespace {

// (..., a, b, c) of an image's last three dims, and what lies before them.
struct Planes {
  Dims before;
  int64_t channels, height, width;
  Planes(std::string_view op, const Tensor& x, int64_t factor) {
    if (x.dim() < 3) fail(op, "takes (..., channels, height, width), got {}", to_string(x.shape()));
    if (factor < 1) fail(op, "the factor must be 1 or more, got {}", factor);
    before = Dims(x.shape().begin(), x.shape().end() - 3);
    channels = x.size(-3);
    height = x.size(-2);
    width = x.size(-1);
  }
  Dims with(std::initializer_list<int64_t> rest) const {
    Dims shape = before;
    for (const int64_t size : rest) shape.push_back(size);
    return shape;
  }
  Dims order(std::initializer_list<int64_t> rest) const {
    Dims dims;
    for (size_t i = 0; i < before.size(); ++i) dims.push_back(static_cast<int64_t>(i));
    for (const int64_t dim : rest) dims.push_back(static_cast<int64_t>(before.size()) + dim);
    return dims;
  }
};

}  // namespace

Tensor pixel_shuffle(const Tensor& x, int64_t r) {
  const Planes p("pixel_shuffle", x, r);
  const int64_t square = r < (int64_t{1} << 31) ? r * r : std::numeric_limits<int64_t>::max();
  if (p.channels % square != 0)
    fail("pixel_shuffle", "by {} takes a multiple of {} channels, got {}", r, square, p.channels);
  const int64_t channels = p.channels / square;
  const Tensor parts = x.reshape(p.with({channels, r, r, p.height, p.width})).permute(p.order({0, 3, 1, 4, 2}));
  const Tensor made = parts.reshape(p.with({channels, p.height * r, p.width * r}));
  return r == 1 ? made.clone() : made;
}

Tensor pixel_unshuffle(const Tensor& x, int64_t r) {
  const Planes p("pixel_unshuffle", x, r);
  if (p.height % r != 0 || p.width % r != 0)
    fail("pixel_unshuffle", "by {} takes multiples of it as height and width, got {} and {}", r, p.height, p.width);
  const Dims apart = p.with({p.channels, p.height / r, r, p.width / r, r});
  const Tensor parts = x.reshape(apart).permute(p.order({0, 2, 4, 1, 3}));
  const Tensor made = parts.reshape(p.with({p.channels * r * r, p.height / r, p.width / r}));
  return r == 1 ? made.clone() : made;
}

Tensor affine_grid(const Tensor& theta, const Dims& size, bool align_corners) {
  if (size.size() != 4 || theta.shape() != Dims{size[0], 2, 3})
    fail("affine_grid", "takes a size (batch, channels, height, width) and matrices (batch, 2, 3), got {} and {}",
         to_string(size), to_string(theta.shape()));
  const int64_t batch = size[0], height = size[2], width = size[3];
  const Options like(theta.dtype(), theta.device());
  const auto steps = [&](int64_t count) {
    if (count == 1) return zeros({1}, like);
    const Tensor line = linspace(-1, 1, count, like);
    return align_corners ? line : mul(line, static_cast<double>(count - 1) / static_cast<double>(count));
  };
  const Dims each{height, width, 1};
  const Tensor across = steps(width).reshape({1, width, 1}).expand(each);
  const Tensor down = steps(height).reshape({height, 1, 1}).expand(each);
  const Tensor base = cat({across, down, ones(each, like)}, 2).reshape({1, height * width, 3});
  return matmul(base, theta.transpose(1, 2)).reshape({batch, height, width, 2});
}

Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  if (!is_float(x.dtype()))
    fail("local_response_norm", "takes floating-point values, got {}; convert with to(DType::f32)", name(x.dtype()));
  if (x.dim() < 3) fail("local_response_norm", "takes (batch, channels, length, ...), got {}", to_string(x.shape()));
  if (size < 1) fail("local_response_norm", "the size must be 1 or more, got {}", size);
  const int64_t channels = x.size(1);
  // Further away there is nothing but zeros.
  const int64_t before = std::min(size / 2, channels), after = std::min((size - 1) / 2, channels);
  Dims sides(2 * static_cast<size_t>(x.dim() - 2), 0);
  sides.push_back(before);
  sides.push_back(after);
  const Tensor squares = tenon::pad(mul(x, x), sides);
  Tensor total = squares.narrow(1, 0, channels);
  for (int64_t i = 1; i <= before + after; ++i) total = add(total, squares.narrow(1, i, channels));
  return div(x, pow(add(mul(total, alpha / static_cast<double>(size)), k), beta));
}

Tensor normalize(const Tensor& x, double p, int64_t dim, double eps) {
  return record::in_wide(x, [&](const Tensor& w) { return div(w, clamp_min(norm(w, p, dim, true), eps)); });
}

}  // namespace tenon::nn
